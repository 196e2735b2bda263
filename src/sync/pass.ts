import Bottleneck from 'bottleneck';
import { isMirrorError, MirrorError } from '../core/errors.ts';
import type { Reason } from '../core/ledger.ts';
import { listId, type ListKey, type ListName } from '../core/lists.ts';
import type { Inbox } from '../mirror/items/inboxes.ts';
import type { Pass, PassSpec } from '../mirror/passes/passes.ts';
import type { SweepDeps } from './deps.ts';
import type { ListReport } from './events.ts';
import { asRecord } from './record.ts';
import { sweepList } from './sweep.ts';

/** Lists walked at once: as many as the gate lets be in flight, so that slow answers do not lower the rate. */
export const SIDE_BY_SIDE = 4;

/** What a pass came to. `stopped` is what ended it before its end, if anything did. */
export interface PassReport {
  readonly pass: Pass;
  readonly lists: readonly ListReport[];
  readonly stopped: unknown;
}

export const UNTOUCHED = {
  items: 0,
  inserted: 0,
  changed: 0,
  deleted: 0,
  rejected: 0,
  suspects: 0,
  error: null,
};

/** After these no request of this pass has a chance; what is wrong with one list does not stop the others. */
function stopsEverything(error: unknown): boolean {
  return !isMirrorError(
    error,
    'REQUEST_REFUSED',
    'TOKEN_REFUSED',
    'BAD_ANSWER',
    'ENDLESS_LIST',
    'ANSWER_FAILED',
  );
}

/**
 * Sweeps the lists of the spec: inboxes first, then every other list of every live inbox side by side (DESIGN.md, "Sweeps").
 * Never throws for what the service does; the report tells it list by list.
 * @throws MirrorError `USAGE` for an inbox that the service does not have
 */
export async function runPass(
  deps: SweepDeps,
  spec: PassSpec,
  sideBySide = SIDE_BY_SIDE,
): Promise<PassReport> {
  const { store, clock, onEvent } = deps;
  const pass = await store.beginPass(spec, clock.now());
  onEvent({ kind: 'pass-begun', resumedFrom: pass.resumed ? pass.startedAt : null });
  const run = new PassRun(deps, spec, pass, sideBySide);
  try {
    await run.all();
  } catch (error) {
    // Only what the caller asked for wrongly is over; anything else stays open for the next pass to go on with.
    if (isMirrorError(error, 'USAGE'))
      await store.endPass(
        pass.id,
        { state: 'failed', error: error.message, report: asRecord({ lists: [], stopped: error }) },
        clock.now(),
      );
    throw error;
  }
  const report = { pass, lists: run.reports, stopped: run.stopped };
  // What stopped short stays open, for the next pass of its kind, or for the daemon, to go on with.
  if (report.stopped === null) {
    const failed = report.lists
      .filter(({ outcome }) => outcome === 'failed' || outcome === 'paused')
      .map(({ key }) => listId(key));
    const error = failed.length === 0 ? null : `not complete: ${failed.join(', ')}`;
    await store.endPass(
      pass.id,
      { state: error === null ? 'done' : 'failed', error, report: asRecord(report) },
      clock.now(),
    );
  } else if (!isMirrorError(report.stopped, 'LEASE_LOST')) {
    // Where even that cannot be written, what stopped the pass says why.
    await store.touchPass(pass.id, clock.now()).catch(() => undefined);
  }
  return report;
}

/** One pass under way. */
class PassRun {
  readonly reports: ListReport[] = [];
  stopped: unknown = null;
  readonly #deps: SweepDeps;
  readonly #spec: PassSpec;
  readonly #pass: Pass;
  readonly #places: number;
  readonly #halt = new AbortController();

  constructor(deps: SweepDeps, spec: PassSpec, pass: Pass, places: number) {
    this.#deps = { ...deps, signal: AbortSignal.any([deps.signal, this.#halt.signal]) };
    this.#spec = spec;
    this.#pass = pass;
    this.#places = places;
  }

  async all(): Promise<void> {
    const { store } = this.#deps;
    const { lists, inboxId } = this.#spec;
    let inboxes = await store.liveInboxes();
    const unknown = inboxId === null ? inboxes.length === 0 : !inboxes.some(({ id }) => id === inboxId);
    if (lists.includes('inboxes') || unknown) {
      await this.#sweep({ list: 'inboxes', inboxId: null });
      inboxes = await store.liveInboxes();
    }
    if (this.stopped !== null) return;
    const wanted = inboxes.filter(({ id }) => inboxId === null || id === inboxId);
    if (inboxId !== null && wanted.length === 0) {
      // Without the list of inboxes nobody can say that there is none; the report tells what was wrong with it.
      if (this.reports.some(({ outcome }) => outcome === 'failed' || outcome === 'paused')) return;
      throw unknownInbox(inboxId, inboxes);
    }
    await this.#sideBySide(
      wanted,
      lists.filter((list) => list !== 'inboxes'),
    );
  }

  async #sideBySide(inboxes: readonly Inbox[], lists: readonly ListName[]): Promise<void> {
    const keys = lists.flatMap((list) =>
      inboxes.map((inbox) => ({ key: { list, inboxId: inbox.id }, inbox })),
    );
    const lanes = new Bottleneck({ maxConcurrent: this.#places });
    for (const { key } of keys) {
      const last = await this.#deps.store.lastComplete(key);
      this.#deps.onEvent({ kind: 'list-known', key, expectedItems: last?.items ?? null });
    }
    await Promise.all(
      keys.map(({ key, inbox }) =>
        lanes.schedule(async () => {
          if (this.stopped !== null) return;
          if (inbox.suspect) this.#report({ key, outcome: 'skipped', ...UNTOUCHED });
          else await this.#sweep(key);
        }),
      ),
    );
  }

  async #sweep(key: ListKey): Promise<void> {
    const { store, clock } = this.#deps;
    try {
      if (await this.#alreadyDone(key)) {
        this.#report({ key, outcome: 'already', ...UNTOUCHED });
        return;
      }
      if (this.#spec.kind === 'resync') await store.abandonSweeps(key, this.#pass.startedAt, clock.now());
      this.#report(
        await sweepList(this.#deps, key, { reason: this.#reason(), acceptDeletes: this.#spec.acceptDeletes }),
      );
      await store.touchPass(this.#pass.id, clock.now());
    } catch (error) {
      this.#fail(key, error);
    }
  }

  #fail(key: ListKey, error: unknown): void {
    if (stopsEverything(error)) {
      // The first cause is the one to tell; the lists that it halts only follow.
      if (this.stopped === null) {
        this.stopped = error;
        this.#halt.abort(new MirrorError('STOPPED', 'the pass was stopped'));
      }
      this.#report({ key, outcome: 'paused', ...UNTOUCHED, error });
    } else {
      this.#report({
        key,
        outcome: isMirrorError(error, 'ANSWER_FAILED') ? 'paused' : 'failed',
        ...UNTOUCHED,
        error,
      });
    }
  }

  #reason(): Reason {
    return this.#spec.kind === 'resync' ? 'resync' : 'manual';
  }

  async #alreadyDone(key: ListKey): Promise<boolean> {
    if (!this.#pass.resumed) return false;
    const last = await this.#deps.store.lastComplete(key);
    return last !== null && last.finishedAt >= this.#pass.startedAt;
  }

  #report(report: ListReport): void {
    this.reports.push(report);
    this.#deps.onEvent({ kind: 'list-done', report });
  }
}

/** Names the inboxes that there are. */
export function unknownInbox(inboxId: string, inboxes: readonly Inbox[]): MirrorError {
  const known = inboxes.slice(0, 10).map(({ id, name }) => `${id} (${name ?? 'no name'})`);
  return new MirrorError(
    'USAGE',
    `The service has no inbox ${inboxId}. It has: ${known.join(', ') || 'none'}${inboxes.length > 10 ? ', …' : ''}.`,
  );
}
