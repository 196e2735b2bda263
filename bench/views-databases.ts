import { existsSync } from 'node:fs';
import { startServer } from '../prisma/embedded.ts';
import { openDatabase } from '../src/database/open.ts';
import { openReadOnly } from '../src/query/open.ts';
import { copyMirror } from './views-copy.ts';

/** A mirror that is asked as `inbox-mirror query` does. */
export interface Asked {
  /** How many rows a query gives; all are read. */
  count(sql: string): Promise<number>;
  /** How the database goes about a query, line by line. */
  plan(sql: string): Promise<string[]>;
  /** A condition for one conversation. */
  oneConversation(): Promise<string>;
  close(): Promise<void>;
}

/** The mirror in a SQLite file. */
export async function openSqlite(file: string): Promise<Asked> {
  return await open(`file:${file}`, 'EXPLAIN QUERY PLAN', async () => undefined);
}

/** The same mirror on a PostgreSQL server of its own with stock settings, in the folder beside the file; what lies there is used again. */
export async function openPostgresql(file: string): Promise<Asked> {
  const folder = `${file}-postgresql`;
  const isNew = !existsSync(folder);
  const server = await startServer([], folder);
  const url = server.url('postgres');
  if (isNew)
    await copyMirror(file, url).catch(async (error: unknown) => {
      // Half a mirror is not to be used again.
      await server.stop();
      server.remove();
      throw error;
    });
  return await open(url, 'EXPLAIN (ANALYZE, BUFFERS)', () => server.stop());
}

async function open(url: string, explain: string, stop: () => Promise<void>): Promise<Asked> {
  // A kept one may have the views of an earlier day.
  await (await openDatabase(url)).close();
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
        `SELECT 'inbox_id = ''' || inbox_id || ''' AND conversation_id = ''' || id || '''' FROM conversations LIMIT 1 OFFSET 5000`,
      );
      for await (const [condition] of rows) return String(condition);
      throw new Error('there is no conversation');
    },
    async close() {
      await mirror.close();
      await stop();
    },
  };
}
