import { type ListKey, SEARCHED_BY } from '../../../core/lists.ts';
import type { Database } from '../../../database/database.ts';
import { iso } from '../../../database/instants.ts';
import type { FencedDatabase, FencedSql } from '../../lease.ts';
import { refuseEnded } from '../../sweeps/ended.ts';
import type { Sweep } from '../../sweeps/sweeps.ts';
import { type SuspectAnswer, writeAnswer } from './answers.ts';
import { exceedsBrake } from './brake.ts';
import { type AbsentRow, type ClosedWalk, NO_SUSPECTS } from './closed-walk.ts';
import { listedByLast } from '../sightings.ts';
import { itemSql } from '../statements.ts';
import { tombstone } from '../tombstones.ts';
import { countUndecided, readUndecided } from './undecided.ts';
import { countUnlisted, forgetListed, hasRecent, type UnlistedTimes } from './unlisted.ts';
import { isUnsteady } from './unsteady.ts';

/** A condition on the rows of any list. */
export const IS_SUSPECT = `missing_since IS NOT NULL AND deleted_at IS NULL`;

/** An absent row that may have been deleted. */
export type Suspect = AbsentRow;

/** Reads suspects, unlisted rows and listed examples. */
export class SuspectReader {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Counts the list's live rows that wait for their second witness. */
  async count(key: ListKey): Promise<number> {
    return await this.#countRows(key, IS_SUSPECT);
  }

  /** Counts the list's live rows. */
  async countLive(key: ListKey): Promise<number> {
    return await this.#countRows(key, 'deleted_at IS NULL');
  }

  /** Counts the unlisted rows of all lists. */
  async countUnlisted(): Promise<number> {
    const counts = await countUnlisted(this.#database);
    return [...counts.values()].reduce((sum, rows) => sum + rows, 0);
  }

  async #countRows({ list, inboxId }: ListKey, condition: string): Promise<number> {
    const { table, scope } = itemSql(list, this.#database.dialect);
    const from = `${table} WHERE ${scope} AND ${condition}`;
    const [row] = await this.#database.query<{ n: number }>(`SELECT count(*) AS n FROM ${from}`, inboxId);
    return row?.n ?? 0;
  }

  /** When the service was last asked for each of the list's suspects on which the answer decided nothing. */
  async askedAt({ inboxId }: ListKey, suspects: readonly Suspect[]): Promise<ReadonlyMap<string, Date>> {
    const ids = suspects.map(({ id }) => id);
    return await readUndecided(this.#database, inboxId, ids);
  }

  /** Counts the suspects of all lists on which the last answer decided nothing. */
  async countUndecided(): Promise<number> {
    return await countUndecided(this.#database);
  }

  /** True if the service has lately returned a row that it did not know before ({@link isUnsteady}). */
  async isUnsteady(now: number): Promise<boolean> {
    return await isUnsteady(this.#database, now);
  }

  /**
   * The ids of the list's suspects that a person has accepted as deleted by requesting a pass: those that
   * were missing by then. Both times are compared in the database: the ledger shifts them if the clock is
   * set.
   */
  async accepted(key: ListKey, passId: number): Promise<ReadonlySet<string>> {
    const { table, scope } = itemSql(key.list, this.#database.dialect);
    const rows = await this.#database.query<{ id: string }>(
      `SELECT id FROM ${table} WHERE ${scope} AND ${IS_SUSPECT}
         AND missing_since <= (SELECT requested_at FROM sync_requests WHERE id = $2)`,
      key.inboxId,
      passId,
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** The e-mail addresses or names of up to three users or tags that the list shows, for the search. */
  async listedAskBy({ list, inboxId }: ListKey): Promise<string[]> {
    const { table, scope } = itemSql(list, this.#database.dialect);
    const askBy = SEARCHED_BY[list] ?? 'NULL';
    const rows = await this.#database.query<{ ask_by: string }>(
      `SELECT ${askBy} AS ask_by FROM ${table}
       WHERE ${scope} AND deleted_at IS NULL AND missing_since IS NULL AND ${askBy} <> ''
         AND id NOT IN (SELECT item_id FROM unlisted WHERE list = '${list}')
       ORDER BY id LIMIT 3`,
      inboxId,
    );
    return rows.map(({ ask_by: by }) => by);
  }

  /**
   * The ids of up to three readable rows that the list shows: the neighbours of the id `near` in the order of
   * ids, first the one on `side`, and the greatest id.
   * @param lacking rows that the list lacks, besides suspects
   */
  async listedExamples(
    { list, inboxId }: ListKey,
    { near, side, lacking }: { near: string; side: Side; lacking: readonly string[] },
  ): Promise<string[]> {
    const { dialect } = this.#database;
    const { table, scope } = itemSql(list, dialect);
    const read = async (condition: string, order: string, ...parameters: unknown[]): Promise<string[]> => {
      const others = dialect.texts(`$${parameters.length + 1}`, 'lacking');
      const rows = await this.#database.query<{ id: string }>(
        `SELECT id FROM ${table} WHERE ${condition} AND deleted_at IS NULL AND missing_since IS NULL
           AND id NOT IN (SELECT item_id FROM rejects WHERE list = '${list}' AND item_id IS NOT NULL)
           AND id NOT IN (SELECT item_id FROM unlisted WHERE list = '${list}')
           AND id NOT IN (SELECT value FROM ${others})
         ORDER BY ${order} LIMIT 1`,
        ...parameters,
        JSON.stringify(lacking),
      );
      return rows.map(({ id }) => id);
    };
    // An index finds the neighbours of one length; almost all ids of a service have the same.
    const alike = `${scope} AND length(id) = ${near.length}`;
    const before = await read(`${alike} AND id < $2`, 'id DESC', inboxId, near);
    const after = await read(`${alike} AND id > $2`, 'id', inboxId, near);
    const greatest = await read(scope, 'length(id) DESC, id DESC', inboxId);
    const neighbours = side === 'before' ? [...before, ...after] : [...after, ...before];
    return [...new Set([...neighbours, ...greatest])];
  }
}

/** A side of an id in the order of ids. */
export type Side = 'before' | 'after';

/** Suspects and tombstones, for the holder of the lease. */
export class Suspects extends SuspectReader {
  readonly #fenced: FencedDatabase;

  constructor(fenced: FencedDatabase) {
    super(fenced.database);
    this.#fenced = fenced;
  }

  /**
   * Closes the walk of a sweep that has every page: a live row that is on none of them becomes a suspect. A
   * second call changes nothing. After a row without a readable id, which may be any of them, the sweep
   * suspects no row.
   */
  async closeWalk(known: Sweep, now: number): Promise<ClosedWalk> {
    if (known.withoutId > 0) return { sweep: known, ...NO_SUSPECTS };
    const { database, write } = this.#fenced;
    const { table, unseen, scope } = itemSql(known.list, database.dialect);
    const askBy = SEARCHED_BY[known.list] ?? 'NULL';
    return await write(async (tx) => {
      await refuseEnded(tx, known);
      const { startedAt, hasAccepted } = await readStored(tx, known);
      const sweep = { ...known, startedAt };
      const rows = await tx.query<{ id: string; ask_by: string | null; missing_since: Date | null }>(
        `SELECT id, ${askBy} AS ask_by, missing_since FROM ${table} WHERE ${unseen} ORDER BY id`,
        sweep.inboxId,
        sweep.id,
      );
      const absent = new Set(rows.map(({ id }) => id));
      // A row that the service has returned since the sweep began only counts as seen by the sweep.
      const isListed = (id: string, { returnedAt }: UnlistedTimes): boolean =>
        !absent.has(id) && returnedAt < sweep.startedAt;
      const returned = await forgetListed(tx, database.dialect, sweep, isListed);
      const suspects = rows
        .filter(({ id, missing_since: since }) => since !== null || !returned.has(id))
        .map(({ id, ask_by, missing_since }) => ({ id, askBy: ask_by, missingSince: missing_since }));
      const unmarked = suspects.filter(({ missingSince: since }) => since === null).map(({ id }) => id);
      if (unmarked.length > 0) {
        const ids = `SELECT value FROM ${database.dialect.texts('$2', 'ids')}`;
        await tx.execute(
          `UPDATE ${table} SET missing_since = $3 WHERE ${scope} AND id IN (${ids})`,
          sweep.inboxId,
          JSON.stringify(unmarked),
          // Not before this sweep began, even if the clock was set back: no sweep is its own second witness.
          iso(Math.max(now, sweep.startedAt.getTime())),
        );
      }
      const isSuspect = new Set(suspects.map(({ id }) => id));
      const unlisted = rows.flatMap(({ id, ask_by }) => {
        const times = isSuspect.has(id) ? undefined : returned.get(id);
        return times === undefined ? [] : { id, askBy: ask_by, missingSince: null, ...times };
      });
      const isLacking = unlisted.length > 0 || hasRecent(returned, sweep.startedAt);
      return { sweep, suspects, unlisted, isLacking, returned, hasAccepted };
    });
  }

  /** Makes unlisted rows suspects: the service no longer returned them. The table keeps when it last did. */
  async suspectUnlisted(sweep: Sweep, ids: readonly string[], now: number): Promise<void> {
    if (ids.length === 0) return;
    const { database, write } = this.#fenced;
    const { table, scope } = itemSql(sweep.list, database.dialect);
    await write(async (tx) => {
      await refuseEnded(tx, sweep);
      await tx.execute(
        `UPDATE ${table} SET missing_since = $3
         WHERE ${scope} AND id IN (SELECT value FROM ${database.dialect.texts('$2', 'ids')})`,
        sweep.inboxId,
        JSON.stringify(ids),
        iso(now),
      );
    });
  }

  /**
   * Writes the service's answer for one suspect, as {@link writeAnswer} does.
   * @returns how many rows changed, 0 or 1; a tombstone does not count
   */
  async settle(sweep: Sweep, { id }: Pick<Suspect, 'id'>, answer: SuspectAnswer): Promise<number> {
    const { database, write } = this.#fenced;
    return await write(async (tx) => {
      await refuseEnded(tx, sweep);
      return await writeAnswer(tx, database, sweep, id, answer);
    });
  }

  /**
   * Sets the tombstones of suspects.
   * @param accepted a person has accepted them, so that the brake does not count them
   */
  async condemn(
    sweep: Sweep,
    suspects: readonly Pick<Suspect, 'id'>[],
    { accepted, now }: { accepted: boolean; now: number },
  ): Promise<void> {
    const { database, write } = this.#fenced;
    const ids = suspects.map(({ id }) => id);
    await write(async (tx) => {
      await refuseEnded(tx, sweep);
      await tombstone(tx, database, sweep, ids, now);
      if (accepted) await tx.execute(`UPDATE sweeps SET accepted = $2 WHERE id = $1`, sweep.id, true);
    });
  }

  /** True if the tombstones of these suspects must wait for a person. */
  async exceedsBrake(sweep: Sweep, suspects: readonly Pick<Suspect, 'id'>[], now: number): Promise<boolean> {
    const ids = suspects.map(({ id }) => id);
    return await exceedsBrake(this.#fenced.database, sweep, ids, now);
  }

  /** Those of the suspects that the list's last complete sweep did not list either. */
  async lackedBefore(sweep: Sweep, suspects: readonly Suspect[]): Promise<readonly Suspect[]> {
    const { database } = this.#fenced;
    const ids = suspects.map(({ id }) => id);
    const listed = await listedByLast(database, database.dialect, sweep, ids);
    return suspects.filter(({ id }) => !listed.has(id));
  }

  /**
   * Stores how many rows of the sweep wait for a person.
   * @returns how many it stored before
   */
  async hold(sweep: Sweep, rows: number): Promise<number> {
    return await this.#fenced.write(async (tx) => {
      const [stored] = await tx.query<{ held: number }>(`SELECT held FROM sweeps WHERE id = $1`, sweep.id);
      await tx.execute(`UPDATE sweeps SET held = $2 WHERE id = $1 AND held <> $2`, sweep.id, rows);
      return stored?.held ?? 0;
    });
  }

  /** Drops the suspicions of rows. */
  async acquit({ list, inboxId }: ListKey, suspects: readonly Pick<Suspect, 'id'>[]): Promise<void> {
    if (suspects.length === 0) return;
    const { database, write } = this.#fenced;
    const { table, scope } = itemSql(list, database.dialect);
    const ids = `SELECT value FROM ${database.dialect.texts('$2', 'ids')}`;
    await write((tx) =>
      tx.execute(
        `UPDATE ${table} SET missing_since = NULL WHERE ${scope} AND ${IS_SUSPECT} AND id IN (${ids})`,
        inboxId,
        JSON.stringify(suspects.map(({ id }) => id)),
      ),
    );
  }
}

async function readStored(
  tx: FencedSql,
  { id, startedAt }: Sweep,
): Promise<{ startedAt: Date; hasAccepted: boolean }> {
  const [row] = await tx.query<{ started_at: Date; accepted: boolean | number }>(
    `SELECT started_at, accepted FROM sweeps WHERE id = $1`,
    id,
  );
  return { startedAt: row?.started_at ?? startedAt, hasAccepted: Boolean(row?.accepted) };
}
