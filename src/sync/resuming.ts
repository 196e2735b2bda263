import { HOUR } from '../core/clock.ts';
import type { Pass, PassSpec } from '../mirror/passes/passes.ts';
import type { ListReport } from './events.ts';

/** A sync can be stuck so many ms after it began. */
const SYNC_STUCK_MS = HOUR;

/** A resync can be stuck so many ms after it has last completed a list: a new one reads every page again. */
const RESYNC_STUCK_MS = 20 * HOUR;

/**
 * True for a pass that is old. If only lists that fail alone are left to read, each run would end there, and
 * the lists that are complete would not be read again. A consent or an order is carried out nevertheless.
 * @param lastReadAt when the pass last completed a list, or began
 */
export function mayBeStuck(spec: PassSpec, pass: Pass, lastReadAt: Date, now: number): boolean {
  const { kind, acceptDeletes, acceptAccount, orderId } = spec;
  if (acceptDeletes || acceptAccount || orderId !== undefined || !pass.resumed) return false;
  if (kind === 'sync') return now - pass.startedAt.getTime() >= SYNC_STUCK_MS;
  return now - lastReadAt.getTime() >= RESYNC_STUCK_MS;
}

/** A sync waits so many ms for the ledger to show that each list that is left fails alone. */
const PROOF_MS = 3 * HOUR;

/** True for a sync that waits no longer for that: where several lists fail, each run ends at another one. */
export function isPastProof({ kind }: PassSpec, { startedAt }: Pass, now: number): boolean {
  return kind === 'sync' && now - startedAt.getTime() >= PROOF_MS;
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
