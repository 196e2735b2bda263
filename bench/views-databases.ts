import { existsSync } from 'node:fs';
import { startServer } from '../prisma/embedded.ts';
import { openDatabase } from '../src/database/open.ts';
import { WriterEpoch } from '../src/mirror/history/epochs.ts';
import { countDays } from '../src/mirror/history/days/count.ts';
import { openReadOnly } from '../src/query/open.ts';
import { show } from './figures.ts';
import { copyMirror } from './views-copy.ts';

/** A mirror that is queried as `inbox-mirror query` does. */
export interface QueriedMirror {
  /** Reads all rows of a query and counts them. */
  count(sql: string): Promise<number>;
  /** The query plan, line by line. */
  plan(sql: string): Promise<string[]>;
  /** A WHERE condition for one conversation. */
  oneConversation(): Promise<string>;
  /** The id of the inbox whose number of conversations is nearest to `size`. */
  inboxOf(size: number): Promise<string>;
  close(): Promise<void>;
}

/** The mirror in a SQLite file. */
export async function openSqlite(file: string): Promise<QueriedMirror> {
  return await open(`file:${file}`, 'EXPLAIN QUERY PLAN', async () => undefined);
}

/**
 * The same mirror on a private PostgreSQL server with default settings. Its folder is beside the file; an
 * existing folder is reused.
 */
export async function openPostgresql(file: string): Promise<QueriedMirror> {
  const folder = `${file}-postgresql`;
  const isNew = !existsSync(folder);
  const server = await startServer([], folder);
  const url = server.url('postgres');
  if (isNew)
    await copyMirror(file, url).catch(async (error: unknown) => {
      // The next run must not reuse an incomplete copy.
      await server.stop();
      server.remove();
      throw error;
    });
  return await open(url, 'EXPLAIN (ANALYZE, BUFFERS)', () => server.stop());
}

async function open(url: string, explain: string, stop: () => Promise<void>): Promise<QueriedMirror> {
  // A reused mirror may have views of an earlier version: opening it replaces them.
  await storeSums(url);
  const mirror = await openReadOnly(url);
  return {
    async count(sql) {
      let rows = 0;
      const { rows: all } = await mirror.query(sql);
      for await (const row of all) rows += row.length === 0 ? 0 : 1;
      return rows;
    },
    async plan(sql) {
      const { rows } = await mirror.query(`${explain} ${sql}`);
      const lines: string[] = [];
      for await (const row of rows) lines.push(String(row.at(-1)));
      return lines;
    },
    async oneConversation() {
      const { rows } = await mirror.query(
        `SELECT 'inbox_id = ''' || inbox_id || ''' AND conversation_id = ''' || id || ''''
         FROM conversations LIMIT 1 OFFSET 5000`,
      );
      for await (const [condition] of rows) return String(condition);
      throw new Error('the mirror has too few conversations: 5,001 are needed');
    },
    async inboxOf(size) {
      const { rows } = await mirror.query(
        `SELECT inbox_id FROM conversations GROUP BY inbox_id ORDER BY abs(count(*) - ${size}) LIMIT 1`,
      );
      for await (const [id] of rows) return String(id);
      throw new Error('the mirror has no conversations');
    },
    async close() {
      await mirror.close();
      await stop();
    },
  };
}

/** Stores the sums of all past days, as the daemon's housekeeping does, and prints how long that takes. */
async function storeSums(url: string): Promise<void> {
  const database = await openDatabase(url);
  await database.execute(`DELETE FROM counted_days`);
  const epoch = new WriterEpoch();
  let longest = 0;
  const began = performance.now();
  const days = await countDays(
    {
      database,
      async write(work) {
        const start = performance.now();
        const result = await database.transaction((tx) => work({ ...tx, epoch }));
        longest = Math.max(longest, performance.now() - start);
        return result;
      },
    },
    Date.now(),
  );
  const seconds = [performance.now() - began, longest].map((ms) => show(ms / 1000));
  console.error(
    `${database.dialect.provider}: stored the sums of ${days} days in ${seconds[0]} s, ` +
      `at most ${seconds[1]} s in one transaction`,
  );
  // As autovacuum would.
  if (database.dialect.provider === 'postgresql') await database.execute(`ANALYZE`);
  await database.close();
}
