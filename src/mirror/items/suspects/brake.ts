import { DAY } from '../../../core/clock.ts';
import { MISSING, PRESENCE } from '../../../core/diff.ts';
import { type ListKey, type ListName, TABLES } from '../../../core/lists.ts';
import type { Database } from '../../../database/database.ts';
import { iso } from '../../../database/instants.ts';
import { readClockSetAfter } from '../../settings/clock-set.ts';
import { COVERED_LISTS } from '../tombstones.ts';

/** Up to 20 rows of a kind are deleted in a day whatever their share. */
const ALWAYS_ALLOWED = 20;
/** More rows are held if they are more than this share of the kind's live rows. */
const SHARE = 0.1;
/** Tombstones of the last 24 hours count, so that many small deletions are held like one large one. */
const WINDOW_MS = DAY;

/**
 * True if deleting these rows must wait for a person (docs/decisions/0010). Counted together: the suspects of
 * all lists of this kind, and the rows that the last 24 hours have deleted without a person's consent, singly
 * or with their inbox; for inboxes also the rows that their tombstones would cover.
 */
export async function exceedsBrake(
  database: Database,
  { list }: Pick<ListKey, 'list'>,
  ids: readonly string[],
  now: number,
): Promise<boolean> {
  const [rows] = await database.query<{ live: number; waiting: number }>(
    `SELECT count(*) AS live, count(missing_since) AS waiting FROM ${TABLES[list]} WHERE deleted_at IS NULL`,
  );
  const recent = await deletedLately(database, list, now);
  const { live = 0, waiting = 0 } = rows ?? {};
  if (isTooMany(Math.max(waiting, ids.length) + recent, live + recent)) return true;
  return list === 'inboxes' && (await coversTooMany(database, ids, now));
}

function isTooMany(doomed: number, rows: number): boolean {
  return doomed > ALWAYS_ALLOWED && doomed > SHARE * rows;
}

/** Rows of a kind that the last 24 hours have deleted without a person's consent. */
async function deletedLately(database: Database, list: ListName, now: number): Promise<number> {
  const singly = await deletedSingly(database, list, now);
  return list === 'inboxes' ? singly : singly + (await coveredLately(database, list, now));
}

/**
 * SQL: a sweep was active in the last 24 hours (since `$2`), and no person has accepted it. Sweeps move along
 * with a clock that is set; `changes` and tombstones keep what the clock showed.
 */
const COUNTS = 'NOT sweeps.accepted AND sweeps.heartbeat_at > $2';

/** SQL: a change is over 24 hours old by a clock not set since (`$3`). A round can take days. */
const IS_OLD = 'changes.observed_at <= $2 AND changes.id > $3';

async function deletedSingly(database: Database, list: ListName, now: number): Promise<number> {
  const since = now - WINDOW_MS;
  const sweeps = await database.query<{ deleted: number; started_at: Date }>(
    `SELECT deleted, started_at FROM sweeps WHERE list = $1 AND deleted > 0 AND ${COUNTS}`,
    list,
    iso(since),
  );
  const deleted = sweeps.reduce((sum, sweep) => sum + sweep.deleted, 0);
  const began = Math.min(...sweeps.map(({ started_at: at }) => at.getTime()));
  // Without a sweep, it is infinite.
  if (began > since) return deleted;
  const [old] = await database.query<{ many: number }>(
    `SELECT count(*) AS many FROM changes ${database.dialect.readBy('changes_observed_at_idx')}
       JOIN sweeps ON sweeps.id = changes.sweep_id AND ${COUNTS}
     WHERE changes.observed_at >= $4 AND ${IS_OLD}
       AND changes.list = $1 AND changes.field = '${PRESENCE}' AND changes.new_value = '${MISSING}'`,
    list,
    iso(since),
    await readClockSetAfter(database),
    iso(began),
  );
  return deleted - (old?.many ?? 0);
}

/**
 * Rows that were deleted with their inbox. They have no `changes`: their tombstone is that of the inbox, and
 * the inbox's own change names the sweep.
 */
async function coveredLately(database: Database, list: ListName, now: number): Promise<number> {
  const [row] = await database.query<{ covered: number }>(
    `SELECT count(*) AS covered
     FROM inboxes JOIN ${TABLES[list]} AS items
       ON items.inbox_id = inboxes.id AND items.deleted_at = inboxes.deleted_at
     WHERE EXISTS (
       SELECT 1 FROM changes JOIN sweeps ON sweeps.id = changes.sweep_id
       WHERE changes.list = $1 AND changes.inbox_id IS NULL AND changes.item_id = inboxes.id
         AND changes.observed_at = inboxes.deleted_at AND ${COUNTS} AND NOT (${IS_OLD}))`,
    'inboxes',
    iso(now - WINDOW_MS),
    await readClockSetAfter(database),
  );
  return row?.covered ?? 0;
}

async function coversTooMany(database: Database, inboxIds: readonly string[], now: number): Promise<boolean> {
  const inboxes = `SELECT value FROM ${database.dialect.texts('$1', 'ids')}`;
  for (const list of COVERED_LISTS) {
    const [rows] = await database.query<{ live: number; covered: number }>(
      `SELECT count(*) AS live, count(CASE WHEN inbox_id IN (${inboxes}) THEN 1 END) AS covered
       FROM ${TABLES[list]} WHERE deleted_at IS NULL`,
      JSON.stringify(inboxIds),
    );
    const recent = await deletedLately(database, list, now);
    const { live = 0, covered = 0 } = rows ?? {};
    if (isTooMany(covered + recent, live + recent)) return true;
  }
  return false;
}
