import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TABLE_SENTENCES, VIEW_SENTENCES } from './catalogue.ts';
import type { Dialect } from './dialect.ts';

/** Two folders up from src/database, and from dist/database. */
const FOLDER = join(import.meta.dirname, '../../prisma');

/** The kinds of values in the columns of the mirror. A `day` is read as a text such as `2026-03-02`. */
export const VALUE_KINDS = ['text', 'integer', 'number', 'boolean', 'instant', 'day', 'json'] as const;
export type ValueKind = (typeof VALUE_KINDS)[number];

const KINDS: Readonly<Record<string, ValueKind>> = {
  String: 'text',
  Int: 'integer',
  Float: 'number',
  Boolean: 'boolean',
  DateTime: 'instant',
  Json: 'json',
};

/** A table or a view of the mirror. */
export interface CatalogueEntry {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly sentence: string;
  readonly columns: readonly CatalogueColumn[];
  /** The columns that identify a row; none if no columns without nulls do. */
  readonly key: readonly string[];
  readonly joins: readonly Join[];
}

export interface CatalogueColumn {
  readonly name: string;
  readonly kind: ValueKind;
  readonly isOptional: boolean;
  /** Half a sentence, with names between backticks. */
  readonly meaning: string;
}

/** Columns that name a row of another table. The databases have no foreign keys. */
export interface Join {
  readonly columns: readonly string[];
  readonly table: string;
  readonly to: readonly string[];
  /** False if the mirror may lack the other row. */
  readonly isCertain: boolean;
}

/** The table that columns of these names lead to, and the names of its columns in their order. */
const JOINS: readonly (Omit<Join, 'columns'> & { readonly column: RegExp })[] = [
  { column: /^inbox_id$/, table: 'inboxes', to: ['id'], isCertain: true },
  { column: /^conversation_id$/, table: 'conversations', to: ['inbox_id', 'id'], isCertain: true },
  { column: /^tag_id$/, table: 'inbox_tags', to: ['inbox_id', 'id'], isCertain: false },
  {
    column: /^user_id$|assignee_(at_close_)?id$/,
    table: 'inbox_users',
    to: ['inbox_id', 'id'],
    isCertain: false,
  },
  { column: /^sweep_id$/, table: 'sweeps', to: ['id'], isCertain: false },
  { column: /^day$/, table: 'report_days', to: ['day'], isCertain: true },
];

/** A request may name an inbox that does not exist. */
const MAY_MISNAME: ReadonlySet<string> = new Set(['requests', 'sync_requests']);

/**
 * All tables and views with their columns, from the schema in the package, in the order of their sentences.
 * The lines `///` above a column are its meaning.
 */
export function readCatalogue(dialect: Pick<Dialect, 'provider'>): CatalogueEntry[] {
  const blocks = catalogueText(dialect).matchAll(/^(model|view) (\w+) \{\n([^}]*)^\}/gm);
  const entries = new Map(
    Array.from(blocks, ([, word, name = '', body = '']) => {
      const columns = columnsIn(body);
      const kind = word === 'view' ? ('view' as const) : ('table' as const);
      return [name, { name, kind, columns, key: keyIn(body), joins: joinsOf(name, columns) }];
    }),
  );
  return Object.entries({ ...TABLE_SENTENCES, ...VIEW_SENTENCES }).flatMap(([name, sentence]) => {
    const entry = entries.get(name);
    return entry === undefined ? [] : [{ ...entry, sentence }];
  });
}

/** The text of the catalogue: it differs between two releases that describe the mirror differently. */
export function catalogueText({ provider }: Pick<Dialect, 'provider'>): string {
  return readFileSync(join(FOLDER, provider, 'schema.prisma'), 'utf8');
}

/** The meaning of a column, and the table that it leads to. */
export function describeColumn({ joins }: CatalogueEntry, { name, meaning }: CatalogueColumn): string {
  const leads = joins.find(({ columns }) => columns.at(-1) === name);
  return leads === undefined ? meaning : `${meaning}; joins \`${leads.table}\``;
}

/** The kinds of the columns of each table and view. */
export function valueKinds(dialect: Pick<Dialect, 'provider'>): Map<string, Map<string, ValueKind>> {
  return new Map(
    readCatalogue(dialect).map(({ name, columns }) => [
      name,
      new Map(columns.map((column) => [column.name, column.kind])),
    ]),
  );
}

function columnsIn(body: string): CatalogueColumn[] {
  const fields = body.matchAll(/^((?: {2}\/\/\/ .*\n)*) {2}(\w+) +(\w+)(\??)(?= |$)/gm);
  return Array.from(fields).flatMap(([, comment = '', name = '', type = '', optional]) => {
    const kind = KINDS[type];
    if (kind === undefined) return [];
    const meaning = comment
      .replaceAll(/^ *\/\/\/ /gm, '')
      .trim()
      .replaceAll('\n', ' ');
    // Prisma has no type for a day without a time.
    return [{ name, kind: name === 'day' ? ('day' as const) : kind, isOptional: optional === '?', meaning }];
  });
}

function keyIn(body: string): string[] {
  const several = /^ {2}@@(?:id|unique)\(\[(.*)\]\)/m.exec(body)?.[1];
  if (several !== undefined) return several.split(', ');
  return /^ {2}(\w+) .*@(?:id|unique)\b/m.exec(body)?.slice(1) ?? [];
}

function joinsOf(name: string, columns: readonly CatalogueColumn[]): Join[] {
  const names = new Set(columns.map((column) => column.name));
  return columns.flatMap((column) =>
    JOINS.flatMap(({ column: pattern, table, to, isCertain }) => {
      const from = to.length === 1 ? [column.name] : ['inbox_id', column.name];
      if (!pattern.test(column.name) || table === name || !names.has(from[0] ?? '')) return [];
      return [{ columns: from, table, to, isCertain: isCertain && !MAY_MISNAME.has(name) }];
    }),
  );
}
