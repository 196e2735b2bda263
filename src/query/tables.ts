import { describeColumn, type Join, readCatalogue } from '../database/columns.ts';
import { openReadOnly } from './open.ts';
import type { ReadOnlyMirror } from './result.ts';

export interface TableDescription {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly description: string;
  readonly columns: readonly string[];
  /** The type of each column in the database; empty for an expression of a person's view on SQLite. */
  readonly types: readonly string[];
  /** The meaning of each column; empty for a table or view that is not the mirror's. */
  readonly meanings: readonly string[];
  /** The columns that identify a row. */
  readonly key: readonly string[];
  readonly joins: readonly Pick<Join, 'columns' | 'table' | 'to'>[];
}

/** All tables and views in the order of their sentences, then those that are not the mirror's. */
export async function describe(url: string): Promise<TableDescription[]> {
  const mirror = await openReadOnly(url);
  try {
    return await describeIn(mirror);
  } finally {
    await mirror.close();
  }
}

/** The same, over an open connection. */
export async function describeIn(mirror: ReadOnlyMirror): Promise<TableDescription[]> {
  const columns = new Map<string, { name: string; type: string }[]>();
  const kinds = new Map<string, TableDescription['kind']>();
  const { rows } = await mirror.query(mirror.dialect.allColumns);
  for await (const [name, kind, column, type] of rows) {
    kinds.set(String(name), kind === 'view' ? 'view' : 'table');
    const known = columns.get(String(name)) ?? [];
    columns.set(String(name), [...known, { name: String(column), type: String(type).toLowerCase() }]);
  }
  const known = new Map(readCatalogue(mirror.dialect).map((entry) => [entry.name, entry]));
  const others = [...columns.keys()].filter((name) => !known.has(name) && !/^(sqlite_|_prisma_)/.test(name));
  return [...known.keys(), ...others]
    .filter((name) => columns.has(name))
    .map((name) => {
      const entry = known.get(name);
      const found = columns.get(name) ?? [];
      return {
        name,
        kind: kinds.get(name) ?? 'table',
        description: entry?.sentence ?? '',
        columns: found.map((column) => column.name),
        types: found.map(({ type }) => type),
        meanings: found.map((column) => {
          const described = entry?.columns.find((one) => one.name === column.name);
          return entry === undefined || described === undefined ? '' : describeColumn(entry, described);
        }),
        key: entry?.key ?? [],
        joins: (entry?.joins ?? []).map(({ columns: from, table, to }) => ({ columns: from, table, to })),
      };
    });
}
