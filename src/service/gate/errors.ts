import type { Budget } from '../../core/budget.ts';
import { MINUTE } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import { REFUSAL_CAUSE } from '../../core/gate-state.ts';
import { duration } from '../../core/humanize.ts';
import type { Confirmation, Refusal, RequestEntry } from '../../core/ledger.ts';

/** `cap`: the requests in 24 hours that this work may use; for scheduled work, all but the reserve. */
export function budgetSpent(
  cap: number,
  { perDay, reserved, lowered }: Pick<Budget, 'perDay' | 'reserved' | 'lowered'>,
  resumeAt: Date,
  now: number,
): MirrorError {
  const kept = cap < perDay && reserved > 0 ? ` (${reserved} of ${perDay} are kept for manual commands)` : '';
  const why = lowered == null ? '' : ` The budget is lowered: ${lowered}.`;
  return new MirrorError(
    'BUDGET_SPENT',
    `The day's budget is spent: ${cap} requests in the last 24 hours${kept}.${why} ` +
      `The next one can leave at ${resumeAt.toISOString()}, in ${duration(resumeAt.getTime() - now)}.`,
    { resumeAt },
  );
}

/** `ageMs`: how old the last of the slots was that came too late in a row. */
export function grantedTooLate(ageMs: number): MirrorError {
  return new MirrorError(
    'DATABASE',
    `The database took ${duration(ageMs)} to grant a request, and too long for the two before: none of ` +
      "them was sent or counts in the day's budget. Nothing is lost; run the command again when the " +
      'database answers faster.',
  );
}

interface Pause {
  readonly cause: string;
  /** See `GateState.strikes`. */
  readonly strikes: number;
  readonly resumeAt: Date;
  /** Of the answer, if the call's own request has begun the pause. */
  readonly status: number | undefined;
}

export function gatePaused({ cause, strikes, resumeAt, status }: Pause, now: number): MirrorError {
  const repeated = strikes > 1 ? ` It has answered 429 ${strikes} times lately.` : '';
  return new MirrorError(
    'GATE_PAUSED',
    `No request is sent until ${resumeAt.toISOString()} (for ${duration(resumeAt.getTime() - now)}): ` +
      `${cause}.${repeated} A request before that may get the key blocked; ` +
      '`inbox-mirror doctor --reset-gate` ends the pause all the same.',
    { resumeAt, status },
  );
}

/**
 * Why the service refuses a request although this mirror keeps its limits, as a clause.
 * @param sent requests of this mirror in 24 hours, if the day is full; null if the rate was exceeded
 */
export function foreignCause(sent: number | null, { perDay }: Pick<Budget, 'perDay'>): string {
  return sent === null
    ? 'this mirror kept its pace, so perhaps another client uses the account, the network delayed a ' +
        'request, or REQUESTS_PER_SECOND is too high'
    : `this mirror has sent ${sent} of its ${perDay} requests: another client uses the account, ` +
        'or REQUESTS_PER_DAY is too high';
}

export function keyRefused(cause: string, status?: number): MirrorError {
  return new MirrorError(
    'KEY_REFUSED',
    `The service refused the API key (${cause}). It is wrong, deleted, or lacks rights. Set another ` +
      'INBOX_API_KEY, or run `inbox-mirror doctor` once this one is valid again.',
    { status },
  );
}

/** The same for a key that was refused before. `cause`, `last`: null if they are not stored. */
export function refusedBefore(cause: string | null, last: Refusal | null): MirrorError {
  const where = last === null ? [] : [`on ${last.host} at ${last.at.toISOString()}`];
  const known = [...(cause === null ? [] : [cause]), ...where];
  return keyRefused(known.length === 0 ? REFUSAL_CAUSE : known.join(', '));
}

/** The clocks may differ by this many ms. */
const CLOCKS_DIFFER_MS = MINUTE;

/** A sentence if the service does not confirm how long the machine was off; null if it does. */
export function clockDoubt({ claimedMs, confirmedMs }: Confirmation): string | null {
  const claimed = `By this machine's clock it was off for ${duration(Math.max(0, claimedMs))}`;
  if (confirmedMs === null)
    return (
      `${claimed}. The service's answers do not confirm that (no usable Date header), so requests sent ` +
      'before count as if it had not been off.'
    );
  if (Math.abs(claimedMs - confirmedMs) <= CLOCKS_DIFFER_MS) return null;
  return (
    `${claimed}, by the service's for ${duration(confirmedMs)}. The shorter time counts for the day's ` +
    "budget. Check this machine's clock."
  );
}

interface Failures {
  /** Sent for the call. */
  readonly requests: number;
  readonly cause: string;
  /** No other request was answered since the first failure; null: none could be sent. */
  readonly isOutage: boolean | null;
  /** The last answer was a 429. */
  readonly is429: boolean;
  /** The time until which the service asks to wait. */
  readonly resumeAt: Date | undefined;
  readonly now: number;
}

const SOME_ANSWERED = 'It has answered other requests lately.';
const NONE_SENT = 'Whether it answers others is not known, because none could be sent.';

export function gaveUp(
  { method, path }: RequestEntry,
  { requests, cause, isOutage, is429, resumeAt, now }: Failures,
): MirrorError {
  const wait = resumeAt === undefined ? '' : duration(resumeAt.getTime() - now);
  const when = wait === '' ? 'later' : 'then';
  const advice = is429
    ? 'The service is there, but allows no request now: another client may use the account. ' +
      `Run the command again ${when}.`
    : `The service seems to be down or out of reach; nothing is lost, run the command again ${when}. ` +
      'If it has never answered, check INBOX_API_URL.';
  return new MirrorError(
    isOutage === true ? 'SERVICE_DOWN' : 'ANSWER_FAILED',
    `${method} ${path} failed${requests === 1 ? '' : ` ${requests} times, the last time`}: ${cause}. ` +
      (resumeAt === undefined
        ? ''
        : `The service asks to wait until ${resumeAt.toISOString()} (for ${wait}). `) +
      (isOutage === null ? NONE_SENT : isOutage ? advice : SOME_ANSWERED),
    {
      resumeAt,
      status: is429 ? 429 : undefined,
      cause: new Error(`${method} ${path}: ${cause}`),
    },
  );
}
