import { TABLE_SENTENCES, VIEW_NAMES, VIEW_SENTENCES } from '../database/catalogue.ts';
import { openReadOnly } from './open.ts';
import type { ReadOnlyMirror } from './result.ts';
import { nameOf, tokensOf } from './tokens.ts';

export interface TableDescription {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly description: string;
  readonly columns: readonly string[];
  /** The type of each column in the database; empty for an expression of a view on SQLite. */
  readonly types: readonly string[];
}

/** Views of the program's own work, which a first copy does not make wrong. */
const OWN_VIEWS: ReadonlySet<string> = new Set(['freshness', 'budget', 'reads']);

/** The tables and views whose rows were copied from the service, or follow from them. */
const COPIED: ReadonlySet<string> = new Set([
  'inboxes',
  'inbox_users',
  'inbox_tags',
  'conversations',
  'conversation_tags',
  'changes',
  ...VIEW_NAMES.filter((name) => !OWN_VIEWS.has(name)),
]);

/** True if a statement names a table or view of what was copied. */
export function readsCopied(sql: string): boolean {
  return tokensOf(sql).some((token) => COPIED.has(nameOf(token)));
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
      columns: (columns.get(name) ?? []).map((column) => column.name),
      types: (columns.get(name) ?? []).map(({ type }) => type),
    }));
}
