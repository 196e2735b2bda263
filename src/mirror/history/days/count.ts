import type { Sql } from '../../../database/database.ts';
import type { Dialect } from '../../../database/dialect.ts';
import { iso } from '../../../database/instants.ts';
import { DAY_SUM_KINDS, DAY_SUMS, daySumsSql } from '../../../database/views/definitions.ts';
import type { FencedDatabase } from '../../lease.ts';

/** At most this many days are counted in one transaction, so that pages do not wait long. */
const DAYS_AT_ONCE = 16;

/** Consecutive days without stored sums. `from` and `to` are the first instants of the first and last day. */
interface Run {
  readonly from: string;
  to: string;
  days: number;
}

/**
 * Stores the sums of the days of `report_days` that have passed at `now` (epoch ms) and have none. The views
 * add them up, and count the other days themselves (docs/decisions/0024).
 * @returns the number of days
 */
export async function countDays({ database, write }: FencedDatabase, now: number): Promise<number> {
  let counted = 0;
  const runs = await uncountedRuns(database, iso(now));
  for (const run of runs) {
    // As after a page of a sweep: the driver frees statements only when the event loop turns.
    await new Promise(setImmediate);
    counted += await write((tx) => countRun(tx, database.dialect, run, iso(now)));
  }
  if (runs.length > 0) await write(deleteOthers);
  return counted;
}

async function uncountedRuns(sql: Sql, now: string): Promise<Run[]> {
  const days = await sql.query<{ starts_at: Date; counted: string | null }>(
    `SELECT days.starts_at, counted.day AS counted FROM report_days AS days
     LEFT JOIN counted_days AS counted ON counted.day = days.day
       AND counted.starts_at = days.starts_at AND counted.ends_at = days.ends_at
     WHERE days.ends_at <= $1 ORDER BY days.starts_at`,
    now,
  );
  const runs: Run[] = [];
  let open: Run | null = null;
  for (const { starts_at, counted } of days) {
    const at = iso(starts_at);
    if (counted !== null) open = null;
    else if (open !== null && open.days < DAYS_AT_ONCE) Object.assign(open, { to: at, days: open.days + 1 });
    else runs.push((open = { from: at, to: at, days: 1 }));
  }
  return runs;
}

/** @returns the number of counted days */
async function countRun(tx: Sql, dialect: Dialect, { from, to }: Run, now: string): Promise<number> {
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
  const counted = await tx.execute(
    `INSERT INTO counted_days (day, starts_at, ends_at)
     SELECT day, starts_at, ends_at FROM report_days
     WHERE starts_at >= $1 AND starts_at <= $2 AND ends_at <= $3`,
    from,
    to,
    now,
  );
  for (const kind of DAY_SUM_KINDS) {
    const { table, key, sum } = DAY_SUMS[kind];
    const columns = ['day', ...key, sum].join(', ');
    await tx.execute(
      `DELETE FROM ${table} WHERE day IN
         (SELECT day FROM counted_days WHERE starts_at >= $1 AND starts_at <= $2)`,
      from,
      to,
    );
    await tx.execute(
      `INSERT INTO ${table} (${columns})
       SELECT ${columns} FROM (${daySumsSql(dialect, kind)}) AS computed`,
      from,
      to,
    );
  }
  return counted;
}

/** Deletes the sums of days that are not counted, such as those of an earlier time zone. */
async function deleteOthers(tx: Sql): Promise<void> {
  for (const { table } of Object.values(DAY_SUMS))
    await tx.execute(`DELETE FROM ${table} WHERE day NOT IN (SELECT counted_days.day FROM counted_days)`);
}
