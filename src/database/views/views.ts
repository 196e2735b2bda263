import { createHash } from 'node:crypto';
import { VIEW_NAMES } from '../catalogue.ts';
import { catalogueText, readCatalogue, VALUE_KINDS, valueKinds } from '../columns.ts';
import type { Database, Sql } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import { viewStatements } from './definitions.ts';

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
  if ((await readCreated(database))?.hash === hashOf(database.dialect)) return;
  await database.transaction((tx) => makeViews(tx, database.dialect));
}

/** As {@link ensureViews}, in a transaction that the caller has begun. */
export async function makeViews(tx: Sql, dialect: Dialect): Promise<void> {
  const hash = hashOf(dialect);
  // Two processes may start at once: the second waits at this write, then finds the views up to date.
  await tx.execute(
    `INSERT INTO settings (name, value) VALUES ($1, 'null') ON CONFLICT (name) DO NOTHING`,
    SETTING,
  );
  await tx.execute(`UPDATE settings SET value = value WHERE name = $1`, SETTING);
  const before = await readCreated(tx);
  if (before?.hash === hash) return;
  await drop(tx, before?.names ?? []);
  await create(tx, dialect, viewStatements(dialect, null));
  const comments = dialect.comments?.(readCatalogue(dialect));
  if (comments !== undefined) await tx.execute(comments);
  await recordCreated(tx, { hash, names: VIEW_NAMES });
}

/**
 * Drops the views, so that a migration can rebuild the tables that they read. {@link makeViews} creates them
 * again.
 */
export async function dropViews(tx: Sql): Promise<void> {
  // As in `makeViews`: a process that replaces the views is waited for here, before their names are read.
  await tx.execute(`UPDATE settings SET value = value WHERE name = $1`, SETTING);
  await drop(tx, (await readCreated(tx))?.names ?? []);
  await tx.execute(`DELETE FROM settings WHERE name = $1`, SETTING);
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
