import { MINUTE, SECOND } from '../core/clock.ts';
import { type GateState, isAnswering429, judgeGate, outageWords } from '../core/gate-state.ts';
import { fromNow, duration } from '../core/humanize.ts';
import { LONGEST_HINT_MS } from '../core/retry-timing.ts';
import { type Access, accessId } from '../core/secrets.ts';
import type { OtherAccount } from '../mirror/gate/account.ts';
import type { Outage } from '../mirror/gate/outage.ts';
import type { Log } from '../session/log.ts';
import { LONGEST_TEST_MS } from '../sync/account/account.ts';

/** The reason why no sweep can begin now. */
export interface Trouble {
  readonly why: 'key' | 'pause' | 'outage' | 'account';
  readonly cause: string;
  /** When it ends; null if that is unknown. */
  readonly until: Date | null;
}

/** Milliseconds between two tests of a service that is out of reach, at least and at most. */
const SHORTEST_RETRY_MS = 30 * SECOND;
const LONGEST_RETRY_MS = 15 * MINUTE;

/**
 * The reason why no sweep should begin at `now` (epoch ms); null if there is none. Gate state and outage are
 * stored, so a restarted daemon finds the same reason.
 * @param access in use
 */
export function troubleOf(
  gate: GateState,
  outage: Outage | null,
  access: Access,
  now: number,
): Trouble | null {
  const { word, until, isLong, cause } = judgeGate(gate, now, accessId(access));
  if (word === 'key-refused') return { why: 'key', cause, until };
  if (isLong) return { why: 'pause', cause, until };
  const wait = (outage?.until.getTime() ?? 0) - now;
  // An outage whose retry is due delays nothing: the next sweep is the retry. (`judge` shows an outage until
  // the service answers.)
  if (outage !== null && wait > 0 && isPlausible(outage, wait, now))
    return { why: 'outage', cause: outage.cause, until: outage.until };
  return null;
}

/**
 * The reason why no sweep should begin while the access leads to another account; null once a test is due, or
 * if address or key have changed since.
 */
export function accountTroubleOf(other: OtherAccount | null, access: Access, now: number): Trouble | null {
  if (other === null || other.access !== accessId(access)) return null;
  const { cause, until } = other;
  const wait = until.getTime() - now;
  // A longer wait was written by a clock that was ahead.
  return wait > 0 && wait <= LONGEST_TEST_MS ? { why: 'account', cause, until } : null;
}

/** False for a wait that was written by a clock that was ahead. Only a `Retry-After` makes a long wait. */
function isPlausible({ since }: Outage, wait: number, now: number): boolean {
  return wait <= LONGEST_RETRY_MS || (since.getTime() <= now && wait <= LONGEST_HINT_MS);
}

/**
 * The outage after one more failure. Its next retry is due after as long as it has lasted, within limits.
 * @param resumeAt no retry is due before this time, for which the service has asked
 */
export function prolonged(outage: Outage | null, cause: string, now: number, resumeAt?: Date): Outage {
  const since = new Date(Math.min(outage?.since.getTime() ?? now, now));
  const wait = Math.min(Math.max(now - since.getTime(), SHORTEST_RETRY_MS), LONGEST_RETRY_MS);
  return { since, until: new Date(Math.max(now + wait, resumeAt?.getTime() ?? 0)), cause };
}

/** Logs once when the daemon must wait, and once when the wait is over: an outage costs only a few lines. */
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
      this.#log.info('requests can be sent again; resuming');
      return;
    }
    const { cause, until } = trouble;
    if (trouble.why === 'key')
      this.#log.error(
        { cause },
        'the API key is refused; sending nothing until it changes or a person runs `inbox-mirror doctor`',
      );
    else if (trouble.why === 'pause')
      this.#log.warn({ cause, until }, `requests are paused; resuming ${fromNow(until, now)}`);
    else if (trouble.why === 'account')
      this.#log.error(
        { cause, until },
        'the service shows another account; writing nothing, testing it in 5 min, then less often',
      );
    else
      this.#log.warn(
        { cause, until },
        `${outageWords({ cause })}; retrying less and less often, at least every 15 min`,
      );
  }

  outageOver(outage: Outage, now: number): void {
    this.#reported = null;
    this.#log.info(
      { since: outage.since },
      `the service ${isAnswering429(outage) ? 'accepts requests' : 'answers'} again, after ` +
        duration(now - outage.since.getTime()),
    );
  }

  databaseFails({ message: cause }: Error): void {
    if (!this.#databaseFails)
      this.#log.error(
        { cause },
        'the database cannot be used; retrying in 1 s, then less often, at least every 30 s',
      );
    this.#databaseFails = true;
  }

  databaseWorks(): void {
    if (this.#databaseFails) this.#log.info('the database can be used again; resuming');
    this.#databaseFails = false;
  }
}
