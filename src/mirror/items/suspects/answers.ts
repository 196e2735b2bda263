import type { Item } from '../../../core/lists.ts';
import type { Database } from '../../../database/database.ts';
import { iso } from '../../../database/instants.ts';
import type { FencedSql } from '../../lease.ts';
import type { Sweep } from '../../sweeps/sweeps.ts';
import { storeSighting } from '../sightings.ts';
import { tombstone } from '../tombstones.ts';
import { recordUndecided } from './undecided.ts';
import { recordAsked, recordUnlisted } from './unlisted.ts';
import { applyItems } from '../upsert.ts';

/** The service's answer for one suspect. */
export interface SuspectAnswer {
  /** The item, if the service returned it. */
  readonly found: Item | null;
  /** True if the answer proves that the item is gone. */
  readonly isGone: boolean;
  /** True if it was to decide something, and did not. */
  readonly isUndecided: boolean;
  /** ms since 1970 */
  readonly now: number;
}

/**
 * Writes the service's answer for one suspect or unlisted row: the item that it found, a tombstone if
 * `isGone`, or only that the answer decided nothing.
 * @returns how many rows changed, 0 or 1; a tombstone does not count
 */
export async function writeAnswer(
  tx: FencedSql,
  database: Database,
  sweep: Sweep,
  id: string,
  { found, isGone, isUndecided, now }: SuspectAnswer,
): Promise<number> {
  await tx.execute(
    `UPDATE sweeps SET requests = requests + 1, heartbeat_at = $2 WHERE id = $1`,
    sweep.id,
    iso(now),
  );
  if (isGone) await tombstone(tx, database, sweep, [id], now);
  else if (isUndecided) {
    await recordAsked(tx, sweep, id, iso(now));
    if (sweep.list === 'conversations') await recordUndecided(tx, sweep.inboxId, id, iso(now));
  }
  return found === null ? 0 : await applySighting(tx, database, sweep, found, now);
}

async function applySighting(
  tx: FencedSql,
  { dialect }: Database,
  sweep: Sweep,
  found: Item,
  now: number,
): Promise<number> {
  const context = {
    list: sweep.list,
    inboxId: sweep.inboxId,
    sweepId: sweep.id,
    baseline: sweep.baseline,
    observedAt: iso(now),
    pageNo: null,
  };
  const { changed } = await applyItems(tx, dialect, context, [found]);
  await tx.execute(`UPDATE sweeps SET changed = changed + $2 WHERE id = $1`, sweep.id, changed);
  // After a crash this suspect is not requested again.
  await storeSighting(tx, sweep.id, [found.id], iso(now));
  await recordUnlisted(tx, sweep, found.id, iso(now));
  return changed;
}
