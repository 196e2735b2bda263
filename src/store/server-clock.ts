import type { Database } from './sql.ts';

/**
 * How many milliseconds a clock is ahead of the database server's; less than 0 where it is behind. Always 0 for a file, which no other machine's clock
 * writes to.
 */
export async function aheadOfServer(database: Database, now: () => number): Promise<number> {
  if (database.dialect.provider === 'sqlite') return 0;
  const before = now();
  const [row] = await database.query<{ at: Date }>('SELECT clock_timestamp() AS at');
  return row === undefined ? 0 : (before + now()) / 2 - row.at.getTime();
}
