import { type Budget, scheduledCap } from '../../core/budget.ts';
import { DAY, HOUR, MINUTE } from '../../core/clock.ts';
import { LIST_NAMES, type ListKey, type ListName } from '../../core/lists.ts';
import { newestSweep } from '../../mirror/mirror.ts';
import type { Schedule, Schedules } from '../../mirror/schedules.ts';
import type { FailedSweeps, LatestSweep } from '../../mirror/sweeps/reader.ts';
import type { Cron } from './cron.ts';

/**
 * After an absence at most 1000 slots are stepped through. If more have passed, `dueSince` is earlier than
 * the last slot, and the list is due all the same.
 */
const MOST_SLOTS = 1000;

/** The search for a new schedule's past slots doubles its span from one hour to this many ms, 11 months. */
const SEARCH_BACK_MS = 2 ** 13 * HOUR;

/**
 * Writes to `schedules` which kinds of list have become due by `now` (epoch ms).
 *
 * - All slots that passed since the last call make a list due once.
 * - A changed schedule becomes due at its next slot. A slot that passed before the change stays due.
 * - A new schedule has been due since its last slot, so a list that a command has read since then is not due.
 *
 * @returns true if any kind became due
 */
export async function markDue(
  schedules: Pick<Schedules, 'all' | 'write'>,
  crons: Readonly<Record<ListName, Cron>>,
  now: number,
): Promise<boolean> {
  const known = new Map((await schedules.all()).map((schedule) => [schedule.list, schedule]));
  let due = false;
  for (const list of LIST_NAMES) {
    const before = known.get(list) ?? null;
    const after = scheduleAt(list, before, crons[list], now);
    if (after === before) continue;
    await schedules.write(after);
    due ||= after.dueSince?.getTime() !== before?.dueSince?.getTime();
  }
  return due;
}

/** The schedule at `now`. Returns the object `before` itself if nothing differs. */
function scheduleAt(list: ListName, before: Schedule | null, cron: Cron, now: number): Schedule {
  const { expression, timezone } = cron;
  const nextAt = new Date(cron.next(now));
  if (before === null) return { list, expression, timezone, nextAt, dueSince: slotBefore(cron, now) };
  const same = before.expression === expression && before.timezone === timezone;
  if (same && before.nextAt.getTime() <= now)
    return { ...before, nextAt, dueSince: lastSlot(cron, before.nextAt.getTime(), now) };
  // A clock that was ahead wrote an instant in the future, or a slot beyond the next one: correct it.
  const dueSince = notAfter(now, before.dueSince);
  if (same && dueSince === before.dueSince && before.nextAt.getTime() <= nextAt.getTime()) return before;
  const missed = before.nextAt.getTime() <= now ? before.nextAt : dueSince;
  return { list, expression, timezone, nextAt, dueSince: missed };
}

function notAfter(now: number, slot: Date | null): Date | null {
  return slot !== null && slot.getTime() > now ? new Date(now) : slot;
}

/** The last slot up to `now`; an instant long ago if the search finds none. */
function slotBefore(cron: Cron, now: number): Date {
  let back = HOUR;
  while (back < SEARCH_BACK_MS && cron.next(cron.next(now - back)) > now) back *= 2;
  const first = cron.next(now - back);
  return first > now ? new Date(now - back) : lastSlot(cron, first, now);
}

/** The last slot up to `now`. @param first a slot before `now` */
function lastSlot(cron: Cron, first: number, now: number): Date {
  let slot = first;
  for (let steps = 0; steps < MOST_SLOTS; steps += 1) {
    const next = cron.next(slot);
    if (next > now) break;
    slot = next;
  }
  return new Date(slot);
}

/** A walk counts for a slot that comes while it lasts if it began at most a quarter of an interval before. */
const EARLY_SHARE = 1 / 4;

/** A walk that began up to 3 hours before counts too: with a small budget, short walks wait for requests. */
const EARLY_MS = 3 * HOUR;

/**
 * When a walk that counts for a slot begins at the earliest. One that began long before has read most of its
 * pages before: a list whose walk takes 25 hours would be read by every second slot of a daily schedule.
 * @param next the slot after it
 */
export function earliestStart(slot: number, next: number): number {
  return slot - Math.max(EARLY_SHARE * (next - slot), EARLY_MS);
}

/**
 * A list is due if it was not completely read since its last slot. If a walk of it has failed since then, it
 * is due again at `retryAt`: the next slot may be a day later, and meet the same failure each night.
 * @param options `now`: epoch ms. `countsFrom`: when a complete sweep that counts began at the earliest
 */
export function isDue(
  latest: readonly LatestSweep[],
  dueSince: Date | null,
  { retryAt, countsFrom, now }: { retryAt: Date | null; countsFrom: number; now: number },
): boolean {
  if (dueSince === null) return false;
  const ended = latest.filter(({ finishedAt }) => finishedAt !== null && finishedAt >= dueSince);
  const counts = ({ state, startedAt }: LatestSweep): boolean =>
    state === 'complete' && startedAt.getTime() >= countsFrom;
  if (ended.some(counts)) return false;
  const hasFailed = ended.some(({ state }) => state === 'failed');
  return !hasFailed || (retryAt !== null && retryAt.getTime() <= now);
}

/**
 * A list that the key may not read (403) is tried again after this many ms, whatever its slots. After a whole
 * day, a list that is refused at the same time each night would be tried just then, and never read. If a walk
 * has read pages since the list was complete, the key may read it, or could until then: such a list rests as
 * after other failures. Otherwise a list whose walk takes more than 3 hours would be cut each night, and rest
 * until the next one.
 */
const FORBIDDEN_REST_MS = 21 * HOUR;

/** A list rests for at least this many ms after its first failed walk, then twice as long each time. */
const FIRST_REST_MS = 15 * MINUTE;

/** The doubled rest grows up to this many ms. */
const LONGEST_DOUBLED_MS = 4 * HOUR;

/** Walks that fail may cost this share of the scheduled requests: a longer walk rests longer. */
const SHARE = 1 / 4;

/** No list rests longer than this many ms. */
const LONGEST_MS = 7 * DAY;

/** After one failed sweep no list rests longer than this: its cause may be over at the next daily `sync`. */
const LONGEST_FIRST_MS = 20 * HOUR;

/** The newest failed sweeps of all lists: sums of the square roots of their costs, which are in requests. */
export interface FailedCosts {
  /** Of sweeps that failed at their first page. */
  readonly first: number;
  /** Of sweeps that failed later. */
  readonly later: number;
}

/** @param failed of each list; null if its newest sweep has not failed */
export function failedCosts(failed: readonly (FailedSweeps | null)[]): FailedCosts {
  let [first, later] = [0, 0];
  for (const sweeps of failed) {
    if (sweeps === null) continue;
    if (sweeps.lastCost > 1) later += rootOfCost(sweeps);
    // Forbidden lists cost about two requests a day each.
    else if (!isForbiddenAtOnce(sweeps)) first += rootOfCost(sweeps);
  }
  return { first, later };
}

/** A 403 costs one request more: whether `/inboxes` is refused too. */
function rootOfCost({ lastCost, lastCode }: Pick<FailedSweeps, 'lastCost' | 'lastCode'>): number {
  return Math.sqrt(lastCode === 'LIST_FORBIDDEN' ? lastCost + 1 : lastCost);
}

/** True for a 403 if no sweep has read a page since the list was complete: each has cost one request. */
function isForbiddenAtOnce({ lastCode, requests, sweeps }: FailedSweeps): boolean {
  return lastCode === 'LIST_FORBIDDEN' && requests === sweeps;
}

/** The budget and the costs from which a rest is computed. */
interface RestLimits {
  readonly budget: Pick<Budget, 'perDay' | 'reserved'>;
  readonly costs: FailedCosts;
}

export interface RestOptions extends RestLimits {
  /** Lists of conversations are due without a slot. */
  readonly readsPages: boolean;
}

/**
 * Until when a list rests because its newest sweep failed (docs/decisions/0002), or because the service asked
 * to wait with it (0004); null if it does not rest. A list of conversations that was never complete, or that
 * no slot limits, rests longer after each failure.
 */
export function restsUntil(
  { list }: Pick<ListKey, 'list'>,
  latest: readonly Pick<LatestSweep, 'state' | 'retryAt' | 'finishedAt'>[],
  failed: FailedSweeps | null,
  { budget, readsPages, costs }: RestOptions,
): Date | null {
  const newest = newestSweep(latest);
  if (newest?.state === 'paused') return newest.retryAt;
  if (failed === null || newest?.state !== 'failed') return null;
  const wasComplete = latest.some(({ state }) => state === 'complete');
  const doubles = list === 'conversations' && (readsPages || !wasComplete);
  // A list that fails at its first page keeps its slots, however many do. One of which pages were read before
  // it was refused has shares like the others: its slots can come far more often than every 21 hours.
  const wasCut = failed.lastCode === 'LIST_FORBIDDEN' && !isForbiddenAtOnce(failed);
  const own = failed.lastCost > 1 || wasCut ? costs : { ...costs, first: 1 };
  return afterRest(failed, restByCost(failed, { budget, costs: own }), doubles);
}

/** When a list whose newest sweep failed is tried again, even if no slot comes before. */
export function triedAgainAt(failed: FailedSweeps, limits: RestLimits): Date {
  return afterRest(failed, restByCost(failed, limits), true);
}

/**
 * When the daemon tries a list next; null: as soon as it is due. A list that no slot has made due since its
 * sweep failed waits for its next slot or `triedAgainAt`, whichever is first.
 * @param slot the last slot of its kind, and the next one
 */
export function nextTry(
  key: Pick<ListKey, 'list'>,
  latest: readonly LatestSweep[],
  failed: FailedSweeps | null,
  { slot, ...options }: RestOptions & { slot: { last: Date | null; next: Date } },
): Date | null {
  const rest = restsUntil(key, latest, failed, options);
  const hasNoSlots = options.readsPages && key.list === 'conversations';
  if (rest === null || failed === null || hasNoSlots || newestSweep(latest)?.state !== 'failed') return rest;
  if (slot.last !== null && slot.last > failed.lastAt) return rest;
  const again = triedAgainAt(failed, options);
  return new Date(Math.max(rest.getTime(), Math.min(again.getTime(), slot.next.getTime())));
}

function afterRest(failed: FailedSweeps, byCostMs: number, doubles: boolean): Date {
  const grows = doubles || failed.lastCode === 'LIST_FORBIDDEN';
  const doubled = grows ? Math.min(FIRST_REST_MS * 2 ** (failed.sweeps - 1), LONGEST_DOUBLED_MS) : 0;
  const leastMs = isForbiddenAtOnce(failed) ? FORBIDDEN_REST_MS : doubled;
  const restMs = Math.max(leastMs, byCostMs);
  return new Date(failed.lastAt.getTime() + restMs);
}

/**
 * Milliseconds after the last failed sweep, so that such sweeps take a quarter of the days together. Rests
 * are in proportion to the square roots of the costs: a sweep of 3 requests does not rest as long as one of
 * 300.
 */
export function restByCost(
  failed: Pick<FailedSweeps, 'sweeps' | 'lastCost' | 'lastCode'>,
  { budget, costs }: RestLimits,
): number {
  const cost = rootOfCost(failed) * (failed.lastCost > 1 ? costs.later : costs.first);
  const longest = failed.sweeps === 1 ? LONGEST_FIRST_MS : LONGEST_MS;
  return Math.min((DAY * cost) / (SHARE * Math.max(1, scheduledCap(budget))), longest);
}
