import leven from 'leven';
import { MirrorError } from '../core/errors.ts';
import { thousands } from '../core/humanize.ts';
import { readCatalogue } from '../database/columns.ts';
import type { Dialect } from '../database/dialect.ts';
import { shippedMigrations } from '../database/migrations/shipped.ts';
import { excerptOf } from './excerpt.ts';
import { nearest } from './nearest.ts';
import { nameOf, tokensOf } from './tokens.ts';

export function noMirrorYet(name: string): MirrorError {
  return new MirrorError(
    'USAGE',
    `There is no mirror at ${name} yet. Run \`inbox-mirror sync\` to create it (before that ` +
      '`inbox-mirror init`, if no address and key are set), or correct DATABASE_URL.',
  );
}

/** The statement returns no rows (INSERT, CREATE, …). */
export function noRows(): MirrorError {
  return new MirrorError(
    'USAGE',
    'This statement returns no rows, and the mirror is read-only here. Use SELECT.',
  );
}

export function readOnlyHere(cause: unknown): MirrorError {
  return new MirrorError('USAGE', 'The mirror is read-only here: a query cannot change it. Use SELECT.', {
    cause,
  });
}

export function severalStatements(cause: unknown): MirrorError {
  return new MirrorError('USAGE', 'There is more than one statement here. Run one at a time.', { cause });
}

/** @throws MirrorError `USAGE` if the text holds no statement, or a NUL: a database ends the text there */
export function refuseNoStatement(sql: string): void {
  if (sql.includes('\0'))
    throw new MirrorError(
      'USAGE',
      'The SQL has a NUL character, and the database would ignore what follows it. Remove it.',
    );
  if (tokensOf(sql).every(({ text }) => text === ';'))
    throw new MirrorError(
      'USAGE',
      sql.trim() === ''
        ? 'There is no SQL here: the text is empty.'
        : 'There is no SQL here: the text has no statement, only comments.',
    );
}

/** @param length of the row, in `unit` like `most` */
export function rowTooLong(length: number, most: number, unit = 'characters'): MirrorError {
  return new MirrorError(
    'USAGE',
    `A row of the answer has ${thousands(length)} ${unit}, and at most ${thousands(most)} are allowed ` +
      'here. Ask for fewer columns, or for substr(…) of the long one.',
  );
}

/**
 * The server's error or notice repeats a long value.
 * @param length of the message, in bytes like `most`
 */
export function messageTooLong(length: number, most: number): MirrorError {
  return new MirrorError(
    'USAGE',
    `The database answered with an error or a notice of ${thousands(length)} bytes, and at most ` +
      `${thousands(most)} are allowed here. It repeats a value of the statement: ` +
      'use substr(…) of the long one.',
  );
}

/** A database's report of wrong SQL. */
export interface SqlFault {
  /** The database's message. */
  readonly message: string;
  /** The place in the text, in UTF-16 units; null: unknown. */
  readonly at: number | null;
  /** A sentence that suggests a correction. */
  readonly hint: string | null;
  readonly cause: unknown;
}

/** An error whose message has the database's message, an excerpt with a caret, and the hint. */
export function wrongSql(sql: string, { message, at, hint, cause }: SqlFault): MirrorError {
  const lines = [`The SQL cannot be run: ${message}${message.endsWith('?') ? '' : '.'}`];
  if (at !== null) lines.push(excerptOf(sql, at));
  if (hint !== null) lines.push(hint);
  return new MirrorError('USAGE', lines.join('\n'), { cause });
}

/** A mirror that is open for reading. */
interface OpenedMirror {
  readonly dialect: Dialect;
  /** For messages: the file, or the address without its password. */
  readonly name: string;
  /** The names of the migrations that it has. */
  readonly applied: readonly string[];
}

/** A table or a column that a statement names and that the mirror lacks. */
export interface Missing {
  readonly kind: 'table' | 'column';
  readonly name: string;
}

/**
 * The error for a table, a view or a column that this version has and an older mirror lacks. Null for a name
 * that this version does not have either, and for a mirror of this version.
 */
export function olderMirror(
  { dialect, name: mirror, applied }: OpenedMirror,
  { kind, name }: Missing,
  sql: string,
): MirrorError | null {
  const isOlder = shippedMigrations(dialect).names.some((migration) => !applied.includes(migration));
  if (applied.length === 0 || !isOlder) return null;
  const [last = name] = name.split('.').slice(-1);
  const bare = nameOf({ text: last, at: 0 });
  const mentioned = new Set(tokensOf(sql).map((token) => nameOf(token)));
  const isKnown = readCatalogue(dialect).some(({ name: table, columns }) =>
    kind === 'table'
      ? table === bare
      : mentioned.has(table) && columns.some(({ name: column }) => column === bare),
  );
  if (!isKnown) return null;
  return new MirrorError(
    'USAGE',
    `The mirror ${mirror} was made by an older inbox-mirror: it has no ${kind} "${bare}" yet. ` +
      'Back it up, then run `inbox-mirror status` of this version once, which migrates it.',
  );
}

/** A row of `Dialect.allColumns`. */
export type NamedColumn = readonly [table: unknown, kind: unknown, column: unknown, type?: unknown];

/** The hint if no name is near. Where people have no command line, other words stand in its place. */
export const SEE_TABLES = 'See `inbox-mirror tables` for the tables and their columns.';

/**
 * A sentence that suggests the names nearest to one that does not exist. Columns are searched in the tables
 * that the SQL names, or in all tables if it names none. If nothing is near, it lists the columns of the only
 * table that the SQL names.
 */
export function hintOf(
  kind: 'table' | 'column',
  name: string,
  sql: string,
  columns: readonly NamedColumn[],
): string {
  const [last = name] = name.split('.').slice(-1);
  const bare = nameOf({ text: last, at: 0 });
  const mentioned = new Set(tokensOf(sql).map((token) => nameOf(token)));
  const among = columns.filter(([table]) => kind === 'table' || mentioned.has(String(table).toLowerCase()));
  const candidates = (among.length === 0 ? columns : among).map(([table, , column]) =>
    String(kind === 'table' ? table : column),
  );
  const ending = kind === 'table' ? candidates.filter((one) => one.endsWith(`_${bare}`)) : [];
  const similar = [...new Set([...ending, ...nearest(bare, candidates)])];
  const near = similar.length > 0 || kind === 'column' ? similar : beginningWith(bare, candidates);
  // Only names have double quotes in SQL. SQLite's own message says so, PostgreSQL's does not.
  const text = name.replaceAll('"', '');
  if (kind === 'column' && near.length === 0 && sql.includes(`"${text}"`))
    return `A text has single quotes: '${text}'.`;
  if (near.length > 0) return `Perhaps you meant ${near.map((one) => `"${one}"`).join(' or ')}.`;
  const places = kind === 'table' ? [] : placesOf(bare, among, columns);
  if (places.length > 0) return `${places.join('; ')}.`;
  const tables = new Set(among.map(([table]) => String(table)));
  return kind === 'column' && tables.size === 1
    ? `${[...tables].join('')} has the columns ${candidates.join(', ')}.`
    : SEE_TABLES;
}

/** The beginning of a name is also a slip: `backlog` for `backlog_now`. At most 3 names. */
function beginningWith(bare: string, candidates: readonly string[]): string[] {
  return [...new Set(candidates.filter((one) => one.startsWith(`${bare}_`)))].slice(0, 3);
}

/** At most this many tables are named that have a column. */
const MOST_TABLES = 4;

/** `conversations has "id"` and `"conversation_id" is in conversation_tags`, as far as there are such. */
function placesOf(bare: string, among: readonly NamedColumn[], all: readonly NamedColumn[]): string[] {
  const parts = among.flatMap(([table, , column]) => {
    const name = String(column);
    const isPart = bare.endsWith(`_${name}`) || name.startsWith(`${bare}_`) || name.endsWith(`_${bare}`);
    return isPart ? [`${String(table)} has "${name}"`] : [];
  });
  const [from = ''] = among.map(([table]) => String(table));
  const tables = all
    .flatMap(([table, , column]) => (column === bare ? [String(table)] : []))
    .toSorted((a, b) => leven(a, from) - leven(b, from));
  const more = tables.length > MOST_TABLES ? ', …' : '';
  const named = tables.slice(0, MOST_TABLES).join(', ');
  return [...parts, ...(tables.length === 0 ? [] : [`"${bare}" is in ${named}${more}`])];
}
