import type { Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import { listId } from '../../core/lists.ts';
import type { Log } from '../../session/log.ts';
import { isComplete, type ListReport, type PassEvent } from '../../sync/events.ts';
import { type PlanningMirror, sweepableLists } from '../../sync/planning/agenda.ts';
import type { Load } from '../../sync/planning/load/load.ts';

export interface FirstCopyDeps {
  readonly mirror: PlanningMirror;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  /** Reads what the schedules cost. */
  readonly readLoad: () => Promise<Load>;
  readonly onLoad: (load: Load) => void;
}

/**
 * Logs once when every list of a new mirror has been read to its end or could not be read, and passes on what
 * the schedules cost.
 */
export class FirstCopyWatch {
  readonly #deps: FirstCopyDeps;
  readonly #beganAt: number;
  /** The lists that the first copy waits for, by their ids. Empty: it is over. */
  #awaited: ReadonlySet<string>;
  #last: Promise<void> = Promise.resolve();
  #lists = 0;
  #rows = 0;

  private constructor(deps: FirstCopyDeps, awaited: ReadonlySet<string>) {
    this.#deps = deps;
    this.#awaited = awaited;
    this.#beganAt = deps.clock.monotonic();
  }

  /** Reads which lists the first copy waits for. If there is none, it is over, and nothing is logged. */
  static async begin(deps: FirstCopyDeps): Promise<FirstCopyWatch> {
    return new FirstCopyWatch(deps, await readAwaited(deps.mirror));
  }

  /** Looks at each list that is done, one after the other. Never rejects. */
  async after(event: PassEvent): Promise<void> {
    if (this.#awaited.size === 0 || event.kind !== 'list-done') return;
    const { report } = event;
    this.#last = this.#last
      .then(() => this.#take(report))
      .catch((error: unknown) => {
        // Debug only: the next operation that needs the database reports its failure.
        this.#deps.log.debug({ cause: messageOf(error) }, 'cannot check whether the first copy is complete');
      });
    await this.#last;
  }

  async #take({ key, outcome, items }: ListReport): Promise<void> {
    if (this.#awaited.size === 0) return;
    if (outcome === 'complete') {
      this.#lists += 1;
      this.#rows += items;
    }
    const others = new Set(this.#awaited);
    if (isComplete({ outcome }) || outcome === 'failed') others.delete(listId(key));
    // New inboxes have lists of their own, and the last list may have failed. With a query after each list, a
    // first copy of a thousand inboxes would read millions of rows.
    const awaited =
      key.list === 'inboxes' || others.size === 0 ? await readAwaited(this.#deps.mirror) : others;
    if (awaited.size === 0) await this.#end();
    this.#awaited = awaited;
  }

  async #end(): Promise<void> {
    const { log, clock, readLoad, onLoad } = this.#deps;
    const load = await readLoad();
    const ms = Math.round(clock.monotonic() - this.#beganAt);
    const but = load.complete ? '' : ', but for lists that cannot be read';
    log.info({ lists: this.#lists, rows: this.#rows, ms }, `first copy complete${but}`);
    onLoad(load);
  }
}

/**
 * The lists that the first copy waits for: those that were never complete, but for lists whose newest walk
 * has failed. While no list was ever complete, it waits for all. `query/reads/ages.ts` has the rule in SQL.
 */
async function readAwaited(mirror: PlanningMirror): Promise<Set<string>> {
  const sweeps = await mirror.sweeps.latest();
  const ids = (await sweepableLists(mirror)).map(listId);
  const latestOf = (id: string) => sweeps.get(id) ?? [];
  const incomplete = ids.filter((id) => !latestOf(id).some(({ state }) => state === 'complete'));
  if (incomplete.length === ids.length) return new Set(ids);
  return new Set(incomplete.filter((id) => latestOf(id)[0]?.state !== 'failed'));
}
