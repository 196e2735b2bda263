import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VIEW_NAMES } from './catalogue.ts';
import type { Database, Sql } from './database.ts';
import type { Dialect } from './dialect.ts';

/** From src/database or dist/database alike, two folders up. */
const FOLDER = join(import.meta.dirname, '../../prisma/views');

/** The row of `settings` that remembers which views there are. */
const MEMORY = 'views';

/** What `settings` remembers: a hash over the views' SQL, and their names, so that another release knows what to drop. */
interface Memory {
  readonly hash: string;
  readonly names: readonly string[];
}

/**
 * Makes the views, and the indexes that only they need, or makes them again where this program's differ from those that are there.
 * Where they are up to date it costs one look.
 */
export async function bringViews(database: Database): Promise<void> {
  const statements = viewStatements(database.dialect, null);
  const hash = createHash('sha256').update(statements.join('\n')).digest('hex');
  if ((await readMemory(database))?.hash === hash) return;
  await database.transaction(async (tx) => {
    // Two processes may start at once: the write lets one in, and the other then finds the work done.
    await tx.execute(
      `INSERT INTO settings (name, value) VALUES ($1, 'null') ON CONFLICT (name) DO NOTHING`,
      MEMORY,
    );
    await tx.execute(`UPDATE settings SET value = value WHERE name = $1`, MEMORY);
    const before = await readMemory(tx);
    if (before?.hash === hash) return;
    await drop(tx, before?.names ?? []);
    for (const statement of statements) await tx.execute(statement);
    await remember(tx, { hash, names: VIEW_NAMES });
  });
}

/** Drops the views, so that a migration may rebuild the tables under them. They are made again after it, in this process or the next. */
export async function dropViews(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    await drop(tx, (await readMemory(tx))?.names ?? []);
    await tx.execute(`DELETE FROM settings WHERE name = $1`, MEMORY);
  });
}

/** Makes the views with the clock stopped at an instant (ISO 8601): for benchmarks and tests whose data has a time of its own. The next opening mends them. */
export async function stopViewsAt(database: Database, now: string): Promise<void> {
  await dropViews(database);
  for (const statement of viewStatements(database.dialect, now)) await database.execute(statement);
  await database.execute(
    `INSERT INTO settings (name, value) VALUES ($1, $2)`,
    MEMORY,
    JSON.stringify({ hash: `stopped at ${now}`, names: VIEW_NAMES }),
  );
}

async function readMemory(sql: Sql): Promise<Memory | null> {
  const [row] = await sql.query<{ value: string }>(`SELECT value FROM settings WHERE name = $1`, MEMORY);
  return row === undefined ? null : (JSON.parse(row.value) as Memory | null);
}

async function remember(tx: Sql, memory: Memory): Promise<void> {
  await tx.execute(`UPDATE settings SET value = $2 WHERE name = $1`, MEMORY, JSON.stringify(memory));
}

async function drop(tx: Sql, names: readonly string[]): Promise<void> {
  for (const name of names.toReversed()) await tx.execute(`DROP VIEW IF EXISTS ${name}`);
}

/** Everything that makes the views, in order. `now` is null for the database's own clock. */
function viewStatements(dialect: Dialect, now: string | null): string[] {
  const indexes = readSql(dialect, 'indexes')
    .replaceAll(/^--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
  return [...indexes, ...VIEW_NAMES.map((name) => expand(readSql(dialect, name), dialect, now))];
}

/** A database's own file goes before the common one; so does its own part, where a file names one: `PART(name, …)`, with what stands for $1, $2 … in it. */
function readSql(dialect: Dialect, name: string): string {
  const own = join(FOLDER, dialect.provider, `${name}.sql`);
  const sql = readFileSync(existsSync(own) ? own : join(FOLDER, 'common', `${name}.sql`), 'utf8');
  return sql.replaceAll(/\bPART\((\w+(?:, \w+)*)\)/g, (_part, words: string) => {
    const [part = '', ...filled] = words.split(', ');
    const text = readSql(dialect, join('parts', part)).trimEnd();
    return text.replaceAll(/\$(\d)/g, (_word, nth: string) => filled[Number(nth) - 1] ?? '');
  });
}

/** Writes out what the files say in words of their own, in capitals: what databases say differently, and what stands here once. */
function expand(
  sql: string,
  { millisecondsBetween, instantAgo, readBy }: Dialect,
  now: string | null,
): string {
  return (
    sql
      .replaceAll(
        /\bSTATUS_OF\(([\w.]+)\)/g,
        // The service says `close`, its readers say `closed` (SERVICE-NOTES.md, "Statuses").
        (_call, status: string) =>
          `(CASE WHEN ${status} IN ('close', 'closed') THEN 'closed' ELSE coalesce(${status}, 'none') END)`,
      )
      // Nobody is somebody here: null equals nothing, itself included.
      .replaceAll(/\bID_OF\(([\w.]+)\)/g, (_call, id: string) => `coalesce(${id}, '')`)
      .replaceAll(
        /\bMILLISECONDS_BETWEEN\(([\w.]+), ([\w.]+|NOW\(\))\)/g,
        (_call, from: string, to: string) => `CAST(${millisecondsBetween(from, to)} AS BIGINT)`,
      )
      .replaceAll(/\bREAD_BY\((\w+)\)/g, (_call, index: string) => readBy(index))
      .replaceAll(/\bSECONDS_AGO\((\d+)\)/g, (_call, seconds: string) => instantAgo(Number(seconds), now))
      .replaceAll('NOW()', instantAgo(0, now))
  );
}
