import { MINUTE } from '../core/clock.ts';
import { type GateState, judgeGate, outageWords } from '../core/gate-state.ts';
import { clockTime, duration, plural, whenDue } from '../core/humanize.ts';
import type { JudgedStatus } from './judge.ts';

/** Why no request leaves by itself, and until when; `until` null: until a person does something. */
export interface Standstill {
  readonly until: Date | null;
  /** The rest of a sentence that begins with "stopped until 14:41": `because the service is out of reach`. */
  readonly why: string;
  /** The words of the service or the network; empty if there are none. */
  readonly cause: string;
}

const UNTIL_A_KEY = 'until another key is set, or `inbox-mirror doctor` finds this one valid again';

/** The gate's part of a {@link standstillOf}. `now` is epoch ms. */
export function shutGate({ gate, now }: { gate: GateState; now: number }): Standstill | null {
  const { word, until, cause } = judgeGate(gate, now);
  if (word === 'open') return null;
  if (word === 'key-refused') return { until, why: UNTIL_A_KEY, cause };
  // A pause without a 429 is one for which a failed answer has asked.
  const why =
    gate.strikes === 0
      ? 'because the service asked to wait'
      : `after ${plural(gate.strikes, 'answer')} of HTTP 429`;
  return { until, why, cause };
}

/** The standstill of the gate or of an outage; null if there is neither. */
function shutOrOut({ gate, outage, now }: Pick<Halts, 'gate' | 'outage' | 'now'>): Standstill | null {
  // An outage whose retry is due has not ended: one list is trying.
  const out =
    outage === null
      ? null
      : { until: outage.until, why: `because ${outageWords(outage)}`, cause: outage.cause };
  return longest(shutGate({ gate, now }), out);
}

type Halts = Pick<JudgedStatus, 'gate' | 'now' | 'outage' | 'otherAccount'>;
type Waits = Halts & Pick<JudgedStatus, 'fullUntil'>;

/** The standstill of the gate, an outage or another account: all but a spent budget. */
export function haltOf(status: Halts): Standstill | null {
  const { now, otherAccount } = status;
  const account =
    otherAccount !== null && otherAccount.until.getTime() > now
      ? {
          until: otherAccount.until,
          why: 'because the key leads to another account',
          cause: otherAccount.cause,
        }
      : null;
  return longest(shutOrOut(status), account);
}

/** The longest of all standstills, because no request leaves before its end. Null: requests flow. */
export function standstillOf(status: Waits): Standstill | null {
  return longest(haltOf(status), full(status.fullUntil.manual));
}

/** The same for scheduled work, which leaves the reserve to commands. */
export function scheduledStandstillOf(status: Waits): Standstill | null {
  return longest(standstillOf(status), full(status.fullUntil.scheduled));
}

function full(until: Date | null): Standstill | null {
  return until === null ? null : { until, why: "because the day's budget is spent", cause: '' };
}

/** The standstill that ends last; the first of two that end together. */
function longest(one: Standstill | null, other: Standstill | null): Standstill | null {
  if (one === null || other === null) return one ?? other;
  return notBefore(other, -Infinity) > notBefore(one, -Infinity) ? other : one;
}

/** One or two words: whether requests leave. @param now epoch ms */
export function sendingWord(
  standstill: Standstill | null,
  now: number,
): 'flowing' | 'stopped' | 'trying again' {
  if (standstill === null) return 'flowing';
  return standstill.until !== null && standstill.until.getTime() <= now ? 'trying again' : 'stopped';
}

/** `flowing`, or `stopped until 14:41, in 17 min, because …`. @param now epoch ms */
export function sendingWords(standstill: Standstill | null, now: number, timeZone: string): string {
  const word = sendingWord(standstill, now);
  return standstill === null ? word : `${word} ${untilWords(standstill, now, timeZone)}`;
}

/** `until 14:41, in 17 min, because the service is out of reach`. @param now epoch ms */
export function untilWords({ until, why }: Standstill, now: number, timeZone: string): string {
  if (until === null) return why;
  const ms = until.getTime() - now;
  if (ms <= 0) return `now, ${why}`;
  // A time of day has no seconds.
  const end =
    ms < MINUTE ? `for ${duration(ms)}` : `until ${clockTime(until, now, timeZone)}, in ${duration(ms)}`;
  return `${end}, ${why}`;
}

/** The later of a planned time and the end of a standstill, epoch ms; Infinity: it waits for a person. */
export function notBefore(standstill: Standstill | null, at: number): number {
  if (standstill === null) return at;
  return standstill.until === null ? Infinity : Math.max(at, standstill.until.getTime());
}

/** When the daemon's attempt leaves that is planned for `at`: `in 5 min`; a longer standstill delays it. */
export function attemptWords(at: Date, status: Waits): string {
  const leaves = notBefore(scheduledStandstillOf(status), at.getTime());
  return leaves === Infinity ? 'when another key is set' : whenDue(new Date(leaves), status.now);
}
