import type { CatalogueColumn, CatalogueEntry, Join, ValueKind } from '../../src/database/columns.ts';
import { describeColumn } from '../../src/database/columns.ts';

const HEAD = '# Made from the catalogue by `UPDATE_DOCS=1` (CONTRIBUTING.md). Do not edit.\n';

/** Types of PostgreSQL. */
const TYPES: Readonly<Record<ValueKind, string>> = {
  text: 'text',
  integer: 'bigint',
  number: 'double precision',
  boolean: 'boolean',
  instant: 'timestamptz',
  day: 'date',
  json: 'jsonb',
};

/** Words of SQL, which dbt must quote. */
const KEYWORDS: ReadonlySet<string> = new Set(['limit', 'left']);

/** deploy/dbt/models/inbox_mirror.yml: every table and view as a source, with descriptions and tests. */
export function dbtSources(catalogue: readonly CatalogueEntry[]): string {
  const lines = [
    'version: 2',
    'sources:',
    '  - name: inbox_mirror',
    '    description: "A SQL copy of a shared-mailbox service, with its history."',
    `    schema: "{{ var('inbox_mirror_schema', 'public') }}"`,
    '    tables:',
    ...catalogue.flatMap((entry) => [
      `      - name: ${entry.name}`,
      `        description: ${JSON.stringify(entry.sentence)}`,
      ...uniqueTogether(entry.key),
      '        columns:',
      ...entry.columns.flatMap((column) => dbtColumn(entry, column)),
    ]),
  ];
  return `${HEAD}${lines.join('\n')}\n`;
}

function uniqueTogether(key: readonly string[]): string[] {
  if (key.length < 2) return [];
  const test = ['        data_tests:', '          - unique_together:', '              arguments:'];
  return [...test, `                columns: [${key.join(', ')}]`];
}

function dbtColumn(entry: CatalogueEntry, column: CatalogueColumn): string[] {
  const isKey = entry.key.length === 1 && entry.key[0] === column.name;
  const join = entry.joins.find((one) => one.isCertain && one.columns.at(-1) === column.name);
  const tests = [
    ...(column.isOptional ? [] : ['- not_null']),
    ...(isKey ? ['- unique'] : []),
    ...(join === undefined ? [] : relationship(join)),
  ];
  return [
    `          - name: ${column.name}`,
    `            description: ${JSON.stringify(describeColumn(entry, column))}`,
    `            data_type: ${TYPES[column.kind]}`,
    ...(KEYWORDS.has(column.name) ? ['            quote: true'] : []),
    ...(tests.length === 0
      ? []
      : ['            data_tests:', ...tests.map((test) => `              ${test}`)]),
  ];
}

function relationship({ table, to }: Join): string[] {
  return [
    '- relationships:',
    '    arguments:',
    `      to: source('inbox_mirror', '${table}')`,
    `      field: ${to.at(-1)}`,
  ];
}

/** A question of the cookbook. */
export interface Question {
  readonly title: string;
  readonly sql: string;
}

/** Tables that only the program needs: Datasette lists them last. */
const OWN: ReadonlySet<string> = new Set(
  (
    'status_spans assignee_spans tag_spans epochs sweep_pages bookmarks bookmark_lists rates rejects leases ' +
    'sync_requests webhooks gate_state settings report_days counted_days day_statuses day_moves ' +
    'day_assignees day_turns day_tags day_taggings report_offsets office_hours schedule_slots'
  ).split(' '),
);

/** deploy/datasette/metadata.json: descriptions, and the questions of the cookbook. */
export function datasetteMetadata(
  catalogue: readonly CatalogueEntry[],
  questions: readonly Question[],
): string {
  const tables = catalogue.map((entry) => [
    entry.name,
    {
      description: entry.sentence,
      columns: Object.fromEntries(
        entry.columns.map((column) => [column.name, describeColumn(entry, column)]),
      ),
      ...(OWN.has(entry.name) ? { hidden: true } : {}),
      ...LOOKS[entry.name],
    },
  ]);
  const queries = questions.map(({ title, sql }) => [
    title.toLowerCase().replaceAll(/\W+/g, '-').replace(/-$/, ''),
    { title, sql: sql.trim() },
  ]);
  const metadata = {
    title: 'inbox-mirror',
    databases: {
      mirror: {
        tables: {
          ...Object.fromEntries(tables),
          _prisma_migrations: { hidden: true },
          sqlite_sequence: { hidden: true },
        },
        queries: Object.fromEntries(queries),
      },
    },
  };
  return `${JSON.stringify(metadata, null, 2)}\n`;
}

/** How Datasette shows some tables and views. */
const LOOKS: Readonly<Record<string, object>> = {
  inboxes: { label_column: 'display_name' },
  inbox_tags: { label_column: 'name' },
  conversations: { facets: ['inbox_id', 'status'], sort_desc: 'changed_at' },
  changes: { facets: ['list', 'field'], sort_desc: 'id' },
  requests: { sort_desc: 'id' },
  sweeps: { sort_desc: 'id' },
};
