import { MirrorError } from '../core/errors.ts';
import { excerptOf } from './excerpt.ts';
import { nearest } from './nearest.ts';
import { nameOf, tokensOf } from './tokens.ts';

/** Where the mirror should lie there is none. */
export function noMirrorYet(name: string): MirrorError {
  return new MirrorError(
    'USAGE',
    `There is no mirror at ${name} yet. \`inbox-mirror sync\` makes one; DATABASE_URL says where it lies.`,
  );
}

/** A statement that only does something. */
export function noRows(): MirrorError {
  return new MirrorError(
    'USAGE',
    'This statement gives no rows, and the mirror is read-only here. Use SELECT.',
  );
}

export function readOnlyHere(cause: unknown): MirrorError {
  return new MirrorError(
    'USAGE',
    'The mirror is read-only here, so that a query cannot harm it. Use SELECT.',
    { cause },
  );
}

export function severalStatements(cause: unknown): MirrorError {
  return new MirrorError('USAGE', 'There is more than one statement here. Ask one at a time.', { cause });
}

/** @throws MirrorError `USAGE` where the text holds nothing to run */
export function refuseEmpty(sql: string): void {
  if (tokensOf(sql).every(({ text }) => text === ';'))
    throw new MirrorError(
      'USAGE',
      sql.trim() === ''
        ? 'There is no SQL here: the text is empty.'
        : 'There is no SQL here: the text has no statement, only comments.',
    );
}

/** What a database says of wrong SQL. */
export interface SqlFault {
  /** Its words. */
  readonly said: string;
  /** Where in the text, in UTF-16 units; null: not known. */
  readonly at: number | null;
  /** What to try, as a sentence. */
  readonly hint: string | null;
  readonly cause: unknown;
}

/** Wrong SQL as a sentence, the place that it points at and what to try. */
export function wrongSql(sql: string, { said, at, hint, cause }: SqlFault): MirrorError {
  const lines = [`The SQL cannot be run: ${said}.`];
  if (at !== null) lines.push(excerptOf(sql, at));
  if (hint !== null) lines.push(hint);
  return new MirrorError('USAGE', lines.join('\n'), { cause });
}

/** A column of a table or a view: the first three of `Dialect.allColumns`. */
export type NamedColumn = readonly [table: unknown, kind: unknown, column: unknown];

/** Names that are near to one that is not there, as a sentence. Columns are sought in the tables that the SQL names, if it names any. */
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
  const near = nearest(
    bare,
    (among.length === 0 ? columns : among).map(([table, , column]) =>
      String(kind === 'table' ? table : column),
    ),
  );
  if (near.length === 0) return 'See `inbox-mirror tables` for what there is to ask.';
  return `Perhaps you meant ${near.map((one) => `"${one}"`).join(' or ')}.`;
}
