import { MISSING, presence } from '../../core/diff.ts';
import { LIST_NAMES, TABLES } from '../../core/lists.ts';
import type { Database, Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import { forgetDay } from '../history/days/forget.ts';
import { endGone, endInbox } from '../history/intervals/absences.ts';
import { isLatest } from '../history/intervals/latest.ts';
import { writeChanges } from '../history/write.ts';
import type { FencedSql } from '../lease.ts';
import { OPEN_SWEEP } from '../sweeps/states.ts';
import type { Sweep } from '../sweeps/sweeps.ts';
import { lastSightings, sightingsBeforeSuspicion } from './sightings.ts';
import { itemSql, type KnownRow } from './statements.ts';
import { forgetUnlisted } from './suspects/unlisted.ts';

/** At most this many rows get a tombstone in one statement: a whole mailbox must not fill the memory. */
const BATCH = 20_000;

/** The lists whose rows an inbox's tombstone covers. */
export const COVERED_LISTS = LIST_NAMES.filter((list) => list !== 'inboxes');

/** Writes tombstones and their changes, in batches. */
export async function tombstone(
  tx: FencedSql,
  database: Database,
  sweep: Sweep,
  ids: readonly string[],
  now: number,
): Promise<void> {
  await forgetDay(tx, iso(now));
  const inOrder = await inboxesInOrder(tx, database, sweep, ids, iso(now));
  for (let from = 0; from < ids.length; from += BATCH) {
    await tombstoneBatch(tx, database, sweep, ids.slice(from, from + BATCH), { at: iso(now), inOrder });
  }
}

/** The inboxes whose intervals can end at an instant, because it is later than all that is stored of them. */
async function inboxesInOrder(
  tx: Sql,
  { dialect }: Database,
  { list, inboxId }: Sweep,
  ids: readonly string[],
  observedAt: string,
): Promise<ReadonlySet<string | null>> {
  const inOrder = new Set<string | null>();
  if (list === 'conversations') {
    if (await isLatest(tx, dialect, { inboxId, observedAt }, ids)) inOrder.add(inboxId);
  } else if (list === 'inboxes') {
    for (const id of ids) if (await isLatest(tx, dialect, { inboxId: id, observedAt }, null)) inOrder.add(id);
  }
  return inOrder;
}

async function tombstoneBatch(
  tx: FencedSql,
  { dialect }: Database,
  sweep: Sweep,
  ids: readonly string[],
  { at, inOrder }: { at: string; inOrder: ReadonlySet<string | null> },
): Promise<void> {
  const { table, scope } = itemSql(sweep.list, dialect);
  const batch = `SELECT value FROM ${dialect.texts('$2', 'ids')}`;
  const parameters = [sweep.inboxId, JSON.stringify(ids), at];
  const onPages = await lastSightings(tx, dialect, sweep, ids, null);
  const unpaged = ids.filter((id) => !onPages.has(id));
  const seen = new Map([...onPages, ...(await sightingsBeforeSuspicion(tx, dialect, sweep, unpaged))]);
  await forgetUnlisted(tx, dialect, sweep, ids);
  await tx.execute(`UPDATE ${table} SET deleted_at = $3 WHERE ${scope} AND id IN (${batch})`, ...parameters);
  if (sweep.list === 'inboxes') await coverRows(tx, parameters, batch);
  await tx.execute(`UPDATE sweeps SET deleted = deleted + $2 WHERE id = $1`, sweep.id, ids.length);
  if (!sweep.baseline) {
    const changes = ids.map((id) => ({
      ...presence(MISSING),
      itemId: id,
      previouslySeenAt: seen.get(id) ?? null,
    }));
    await writeChanges(tx, dialect, sweep, changes, { sweepId: sweep.id, observedAt: at });
  }
  const isPlain = inOrder.has(sweep.inboxId);
  if (sweep.list === 'conversations') await endGone(tx, dialect, sweep.inboxId, ids, { at, isPlain });
  if (sweep.list === 'inboxes')
    for (const id of ids) await endInbox(tx, dialect, id, { at, isPlain: inOrder.has(id) });
}

/** Gives the rows of deleted inboxes the same tombstone, without `changes`, and ends their sweeps. */
async function coverRows(tx: Sql, parameters: unknown[], inboxes: string): Promise<void> {
  for (const list of COVERED_LISTS) {
    await tx.execute(
      `UPDATE ${TABLES[list]} SET deleted_at = $3 WHERE inbox_id IN (${inboxes}) AND deleted_at IS NULL`,
      ...parameters,
    );
  }
  await tx.execute(
    `UPDATE sweeps SET state = 'abandoned', finished_at = $3, error = 'the inbox is gone'
     WHERE inbox_id IN (${inboxes}) AND state IN ${OPEN_SWEEP}`,
    ...parameters,
  );
}

/** Restores the rows that a returning inbox's tombstone covered. Rows with an earlier tombstone keep it. */
export async function restoreCovered(tx: Sql, knownRows: ReadonlyMap<string, KnownRow>): Promise<void> {
  for (const { id, deleted_at } of knownRows.values()) {
    if (deleted_at === null) continue;
    for (const list of COVERED_LISTS) {
      await tx.execute(
        `UPDATE ${TABLES[list]} SET deleted_at = NULL WHERE inbox_id = $1 AND deleted_at = $2`,
        id,
        iso(deleted_at),
      );
    }
  }
}
