import { isMirrorError } from '../../core/errors.ts';
import type { Cell, ReadOnlyMirror } from '../result.ts';

/** Reads all rows of a statement with `$1` parameters as objects. The statement limits its rows itself. */
export async function readRows<Row>(
  mirror: Pick<ReadOnlyMirror, 'query'>,
  sql: string,
  ...values: readonly Cell[]
): Promise<Row[]> {
  const { columns, rows } = await mirror.query(sql, values);
  const found: Row[] = [];
  for await (const cells of rows)
    found.push(Object.fromEntries(columns.map(({ name }, index) => [name, cells[index]])) as Row);
  return found;
}

/** A column of a table or view (`Dialect.allColumns`). */
export interface ColumnRow {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly column_name: string;
  readonly type: string;
}

/** The columns of all tables and views. A view of a person's own that cannot be read is left out. */
export async function readColumns(
  mirror: Pick<ReadOnlyMirror, 'query' | 'dialect'>,
): Promise<readonly ColumnRow[]> {
  const columns = await readRows<ColumnRow>(mirror, mirror.dialect.allColumns);
  const { ownViews } = mirror.dialect;
  if (ownViews === null) return columns;
  for (const { name } of await readRows<{ name: string }>(mirror, ownViews.names))
    columns.push(...(await readRows<ColumnRow>(mirror, ownViews.columns, name).catch(ofBrokenView)));
  return columns;
}

function ofBrokenView(error: unknown): ColumnRow[] {
  if (isMirrorError(error, 'USAGE')) return [];
  throw error;
}
