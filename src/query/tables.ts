import { LIST_NAMES, type ListName } from '../core/lists.ts';
import { describeColumn, type Join, readCatalogue } from '../database/columns.ts';
import { VIEW_NAMES } from '../database/catalogue.ts';
import { openReadOnly, sqliteFile } from './open.ts';
import { readColumns } from './reads/rows.ts';
import type { ReadOnlyMirror } from './result.ts';
import { nameOf, tokensOf } from './tokens.ts';

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
  'status_spans',
  'assignee_spans',
  'tag_spans',
  ...VIEW_NAMES.filter((name) => !OWN_VIEWS.has(name)),
]);

/** True if a statement names a table or view of what was copied. */
export function readsCopied(sql: string): boolean {
  return tokensOf(sql).some((token) => COPIED.has(nameOf(token)));
}

/** The lists from which each table and view is made. Those that are not named here count as made from all. */
const MADE_FROM: Readonly<Record<string, readonly ListName[]>> = {
  inboxes: ['inboxes'],
  inbox_changes: ['inboxes'],
  inbox_users: ['users'],
  user_changes: ['users'],
  inbox_tags: ['tags'],
  tag_changes: ['tags'],
  tag_volume: ['tags', 'conversations'],
  tag_daily: ['tags', 'conversations'],
  assignee_workload: ['users', 'conversations'],
  assignee_daily: ['users', 'conversations'],
  ...Object.fromEntries(
    `conversations conversation_tags conversation_changes backlog_now unassigned_age status_intervals
      assignee_intervals time_in_status backlog_daily flow_daily reopens assignments arrivals_hourly
      status_times milestone_times`
      .split(/\s+/)
      .map((name) => [name, ['conversations'] as const]),
  ),
};

/** The kinds of lists that a statement reads; all of them if it names no known table or one of all lists. */
export function listsOf(sql: string, tables: ReadonlySet<string> = COPIED): readonly ListName[] {
  const named = new Set(tokensOf(sql).map((token) => nameOf(token)));
  const read = [...named].filter((name) => tables.has(name));
  if (read.length === 0 || read.some((name) => !(name in MADE_FROM))) return LIST_NAMES;
  return LIST_NAMES.filter((list) => read.some((name) => MADE_FROM[name]?.includes(list)));
}

/**
 * True if a statement for SQLite seems to compare instants of the mirror with `datetime('now', …)` or
 * `CURRENT_TIMESTAMP`. These texts have a space where an instant has a `T`, so that each instant of today
 * seems later. A statement that also reads columns by `datetime` compares alike texts.
 */
export function comparesUnlikeInstants(url: string, sql: string): boolean {
  if (sqliteFile(url) === null) return false;
  const names = tokensOf(sql).map(nameOf);
  const calls = names.flatMap((name, at) =>
    name === 'datetime' && names[at + 1] === '(' ? names[at + 2] : [],
  );
  const isComparing = names.some((name) => ['<', '<=', '>', '>=', 'between'].includes(name));
  const readsNow = calls.includes('now') || names.includes('current_timestamp');
  return isComparing && readsNow && calls.every((argument) => argument === 'now');
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
  for (const { name, kind, column_name: column, type } of await readColumns(mirror)) {
    kinds.set(name, kind);
    columns.set(name, [...(columns.get(name) ?? []), { name: column, type: type.toLowerCase() }]);
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
