import type { Sql } from '../../../database/database.ts';
import type { Dialect } from '../../../database/dialect.ts';
import { iso } from '../../../database/instants.ts';
import { DAY_SUM_KINDS, DAY_SUMS, type DaySumKind, daySumsSql } from '../../../database/views/definitions.ts';
import type { FencedDatabase } from '../../lease.ts';
import { countDays } from './count.ts';

/** Every counted day starts between these instants. */
const EVER = [iso(0), iso(Date.UTC(9999, 0))];

/** The counted days whose stored sums differ from the intervals and `changes`, such as `2026-03-02`. */
export async function findWrongDays(sql: Sql, dialect: Dialect): Promise<string[]> {
  const wrong = new Set<string>();
  for (const kind of DAY_SUM_KINDS) {
    const rows = await sql.query<{ day: string }>(comparison(dialect, kind), ...EVER);
    for (const { day } of rows) wrong.add(day);
  }
  return [...wrong].toSorted();
}

/** The counted days. The program is still counting the partial ones. */
const COUNTED = 'SELECT counted_days.day FROM counted_days WHERE NOT counted_days.is_partial';

/** A query for the days whose computed and stored sums differ. */
function comparison(dialect: Dialect, kind: DaySumKind): string {
  const { table, key, sum } = DAY_SUMS[kind];
  const shared = ['day', ...key].join(', ');
  return `
    SELECT DISTINCT CAST(day AS TEXT) AS day FROM (
      SELECT ${shared} FROM (
        SELECT ${shared}, ${sum} AS n FROM (${daySumsSql(dialect, kind)}) AS computed
        UNION ALL
        SELECT ${shared}, -${sum} FROM ${table}
      ) AS both_sides
      WHERE day IN (${COUNTED})
      GROUP BY ${shared} HAVING sum(n) <> 0
    ) AS differing`;
}

/** Counts these days again, and those that are not counted yet. `now` is epoch ms. */
export async function repairDays(
  fenced: FencedDatabase,
  wrong: readonly string[],
  now: number,
): Promise<void> {
  const days = `SELECT value FROM ${fenced.database.dialect.texts('$1', 'wrong')}`;
  await fenced.write((tx) =>
    tx.execute(`DELETE FROM counted_days WHERE CAST(day AS TEXT) IN (${days})`, JSON.stringify(wrong)),
  );
  await countDays(fenced, now);
}
