import { HOUR, MINUTE } from '../core/clock.ts';
import type { Reason } from '../core/ledger.ts';
import { keysOf, type ListKey } from '../core/lists.ts';
import { coversInbox, type Writer } from '../mirror/mirror.ts';
import type { Pass, PassSpec } from '../mirror/passes/passes.ts';
import { judgeByInbox } from './account/single.ts';
import type { PassDeps } from './deps.ts';
import type { ListReport } from './events.ts';
import type { PastSweeps } from './past.ts';

/** A sync can be stuck from this many ms after it began. */
const SYNC_STUCK_MS = HOUR;

/**
 * A resync can be stuck from this many ms after it has last completed a list: a new one reads every page
 * again. Until then the same command resumes it.
 */
export const RESYNC_STUCK_MS = 20 * HOUR;

/** The lists that a sync has read before this many ms are due again. */
const OUTDATED_MS = 12 * HOUR;

/** If a resumed sync has nothing left to read, the lists that were read before this many ms are due again. */
const NOTHING_LEFT_MS = 10 * MINUTE;

/** A sync waits at most this many ms for the ledger to show that each list that is left fails alone. */
const PROOF_MS = 3 * HOUR;

/**
 * Finds out whether a resumed pass is stuck: it is old, and only lists that fail alone are left to read. Each
 * run would end there, and the lists that are complete would not be read again. A consent or an order is
 * carried out nevertheless.
 * @returns the lists that are left if it is stuck, else null
 */
export async function findStuck(
  deps: PassDeps,
  spec: PassSpec,
  pass: Pass,
  past: PastSweeps,
): Promise<readonly ListKey[] | null> {
  if (!pass.resumed) return null;
  const { account, client, mirror, clock, signal } = deps;
  const selected = (await mirror.inboxes()).filter(({ id, suspect }) => coversInbox(spec, id) && !suspect);
  const left = [];
  let lastReadAt = pass.startedAt;
  for (const key of keysOf(spec.lists, selected)) {
    const last = (await isAlreadyDone(mirror, spec, pass, key))
      ? await mirror.sweeps.lastComplete(key)
      : null;
    if (last === null) left.push(key);
    else if (last.finishedAt > lastReadAt) lastReadAt = last.finishedAt;
  }
  if (left.length === 0 || !mayBeStuck(spec, pass, lastReadAt, clock.now())) return null;
  const others = left.filter((key) => !past.failsAlone(key));
  if (others.length === 0) return left;
  const isRepeated = others.length < left.length;
  // Unless it was an outage, after which these can be read, an answer to this request tells the next run.
  const call = { reason: reasonOf(spec), signal };
  const isUp = past.areUnanswered(others) && (await judgeByInbox({ account, client }, call)) === 'ours';
  return isUp && isRepeated && isPastProof(spec, pass, clock.now()) ? left : null;
}

/** False for a consent or an order, of which no other pass may take the place. */
function isReplaceable({ acceptDeletes, acceptAccount, orderId }: PassSpec): boolean {
  return !acceptDeletes && !acceptAccount && orderId === undefined;
}

/** @param lastReadAt when the pass last completed a list, or began */
function mayBeStuck(spec: PassSpec, { startedAt }: Pass, lastReadAt: Date, now: number): boolean {
  if (!isReplaceable(spec)) return false;
  if (spec.kind === 'sync') return now - startedAt.getTime() >= SYNC_STUCK_MS;
  return now - lastReadAt.getTime() >= RESYNC_STUCK_MS;
}

/** True for a sync that waits no longer for that: where several lists fail, each run ends at another one. */
function isPastProof({ kind }: PassSpec, { startedAt }: Pass, now: number): boolean {
  return kind === 'sync' && now - startedAt.getTime() >= PROOF_MS;
}

/**
 * True if the list was complete since the pass began. Another pass may have read it: then rows can still
 * wait for the consent that this pass carries.
 */
export async function isAlreadyDone(
  { sweeps, suspects }: Writer,
  { kind, acceptDeletes, acceptAccount }: PassSpec,
  { id, resumed }: Pass,
  key: ListKey,
): Promise<boolean> {
  const begun = acceptAccount || kind === 'resync' ? 'after' : 'any';
  if (!resumed || !(await sweeps.isReadBy(id, key, begun))) return false;
  return !acceptDeletes || (await suspects.accepted(key, id)).size === 0;
}

/** Why the pass sends its requests. */
export function reasonOf({ kind }: PassSpec): Reason {
  return kind === 'resync' ? 'resync' : 'manual';
}

/**
 * True for a person's resync of which single lists failed: a new one would read every list from its first
 * page again. False if the run read no page: else the pass would stay open for as long as a list is broken.
 * False for a daemon's pass too, because the daemon reads these lists again itself.
 */
export function isUnfinished(
  { kind, orderId }: PassSpec,
  { reports, hasRead }: { readonly reports: readonly ListReport[]; readonly hasRead: boolean },
): boolean {
  if (kind !== 'resync' || orderId !== undefined || !hasRead) return false;
  return reports.some(({ outcome }) => outcome === 'paused');
}

/**
 * True for a pass that has ended and that an earlier run began so long ago that the lists of that run are due
 * again, if the budget is enough for all lists. A sync whose lists cost more than a whole day's budget is
 * outdated in any case.
 * @param hasNothingLeft other passes had read every list before this run
 */
export async function isOutdated(
  { mirror, clock, budget }: PassDeps,
  spec: PassSpec,
  pass: Pass,
  { past, hasNothingLeft }: { readonly past: PastSweeps; readonly hasNothingLeft: boolean },
): Promise<boolean> {
  const now = clock.now();
  const isSync = spec.kind === 'sync';
  const syncMs = hasNothingLeft ? NOTHING_LEFT_MS : OUTDATED_MS;
  const oldMs = isSync ? syncMs : RESYNC_STUCK_MS;
  if (!isReplaceable(spec) || !pass.resumed || budget === undefined) return false;
  if (now - pass.startedAt.getTime() < oldMs) return false;
  const inboxes = (await mirror.inboxes()).filter(({ id }) => coversInbox(spec, id));
  let cost = 0;
  let isOld = false;
  for (const key of keysOf(spec.lists, inboxes)) {
    const last = await mirror.sweeps.lastComplete(key);
    cost += last?.pages ?? 1;
    isOld ||= last !== null && now - last.finishedAt.getTime() >= oldMs;
    isOld ||= isSync && past.hasOldPages(key, oldMs, now);
  }
  // No day is enough for all lists: each run reads as much as it can.
  if (isSync && cost > budget.perDay) return true;
  return isOld && (await mirror.ledger.budgetLeft(budget.perDay, now)).left > cost;
}

/**
 * True for a list of which a new sync has resumed and completed an old walk, if the budget is enough to read
 * it once more: the pages that the walk had read before can be a day old.
 */
export async function isReadAgain(
  { mirror, clock, budget }: PassDeps,
  spec: PassSpec,
  pass: Pass,
  { past, key }: { readonly past: PastSweeps; readonly key: ListKey },
): Promise<boolean> {
  const now = clock.now();
  if (!isReplaceable(spec) || spec.kind !== 'sync' || pass.resumed || budget === undefined) return false;
  if (!past.hasOldPages(key, OUTDATED_MS, now)) return false;
  const { left } = await mirror.ledger.budgetLeft(budget.perDay, now);
  return left > ((await mirror.sweeps.lastComplete(key))?.pages ?? 1);
}
