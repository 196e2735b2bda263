import { MirrorError } from '../core/errors.ts';
import type { RelationColumn, ValueKind } from '../query/reads/relation.ts';
import type { Cell } from '../query/result.ts';

/** A column of a file. */
export interface FileColumn {
  readonly name: string;
  readonly kind: ValueKind;
}

/** The kind of a column by that of its first values. A later row may hold a fraction, or another text. */
const GUESSED: Partial<Record<ValueKind, ValueKind>> = {
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
};

/**
 * The columns of a file. A column of a person's own table or view has no known kind: it is a number or a
 * boolean if all values among the first rows are, otherwise text.
 */
export function fileColumns(columns: readonly RelationColumn[], first: readonly Cell[][]): FileColumn[] {
  return columns.map(({ name, kind }, index) => {
    if (kind !== null) return { name, kind };
    return { name, kind: GUESSED[kindOf(first.map((row) => row[index] ?? null))] ?? 'text' };
  });
}

/** The forms of a text that is an instant in UTC, and of one that is a day. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|\+00:00)$/;
const DAY = /^\d{4}-\d\d-\d\d$/;

/** The kind that all these values have; text if there is none. */
export function kindOf(cells: readonly Cell[]): ValueKind {
  const present = cells.filter((cell) => cell !== null);
  if (present.length === 0) return 'text';
  if (present.every((cell) => typeof cell === 'boolean')) return 'boolean';
  if (present.every((cell) => (typeof cell === 'bigint' ? isInt64(cell) : Number.isSafeInteger(cell))))
    return 'integer';
  if (present.every((cell) => typeof cell === 'number')) return 'number';
  const isDate = (form: RegExp): boolean =>
    present.every((cell) => typeof cell === 'string' && form.test(cell) && !Number.isNaN(Date.parse(cell)));
  return isDate(INSTANT) ? 'instant' : isDate(DAY) ? 'day' : 'text';
}

/** True if the integer fits into 64 bits, the most that a Parquet file holds. */
export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

/** A value that a column of another kind cannot hold. The database lets SQLite users store any. */
export function misfit(table: string, { name, kind }: FileColumn, cell: Cell): MirrorError {
  const what = kind === 'integer' ? 'an integer' : kind === 'instant' ? 'an instant' : `a ${kind}`;
  return new MirrorError(
    'DATABASE',
    `The column ${JSON.stringify(name)} of ${table} should hold ${what}, but a row holds ` +
      `${JSON.stringify(String(cell).slice(0, 60))}. No file was replaced; correct the row, or export a ` +
      'view that casts the column to text.',
  );
}
