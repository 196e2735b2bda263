import { messageOf } from '../../core/errors.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../session/log.ts';
import type { PassEvent } from '../../sync/events.ts';
import type { Load } from '../../sync/planning/load.ts';

/** Reads what the schedules cost. It tells whether every list was read to its end. */
type ReadLoad = () => Promise<Load>;

/**
 * Logs once when every list of a new mirror has been read to its end, and passes on what the schedules cost.
 */
export class FirstCopy {
  readonly #log: Log;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #readLoad: ReadLoad;
  readonly #onPlan: (load: Load) => void;
  readonly #beganAt: number;
  #isOver: boolean;
  #lists = 0;
  #rows = 0;

  /** @param printed the load at the start */
  constructor(
    { log, clock, readLoad }: { log: Log; clock: Pick<Clock, 'monotonic'>; readLoad: ReadLoad },
    printed: Load,
    onPlan: (load: Load) => void,
  ) {
    this.#log = log;
    this.#clock = clock;
    this.#readLoad = readLoad;
    this.#onPlan = onPlan;
    this.#beganAt = clock.monotonic();
    this.#isOver = printed.complete;
  }

  /** Looks at each list that is done. Never rejects. */
  async after(event: PassEvent): Promise<void> {
    if (this.#isOver || event.kind !== 'list-done' || event.report.outcome !== 'complete') return;
    this.#lists += 1;
    this.#rows += event.report.items;
    try {
      const load = await this.#readLoad();
      if (this.#isOver || !load.complete) return;
      this.#isOver = true;
      const ms = Math.round(this.#clock.monotonic() - this.#beganAt);
      this.#log.info({ lists: this.#lists, rows: this.#rows, ms }, 'first copy complete');
      this.#onPlan(load);
    } catch (error) {
      // Debug only: the next operation that needs the database reports its failure.
      this.#log.debug({ cause: messageOf(error) }, 'cannot check whether the first copy is complete');
    }
  }
}
