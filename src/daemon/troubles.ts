import { MINUTE, SECOND } from '../core/clock.ts';
import { type GateState, judgeGate } from '../core/gate-state.ts';
import { ago, duration } from '../core/humanize.ts';
import type { Outage } from '../mirror/gate/outage.ts';
import type { Log } from '../session/log.ts';

/** Why nothing can be sent now, and until when where that is known. */
export interface Trouble {
  readonly why: 'key' | 'pause' | 'outage';
  readonly cause: string;
  readonly until: Date | null;
}

const SHORTEST_OUTAGE_MS = 30 * SECOND;
const LONGEST_OUTAGE_MS = 15 * MINUTE;

/** What keeps the gate shut for so long that no sweep should be begun. All of it stands in SQL, so a restart knows it too. */
export function troubleOf(gate: GateState, outage: Outage | null, key: string, now: number): Trouble | null {
  const { word, until, isLong } = judgeGate(gate, now, key);
  if (word === 'key-refused')
    return { why: 'key', cause: gate.cause ?? 'the service refused the key', until };
  if (isLong) return { why: 'pause', cause: gate.cause ?? '429', until };
  const wait = (outage?.until.getTime() ?? 0) - now;
  // A longer one is the work of a clock that was ahead.
  if (outage !== null && wait > 0 && wait <= LONGEST_OUTAGE_MS)
    return { why: 'outage', cause: outage.cause, until: outage.until };
  return null;
}

/** The outage after one more failure: tried again when it has lasted as long again, from half a minute to a quarter of an hour. */
export function prolonged(outage: Outage | null, cause: string, now: number): Outage {
  const since = new Date(Math.min(outage?.since.getTime() ?? now, now));
  const wait = Math.min(Math.max(now - since.getTime(), SHORTEST_OUTAGE_MS), LONGEST_OUTAGE_MS);
  return { since, until: new Date(now + wait), cause };
}

/** Says once when the daemon must wait, and once when it need not any more: an hour's outage is a handful of lines. */
export class TroubleLog {
  readonly #log: Log;
  #reported: Trouble['why'] | null = null;
  #databaseFails = false;

  constructor(log: Log) {
    this.#log = log;
  }

  report(trouble: Trouble | null, now: number): void {
    const why = trouble?.why ?? null;
    if (why === this.#reported) return;
    this.#reported = why;
    if (trouble === null) {
      this.#log.info('nothing keeps the gate shut any more, going on');
      return;
    }
    const { cause, until } = trouble;
    if (trouble.why === 'key')
      this.#log.error(
        { cause },
        'the API key is refused: nothing is sent until it changes, or a person runs `inbox-mirror doctor`',
      );
    else if (trouble.why === 'pause')
      this.#log.warn({ cause, until }, `the gate is paused, going on ${ago(until, now)}`);
    else
      this.#log.warn(
        { cause, until },
        'the service is out of reach; it is tried again now and then, up to every 15 min',
      );
  }

  /** The service answers again. */
  outageOver(outage: Outage, now: number): void {
    this.#reported = null;
    this.#log.info(
      { since: outage.since },
      `the service answers again, after ${duration(now - outage.since.getTime())}`,
    );
  }

  databaseFails({ message: cause }: Error): void {
    if (!this.#databaseFails)
      this.#log.error(
        { cause },
        'the database cannot be used; it is tried again soon, then every half a minute',
      );
    this.#databaseFails = true;
  }

  databaseWorks(): void {
    if (this.#databaseFails) this.#log.info('the database can be used again, going on');
    this.#databaseFails = false;
  }
}
