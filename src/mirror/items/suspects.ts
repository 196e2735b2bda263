import { MISSING, presence } from '../../core/diff.ts';
import type { Item, ListKey } from '../../core/lists.ts';
import type { Database, Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import { writeChanges } from '../history/write.ts';
import type { Fenced } from '../lease.ts';
import type { Sweep } from '../sweeps/sweeps.ts';
import { lastSightings } from './sightings.ts';
import { ASK_BY, itemSql } from './statements.ts';
import { applyItems, COVERED_TABLES } from './upsert.ts';

/** At most this many rows get their tombstone in one statement. */
const BATCH = 20_000;

/** A live row that a complete sweep did not see. `askBy`: the e-mail or name to search it by, where the id is not enough. */
export interface Suspect {
  readonly id: string;
  readonly askBy: string | null;
}

/** How many rows wait for their second witness. */
export class SuspectCounts {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The list's live rows that wait for their second witness. */
  async count(key: ListKey): Promise<number> {
    const { table, scope } = itemSql(key.list, this.#database.dialect);
    const [row] = await this.#database.query<{ n: number }>(
      `SELECT count(*) AS n FROM ${table} WHERE ${scope} AND missing_since IS NOT NULL AND deleted_at IS NULL`,
      key.inboxId,
    );
    return row?.n ?? 0;
  }
}

/** Suspects and tombstones, for the holder of the lease. */
export class Suspects extends SuspectCounts {
  readonly #fenced: Fenced;

  constructor(fenced: Fenced) {
    super(fenced.database);
    this.#fenced = fenced;
  }

  /**
   * Closes the walk of a sweep that has every page. A row that no page held gets its tombstone if an earlier complete sweep
   * missed it too; otherwise it becomes a suspect. Repeating it changes nothing. A sweep with rejects suspects no row.
   * @param acceptDeletes this sweep is witness enough
   */
  async closeWalk(
    sweep: Sweep,
    { acceptDeletes, now }: { acceptDeletes: boolean; now: number },
  ): Promise<{ suspects: Suspect[]; deleted: number }> {
    if (sweep.rejected > 0) return { suspects: [], deleted: 0 };
    const { database, write } = this.#fenced;
    const { table, unseen, scope } = itemSql(sweep.list, database.dialect);
    const askBy = ASK_BY[sweep.list] ?? 'NULL';
    return await write(async (tx) => {
      const rows = await tx.query<{ id: string; ask_by: string | null; missing_since: Date | null }>(
        `SELECT id, ${askBy} AS ask_by, missing_since FROM ${table} WHERE ${unseen} ORDER BY id`,
        sweep.inboxId,
        sweep.id,
      );
      const witnessed = rows.filter(
        ({ missing_since: since }) => acceptDeletes || (since !== null && since < sweep.startedAt),
      );
      const condemned = new Set(witnessed.map(({ id }) => id));
      await tombstone(tx, database, sweep, [...condemned], now);
      const remaining = rows.filter(({ id }) => !condemned.has(id));
      const fresh = remaining.filter(({ missing_since: since }) => since === null).map(({ id }) => id);
      if (fresh.length > 0) {
        const { texts } = database.dialect;
        await tx.execute(
          `UPDATE ${table} SET missing_since = $3 WHERE ${scope} AND id IN (SELECT value FROM ${texts('$2', 'ids')})`,
          sweep.inboxId,
          JSON.stringify(fresh),
          // Never before this sweep began, even if the clock was set back: no sweep is its own second witness.
          iso(Math.max(now, sweep.startedAt.getTime())),
        );
      }
      return {
        suspects: remaining.map(({ id, ask_by }) => ({ id, askBy: ask_by })),
        deleted: condemned.size,
      };
    });
  }

  /**
   * Writes what the service answered for one suspect: the item as it is, or its tombstone.
   * @returns how many of its rows changed, 0 or 1
   */
  async settle(
    sweep: Sweep,
    suspect: Suspect,
    { found, now }: { found: Item | null; now: number },
  ): Promise<number> {
    const { database, write } = this.#fenced;
    return await write(async (tx) => {
      await tx.execute(
        `UPDATE sweeps SET requests = requests + 1, heartbeat_at = $2 WHERE id = $1`,
        sweep.id,
        iso(now),
      );
      if (found === null) {
        await tombstone(tx, database, sweep, [suspect.id], now);
        return 0;
      }
      const context = {
        list: sweep.list,
        inboxId: sweep.inboxId,
        sweepId: sweep.id,
        baseline: sweep.baseline,
        observedAt: iso(now),
        pageNo: null,
      };
      const { changed } = await applyItems(tx, database.dialect, context, [found]);
      await tx.execute(`UPDATE sweeps SET changed = changed + $2 WHERE id = $1`, sweep.id, changed);
      // Stored as a page below the first, because it is a sighting too: after a crash this suspect is not requested again.
      await tx.execute(
        `INSERT INTO sweep_pages (sweep_id, page_no, item_ids, fetched_at)
         SELECT $1, COALESCE(MIN(page_no), 0) - 1, $2, $3 FROM sweep_pages WHERE sweep_id = $1 AND page_no < 0`,
        sweep.id,
        JSON.stringify([found.id]),
        iso(now),
      );
      return changed;
    });
  }
}

/** Writes tombstones and their changes in batches, so that the loss of a whole mailbox does not fill the memory. */
async function tombstone(
  tx: Sql,
  database: Database,
  sweep: Sweep,
  ids: readonly string[],
  now: number,
): Promise<void> {
  for (let from = 0; from < ids.length; from += BATCH) {
    await tombstoneThese(tx, database, sweep, ids.slice(from, from + BATCH), now);
  }
}

async function tombstoneThese(
  tx: Sql,
  { dialect }: Database,
  sweep: Sweep,
  ids: readonly string[],
  now: number,
): Promise<void> {
  const { table, scope } = itemSql(sweep.list, dialect);
  const these = dialect.texts('$2', 'ids');
  const parameters = [sweep.inboxId, JSON.stringify(ids), iso(now)];
  const seen = await lastSightings(tx, dialect, sweep, ids, null);
  await tx.execute(
    `UPDATE ${table} SET deleted_at = $3 WHERE ${scope} AND id IN (SELECT value FROM ${these})`,
    ...parameters,
  );
  if (sweep.list === 'inboxes') await coverRows(tx, parameters, these);
  await tx.execute(`UPDATE sweeps SET deleted = deleted + $2 WHERE id = $1`, sweep.id, ids.length);
  if (sweep.baseline) return;
  const changes = ids.map((id) => ({
    ...presence(MISSING),
    itemId: id,
    previouslySeenAt: seen.get(id) ?? null,
  }));
  await writeChanges(tx, dialect, sweep, changes, { sweepId: sweep.id, observedAt: iso(now) });
}

/** An inbox's tombstone covers its rows, without changes of their own, and ends the sweeps of its lists. */
async function coverRows(tx: Sql, parameters: unknown[], these: string): Promise<void> {
  for (const table of COVERED_TABLES) {
    await tx.execute(
      `UPDATE ${table} SET deleted_at = $3 WHERE inbox_id IN (SELECT value FROM ${these}) AND deleted_at IS NULL`,
      ...parameters,
    );
  }
  await tx.execute(
    `UPDATE sweeps SET state = 'abandoned', finished_at = $3, error = 'the inbox is gone'
     WHERE inbox_id IN (SELECT value FROM ${these}) AND state IN ('running', 'paused')`,
    ...parameters,
  );
}
