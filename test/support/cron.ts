import { SECOND } from '../../src/core/clock.ts';
import { PATIENCE_MS } from '../../src/core/gate-state.ts';
import { MirrorError } from '../../src/core/errors.ts';
import { keysByInbox, listId, type ListKey } from '../../src/core/lists.ts';
import type { Database } from '../../src/database/database.ts';
import type { PassSpec } from '../../src/mirror/passes/passes.ts';
import { NoAnswer } from '../../src/service/http.ts';
import { listPath } from '../../src/service/paths.ts';
import { BUDGET_PATIENCE_MS } from '../../src/service/gate/reservoir.ts';
import type { PassReport } from '../../src/sync/pass.ts';
import { TestClock } from './clock.ts';
import {
  memoryService,
  type MirrorOptions,
  temporaryDatabase,
  type TestMirror,
  type TestService,
} from './mirror.ts';
import { freshMirrorFile, quickMirror } from './template.ts';

/** After this many ms without an answer a request has failed. */
const TIME_OUT_MS = 30 * SECOND;

type CronOptions = Pick<MirrorOptions, 'sandbox' | 'budget' | 'pageSize'>;

/** A run of a command. */
export interface Run {
  readonly mirror: TestMirror;
  readonly report: PassReport;
  readonly requests: number;
}

/**
 * A mirror whose every pass is a process of its own, as by cron. They share only the connection: to open the
 * file again for each one takes a third of a test's time.
 */
export class Cron {
  readonly clock = new TestClock();
  readonly service: TestService;
  /** Requests for these paths, which begin with `/inboxes`, get no answer. */
  hangs: (path: string) => boolean = () => false;
  /** A run is stopped after this many ms, as by the command `timeout`. */
  timeoutMs: number | null = null;
  budget: CronOptions['budget'];
  readonly #database: Database;
  readonly #options: CronOptions;
  #open: TestMirror | null = null;

  private constructor(database: Database, options: CronOptions) {
    this.#database = database;
    this.#options = options;
    this.budget = options.budget;
    this.service = memoryService({ idType: 'string', ...options.sandbox }, this.clock);
  }

  static async with(options: CronOptions = {}): Promise<Cron> {
    return new Cron(await temporaryDatabase(await freshMirrorFile()), options);
  }

  /** The ids of the inboxes. */
  get ids(): string[] {
    return [...this.service.sandbox.world.inboxes.keys()];
  }

  async sync(spec: Partial<PassSpec> = {}): Promise<Run> {
    await this.close();
    const { clock, service, timeoutMs, budget = {} } = this;
    const { pageSize = 10 } = this.#options;
    const stop = new AbortController();
    const deadline = clock.monotonic() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    const stopIfLate = (): void => {
      if (clock.monotonic() >= deadline) stop.abort(new MirrorError('STOPPED', 'Stopped by SIGTERM.'));
    };
    const mirror = await quickMirror({
      database: this.#database,
      clock,
      service,
      gate: { patienceMs: PATIENCE_MS, budgetPatienceMs: BUDGET_PATIENCE_MS },
      pageSize,
      budget,
      wrapHttp: (http) => ({
        close: http.close,
        get: async (path, query) => {
          stopIfLate();
          if (!this.hangs(path)) return await http.get(path, query).finally(stopIfLate);
          const left = Math.min(deadline - clock.monotonic(), TIME_OUT_MS);
          await clock.sleep(left);
          stopIfLate();
          await clock.sleep(TIME_OUT_MS - left);
          throw new NoAnswer('no answer', 'ETIMEDOUT');
        },
      }),
    });
    this.#open = mirror;
    const before = service.sandbox.arrivals.length;
    const report = await mirror.sync(spec, stop.signal);
    return { mirror, report, requests: service.sandbox.arrivals.length - before };
  }

  /** Runs a sync every so many ms, for so long. `seen` looks at each run. */
  async every(
    ms: number,
    forMs: number,
    seen?: (run: Run, passedMs: number) => Promise<void> | void,
  ): Promise<void> {
    for (let passed = 0; passed < forMs; passed += ms) {
      const run = await this.sync();
      await seen?.(run, passed);
      this.clock.advance(ms);
    }
  }

  /** How long ago each list was complete, in ms, by `listId`; without those whose path is `broken`. */
  async ages(broken: (path: string) => boolean = () => false): Promise<Map<string, number>> {
    const ages = new Map<string, number>();
    for (const key of this.#keys().filter((one) => !broken(listPath(one)))) {
      const last = await this.#open?.writer.sweeps.lastComplete(key);
      ages.set(listId(key), this.clock.now() - (last?.finishedAt.getTime() ?? 0));
    }
    return ages;
  }

  #keys(): ListKey[] {
    return keysByInbox([...this.service.sandbox.world.inboxes.values()]);
  }

  async close(): Promise<void> {
    await this.#open?.lease.release();
    this.#open = null;
  }
}
