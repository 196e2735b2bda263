import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CLOSED,
  CLOSED_WORDS,
  FINAL_STATUSES,
  type ListName,
  NO_STATUS,
  WAITING_STATUSES,
} from '../core/lists.ts';
import { VIEW_NAMES } from './catalogue.ts';
import type { Database, Sql } from './database.ts';
import type { Dialect } from './dialect.ts';
import { catalogueText, firstValuesSql, readCatalogue, VALUE_KINDS, valueKinds } from './columns.ts';

/** Two folders up from src/database, and from dist/database. */
const FOLDER = join(import.meta.dirname, '../../prisma/views');

/** The row of `settings` that records which views exist. */
const SETTING = 'views';

interface CreatedViews {
  /** Of the SQL of all views and their indexes. */
  readonly hash: string;
  /** In the order of creation. Another release drops these. */
  readonly names: readonly string[];
}

/**
 * Creates the views and the indexes that only they need. Replaces them if this program's SQL differs from
 * that of the existing ones, and writes the comments. If they are up to date, this costs one query.
 */
export async function ensureViews(database: Database): Promise<void> {
  const hash = hashOf(database.dialect);
  if ((await readCreated(database))?.hash === hash) return;
  await database.transaction(async (tx) => {
    // Two processes may start at once: the second waits at this write, then finds the views up to date.
    await tx.execute(
      `INSERT INTO settings (name, value) VALUES ($1, 'null') ON CONFLICT (name) DO NOTHING`,
      SETTING,
    );
    await tx.execute(`UPDATE settings SET value = value WHERE name = $1`, SETTING);
    const before = await readCreated(tx);
    if (before?.hash === hash) return;
    await drop(tx, before?.names ?? []);
    await create(tx, database.dialect, viewStatements(database.dialect, null));
    const comments = database.dialect.comments?.(readCatalogue(database.dialect));
    if (comments !== undefined) await tx.execute(comments);
    await recordCreated(tx, { hash, names: VIEW_NAMES });
  });
}

/**
 * Drops the views, so that a migration can rebuild the tables that they read. {@link ensureViews} creates
 * them again, in this process or in the next that opens the mirror.
 */
export async function dropViews(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    // SQLite waits for another program only at a transaction's first statement, and only if it writes.
    await tx.execute(`UPDATE settings SET value = value WHERE name = $1`, SETTING);
    await drop(tx, (await readCreated(tx))?.names ?? []);
    await tx.execute(`DELETE FROM settings WHERE name = $1`, SETTING);
  });
}

/**
 * Stops the clock of the views at an instant (ISO 8601), for benchmarks and tests whose data has fixed times.
 * Null lets it run again, and so does the next process that opens the mirror.
 */
export async function stopViewsAt(database: Database, now: string | null): Promise<void> {
  const { dialect } = database;
  const usual = viewStatements(dialect, null);
  const stopped = viewStatements(dialect, now ?? 'an instant');
  const reading = (now === null ? usual : stopped).filter((_view, nth) => usual[nth] !== stopped[nth]);
  const names = reading.map((view) => view.split(' ')[2] ?? '');
  // PostgreSQL drops no view that another one reads.
  const replaces = dialect.provider === 'postgresql';
  const made = replaces ? reading.map((view) => view.replace('CREATE', '$& OR REPLACE')) : reading;
  await database.transaction(async (tx) => {
    if (!replaces) await drop(tx, names);
    await create(tx, dialect, made);
    await recordCreated(tx, { hash: now ?? hashOf(dialect), names: VIEW_NAMES });
  });
}

/** The hash of each database's views: computed once in a process, because it takes 5 ms. */
const hashes = new Map<Dialect, string>();

/** Differs between two releases whose views, declared types or comments differ. */
function hashOf(dialect: Dialect): string {
  const known = hashes.get(dialect);
  if (known !== undefined) return known;
  const declared = VALUE_KINDS.map((kind) => dialect.declared?.('', kind, ''));
  const parts = JSON.stringify([viewStatements(dialect, null), declared, catalogueText(dialect)]);
  const hash = createHash('sha256').update(parts).digest('hex');
  hashes.set(dialect, hash);
  return hash;
}

async function readCreated(sql: Sql): Promise<CreatedViews | null> {
  const [row] = await sql.query<{ value: string }>(`SELECT value FROM settings WHERE name = $1`, SETTING);
  return row === undefined ? null : (JSON.parse(row.value) as CreatedViews | null);
}

async function recordCreated(tx: Sql, views: CreatedViews): Promise<void> {
  await tx.execute(`UPDATE settings SET value = $2 WHERE name = $1`, SETTING, JSON.stringify(views));
}

/** Runs the statements, and creates a view again whose columns lack a declared type. */
async function create(sql: Sql, dialect: Dialect, statements: readonly string[]): Promise<void> {
  const kinds = valueKinds(dialect);
  for (const statement of statements) {
    await sql.execute(statement);
    const [head = '', name] = /^CREATE VIEW (\w+) AS\n/.exec(statement) ?? [];
    if (name === undefined || dialect.declared === null) continue;
    const columns = await sql.query<{ column_name: string; type: string }>(
      `SELECT column_name, type FROM (${dialect.allColumns}) WHERE name = $1`,
      name,
    );
    const declared = columns.map(({ column_name: column, type }) => {
      const kind = kinds.get(name)?.get(column) ?? 'text';
      return `${dialect.declared?.(`body."${column}"`, kind, type)} AS "${column}"`;
    });
    await sql.execute(`DROP VIEW ${name}`);
    const body = `(\n${statement.slice(head.length)}) AS body`;
    await sql.execute(`${head}SELECT ${declared.join(', ')}\nFROM ${body}`);
  }
}

async function drop(tx: Sql, names: readonly string[]): Promise<void> {
  for (const name of names.toReversed()) await tx.execute(`DROP VIEW IF EXISTS ${name}`);
}

/**
 * The kinds of stored intervals, each with its table, the column of its value, and the column of the value
 * of the interval before it (null: no such column). A kind is also the name of the definition's file.
 */
export const INTERVALS = {
  status: { table: 'status_spans', value: 'status', before: 'status_before' },
  assignee: { table: 'assignee_spans', value: 'assignee_id', before: null },
  tag: { table: 'tag_spans', value: 'tag_id', before: null },
} as const;
export type IntervalKind = keyof typeof INTERVALS;
export const INTERVAL_KINDS = Object.keys(INTERVALS) as IntervalKind[];

/** A condition on conversations; its arguments are the columns of the inbox's and the conversation's ids. */
export type Scope = (inboxId: string, id: string) => string;

/**
 * The definition of the stored intervals: a query that computes them from `changes`, for the conversations
 * within `scope`. Its columns are those of the table without `id`, and `by_sweep`: true if `from_earliest`
 * comes from `sweeps`, which housekeeping deletes.
 */
export function intervalsSql(dialect: Dialect, kind: IntervalKind, scope: Scope): string {
  return definition(dialect, join('intervals', kind), scope);
}

/** The tables of the stored sums of days. The key of each is `day` with the columns `key`. */
export const DAY_SUMS = {
  statuses: { table: 'day_statuses', key: ['inbox_id', 'status'], sum: 'difference' },
  moves: { table: 'day_moves', key: ['inbox_id', 'field', 'old_value', 'new_value'], sum: 'moves' },
} as const;
export type DaySumKind = keyof typeof DAY_SUMS;
export const DAY_SUM_KINDS = Object.keys(DAY_SUMS) as DaySumKind[];

/**
 * The definition of the stored sums: a query that computes them from the intervals and `changes`, for the
 * `counted_days` that start from `$1` to `$2`. Its columns are those of the table.
 */
export function daySumsSql(dialect: Dialect, kind: DaySumKind): string {
  return definition(dialect, join('days', kind));
}

/** The SQL of a definition's file without its lines of comment. */
function definition(dialect: Dialect, name: string, scope?: Scope): string {
  const sql = readSql(dialect, name).replaceAll(/^ *--.*\n/gm, '');
  return expand(sql, dialect, null, scope);
}

/** The statements that create the indexes and the views, in order. `now` is null for the database's clock. */
function viewStatements(dialect: Dialect, now: string | null): string[] {
  const indexes = readSql(dialect, 'indexes')
    .replaceAll(/^--.*$/gm, '')
    .trim()
    .split(/\s*;\s*/)
    .filter((statement) => statement !== '');
  return [...indexes, ...VIEW_NAMES.map((name) => expand(readSql(dialect, name), dialect, now))];
}

/**
 * The SQL of `name`: the provider's file if it exists, else the common one. Each `PART(name, a, b)` is
 * replaced by the file `parts/name`, found in the same way, with `a` for its `$1` and `b` for its `$2`.
 */
function readSql(dialect: Dialect, name: string): string {
  const specific = join(FOLDER, dialect.provider, `${name}.sql`);
  const sql = readFileSync(existsSync(specific) ? specific : join(FOLDER, 'common', `${name}.sql`), 'utf8');
  return sql.replaceAll(/\bPART\((\w+(?:, \w+)*)\)/g, (_part, list: string) => {
    const [part = '', ...values] = list.split(', ');
    const text = readSql(dialect, join('parts', part)).trimEnd();
    return text.replaceAll(/\$(\d)/g, (_word, nth: string) => values[Number(nth) - 1] ?? '');
  });
}

/**
 * Expands the words in capitals of the views' files: expressions that differ between databases, and some that
 * all views share (docs/decisions/0013).
 */
function expand(sql: string, dialect: Dialect, now: string | null, scope: Scope = () => 'TRUE'): string {
  const { millisecondsBetween, instantAgo, readBy, lowered } = dialect;
  return (
    sql
      .replaceAll(/\bFIRST_VALUES\((\w+)\)/g, (_call, list: ListName) => firstValuesSql(dialect, list))
      .replaceAll(/\bMEANING_OF\(([\w.]+)\)/g, (_call, status: string) => meaningSql(status))
      .replaceAll(/\bIS_FINAL\(([\w.]+)\)/g, (_call, status: string) =>
        isListedSql(dialect, status, 'final_statuses', FINAL_STATUSES),
      )
      .replaceAll(/\bIS_WAITING\(([\w.]+)\)/g, (_call, status: string) =>
        isListedSql(dialect, status, 'waiting_statuses', WAITING_STATUSES),
      )
      .replaceAll(/\bLOWERED\(([\w.]+)\)/g, (_call, status: string) =>
        lowered(`coalesce(${status}, '${NO_STATUS}')`),
      )
      .replaceAll(/\bOFFICE_UNTIL\(([\w.]+)\)/g, (_call, instant: string) => officeSql(instant))
      .replaceAll(/\bIN_SCOPE\(([\w.]+), ([\w.]+)\)/g, (_call, inboxId: string, id: string) =>
        scope(inboxId, id),
      )
      .replaceAll(/\bSTATUS_OF\(([\w.]+)\)/g, (_call, status: string) => statusSql(status))
      .replaceAll(/\bNAME_OF\((\w+)\)/g, (_call, users: string) => nameSql(users))
      // An empty text stands for no id: in SQL, null does not equal null.
      .replaceAll(/\bID_OF\(([\w.]+)\)/g, (_call, id: string) => `coalesce(${id}, '')`)
      .replaceAll(/\bNOTHING_OF\(([\w.]+)\)/g, `''`)
      .replaceAll(
        /\bMILLISECONDS_BETWEEN\(([\w.]+), ([\w.]+|NOW\(\))\)/g,
        (_call, from: string, to: string) => `CAST(${millisecondsBetween(from, to)} AS BIGINT)`,
      )
      .replaceAll(/\b(FIRST|LAST)_OF\((\w+), (\w+)\)/g, (_call, end: string, value: string, at: string) =>
        end === 'FIRST' ? dialect.firstOf(value, at) : dialect.lastOf(value, at),
      )
      .replaceAll(/\bDAY_OF\((\w+)\)/g, (_call, instant: string) =>
        dialect.dayOf(instant, instantAgo(0, now)),
      )
      .replaceAll(/\bREAD_BY\((\w+)\)/g, (_call, index: string) => readBy(index))
      .replaceAll(/\bSECONDS_AGO\((\d+)\)/g, (_call, seconds: string) => instantAgo(Number(seconds), now))
      .replaceAll('NOW()', instantAgo(0, now))
  );
}

/** An expression: the name of a status in views and intervals, as `statusName` gives it. */
export function statusSql(status: string): string {
  const words = CLOSED_WORDS.map((word) => `'${word}'`).join(', ');
  return `(CASE WHEN ${status} IN (${words}) THEN '${CLOSED}' ELSE coalesce(${status}, '${NO_STATUS}') END)`;
}

/** A condition as in the views: FINAL_STATUSES lists the status. @param status a column */
export function isFinalSql(dialect: Dialect, status: string): string {
  return expand(`IS_FINAL(${status})`, dialect, null);
}

/** An expression: what a status means, by the settings FINAL_STATUSES and WAITING_STATUSES. */
function meaningSql(status: string): string {
  return `(CASE WHEN IS_FINAL(${status}) THEN 'final' WHEN IS_WAITING(${status}) THEN 'waiting'
    WHEN LOWERED(${status}) = 'open' THEN 'open' ELSE 'other' END)`;
}

/** A condition: a row of `settings`, or the default if it is missing, lists the status. */
function isListedSql(dialect: Dialect, status: string, name: string, usual: readonly string[]): string {
  const stored = `(SELECT settings.value FROM settings WHERE settings.name = '${name}')`;
  const list = `coalesce(${stored}, '${JSON.stringify(usual)}')`;
  return `(LOWERED(${status}) IN (SELECT value FROM ${dialect.texts(list, 'listed')}))`;
}

/** An expression: the office hours from the first stored ones to an instant, in ms. */
function officeSql(instant: string): string {
  return `coalesce((SELECT CASE
      WHEN ${instant} >= office.ends_at THEN CAST(office.after_seconds AS BIGINT) * 1000
      ELSE CAST(office.before_seconds AS BIGINT) * 1000 + MILLISECONDS_BETWEEN(office.starts_at, ${instant})
      END
    FROM office_hours AS office WHERE office.starts_at <= ${instant}
    ORDER BY office.starts_at DESC LIMIT 1), 0)`;
}

/** An expression: what a row of `inbox_users` is called; null for a user whom the mirror has not seen. */
function nameSql(users: string): string {
  const name = `coalesce(${users}.first_name, '') || ' ' || coalesce(${users}.last_name, '')`;
  return `coalesce(nullif(trim(${name}), ''), ${users}.email)`;
}
