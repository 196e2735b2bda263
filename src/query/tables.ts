import { TABLE_SENTENCES, VIEW_SENTENCES } from '../database/catalogue.ts';
import { openReadOnly } from './open.ts';
import type { ReadOnlyMirror } from './result.ts';

export interface TableDescription {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly description: string;
  readonly columns: readonly string[];
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
  const columns = new Map<string, string[]>();
  const kinds = new Map<string, TableDescription['kind']>();
  const { rows } = await mirror.query(mirror.dialect.allColumns);
  for await (const [name, kind, column] of rows) {
    kinds.set(String(name), kind === 'view' ? 'view' : 'table');
    columns.set(String(name), [...(columns.get(String(name)) ?? []), String(column)]);
  }
  const sentences = { ...TABLE_SENTENCES, ...VIEW_SENTENCES };
  const others = [...columns.keys()].filter(
    (name) => !(name in sentences) && !/^(sqlite_|_prisma_)/.test(name),
  );
  return [...Object.keys(sentences), ...others]
    .filter((name) => columns.has(name))
    .map((name) => ({
      name,
      kind: kinds.get(name) ?? 'table',
      description: sentences[name] ?? '',
      columns: columns.get(name) ?? [],
    }));
}
