import type { Database, Sql } from '../../../database/database.ts';
import type { Dialect } from '../../../database/dialect.ts';
import { iso } from '../../../database/instants.ts';
import {
  type Chunk,
  DAY_SUM_KINDS,
  DAY_SUMS,
  type DaySumKind,
  daySumsSql,
  edgesSql,
} from '../../../database/views/definitions.ts';
import type { FencedDatabase } from '../../lease.ts';

/** At most this many days are counted in one transaction, so that pages do not wait long. */
const DAYS_AT_ONCE = 16;
/** About this many edges (intervals that begin or end) are looked up in one transaction. */
const EDGES_AT_ONCE = 20_000;

/** Consecutive days without stored sums. `from` and `to` are the first instants of the first and last day. */
interface Run {
  readonly from: string;
  readonly to: string;
  readonly days: number;
  readonly edges: number;
}
const EMPTY: Run = { from: '', to: '', days: 0, edges: 0 };

export interface CountOptions {
  /** Ends the work after the current transaction; the next call counts the others. */
  readonly signal?: AbortSignal;
  /** A run of days with more edges has one day, and is counted in chunks of about this many. */
  readonly edgesAtOnce?: number;
  /** Called before each transaction or chunk but the first: this takes seconds or minutes. */
  readonly onMore?: () => void;
}

/**
 * Stores the sums of the days of `report_days` that have passed at `now` (epoch ms) and have none. The views
 * add them up, and count the other days themselves (docs/decisions/0024).
 * @returns the number of days
 */
export async function countDays(
  fenced: FencedDatabase,
  now: number,
  { signal, edgesAtOnce = EDGES_AT_ONCE, onMore = () => undefined }: CountOptions = {},
): Promise<number> {
  let counted = 0;
  let any = false;
  for await (const run of uncountedRuns(fenced.database, iso(now), edgesAtOnce)) {
    if (signal?.aborted === true) break;
    if (any) onMore();
    any = true;
    // As after a page of a sweep: the driver frees statements only when the event loop turns.
    await new Promise(setImmediate);
    counted += await countRun(fenced, run, { now: iso(now), edgesAtOnce, signal, onMore });
  }
  if (any) await deleteOthers(fenced);
  return counted;
}

/**
 * Groups the days without sums. A run ends before a counted day, after the most days, and before it would
 * have too many edges. A day with more has a run of its own.
 */
async function* uncountedRuns(database: Database, now: string, edgesAtOnce: number): AsyncGenerator<Run> {
  const days = await database.query<{ starts_at: Date; ends_at: Date; counted: string | null }>(
    `SELECT days.starts_at, days.ends_at, counted.day AS counted FROM report_days AS days
     LEFT JOIN counted_days AS counted ON counted.day = days.day AND NOT counted.is_partial
       AND counted.starts_at = days.starts_at AND counted.ends_at = days.ends_at
     WHERE days.ends_at <= $1 ORDER BY days.starts_at`,
    now,
  );
  const sql = edgesSql(database.dialect);
  let run: Run = EMPTY;
  for (const { starts_at, ends_at, counted } of days) {
    const at = iso(starts_at);
    const [row] = counted === null ? await database.query<{ edges: number }>(sql, at, iso(ends_at)) : [];
    const isFull = run.days === DAYS_AT_ONCE || run.edges + (row?.edges ?? 0) > edgesAtOnce;
    if (run.days > 0 && (isFull || row === undefined)) {
      yield run;
      run = EMPTY;
    }
    if (row !== undefined)
      run = {
        from: run.days === 0 ? at : run.from,
        to: at,
        days: run.days + 1,
        edges: run.edges + row.edges,
      };
  }
  if (run.days > 0) yield run;
}

interface Counting {
  /** In the stored form (`iso`). */
  readonly now: string;
  readonly edgesAtOnce: number;
  readonly signal: AbortSignal | undefined;
  readonly onMore: () => void;
}

/** @returns the number of counted days */
async function countRun(
  { database, write }: FencedDatabase,
  run: Run,
  { now, edgesAtOnce, signal, onMore }: Counting,
): Promise<number> {
  const chunks = Math.ceil(run.edges / edgesAtOnce);
  const isPartial = chunks > 1;
  const counted = await write(async (tx) => {
    const days = await begin(tx, run, { now, isPartial });
    for (const kind of DAY_SUM_KINDS) {
      await tx.execute(`DELETE FROM ${DAY_SUMS[kind].table} WHERE day IN (${DAYS})`, run.from, run.to);
      if (!isPartial || !DAY_SUMS[kind].inChunks) await add(tx, database.dialect, kind, { run, chunk: null });
    }
    return days;
  });
  if (!isPartial || counted === 0) return counted;
  for (const kind of DAY_SUM_KINDS)
    for (let nth = 0; nth < chunks && DAY_SUMS[kind].inChunks; nth++) {
      await new Promise(setImmediate);
      if (signal?.aborted === true) return 0;
      onMore();
      const isThere = await write(async (tx) => {
        // A write that concerns the day has deleted its row.
        const rows = await tx.query(DAYS, run.from, run.to);
        if (rows.length > 0) await add(tx, database.dialect, kind, { run, chunk: { nth, of: chunks } });
        return rows.length > 0;
      });
      if (!isThere) return 0;
    }
  return await write((tx) => finish(tx, run));
}

/** The days from `$1` to `$2` that have a row. */
const DAYS = `SELECT day FROM counted_days WHERE starts_at >= $1 AND starts_at <= $2`;

/** Writes the rows of the days, and so locks out a change of the calendar. @returns their number */
async function begin(
  tx: Sql,
  { from, to }: Run,
  { now, isPartial }: { now: string; isPartial: boolean },
): Promise<number> {
  // A process that replaces `report_days` writes this row first (settings/views.ts): until this transaction
  // ends, the days stay as they are.
  await tx.execute(`UPDATE settings SET value = value WHERE name = 'report_timezone'`);
  await tx.execute(
    `DELETE FROM counted_days WHERE starts_at >= $1 AND starts_at <= $2 OR NOT EXISTS
       (SELECT 1 FROM report_days AS days WHERE days.day = counted_days.day
          AND days.starts_at = counted_days.starts_at AND days.ends_at = counted_days.ends_at)`,
    from,
    to,
  );
  return await tx.execute(
    `INSERT INTO counted_days (day, starts_at, ends_at, is_partial)
     SELECT day, starts_at, ends_at, ${isPartial ? 'TRUE' : 'FALSE'} FROM report_days
     WHERE starts_at >= $1 AND starts_at <= $2 AND ends_at <= $3`,
    from,
    to,
    now,
  );
}

/** Adds the sums of a run, or those of a chunk of its edges: then another chunk may have the same key. */
async function add(
  tx: Sql,
  dialect: Dialect,
  kind: DaySumKind,
  { run, chunk }: { run: Run; chunk: Chunk | null },
): Promise<void> {
  const { table, key, sum } = DAY_SUMS[kind];
  const shared = ['day', ...key].join(', ');
  // Without WHERE, SQLite would take ON for the condition of a join.
  await tx.execute(
    `INSERT INTO ${table} (${shared}, ${sum})
     SELECT ${shared}, ${sum} FROM (${daySumsSql(dialect, kind, chunk)}) AS computed
     WHERE TRUE ON CONFLICT (${shared}) DO UPDATE SET ${sum} = ${table}.${sum} + excluded.${sum}`,
    run.from,
    run.to,
  );
}

/** @returns 1, or 0 if a write that concerns the day has deleted its row meanwhile */
async function finish(tx: Sql, { from, to }: Run): Promise<number> {
  for (const { table, sum } of Object.values(DAY_SUMS))
    await tx.execute(`DELETE FROM ${table} WHERE ${sum} = 0 AND day IN (${DAYS})`, from, to);
  return await tx.execute(
    `UPDATE counted_days SET is_partial = FALSE WHERE starts_at >= $1 AND starts_at <= $2 AND is_partial`,
    from,
    to,
  );
}

/** Deletes the sums of days that are not counted, such as those of an earlier time zone. */
async function deleteOthers({ write }: FencedDatabase): Promise<void> {
  for (const { table } of Object.values(DAY_SUMS))
    await write((tx) =>
      tx.execute(`DELETE FROM ${table} WHERE day NOT IN (SELECT counted_days.day FROM counted_days)`),
    );
}
