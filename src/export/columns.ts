import { MirrorError } from '../core/errors.ts';
import type { RelationColumn, ValueKind } from '../query/reads/relation.ts';
import type { Cell } from '../query/result.ts';

/** A column of a file. */
export interface FileColumn {
  readonly name: string;
  readonly kind: ValueKind;
}

/**
 * The columns of a file. A column of a person's own table or view has no known kind: it is a number or a
 * boolean if all values among the first rows are, otherwise text.
 */
export function fileColumns(columns: readonly RelationColumn[], first: readonly Cell[][]): FileColumn[] {
  return columns.map(({ name, kind }, index) => ({
    name,
    kind: kind ?? kindOf(first.map((row) => row[index] ?? null)),
  }));
}

function kindOf(cells: readonly Cell[]): ValueKind {
  const present = cells.filter((cell) => cell !== null);
  if (present.length === 0) return 'text';
  if (present.every((cell) => typeof cell === 'number')) return 'number';
  return present.every((cell) => typeof cell === 'boolean') ? 'boolean' : 'text';
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
