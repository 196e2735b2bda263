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
