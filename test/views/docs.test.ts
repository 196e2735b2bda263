import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderTable } from '../../src/cli/output/table.ts';
import { DAY, HOUR } from '../../src/core/clock.ts';
import { TABLE_SENTENCES, VIEW_NAMES, VIEW_SENTENCES } from '../../src/database/catalogue.ts';
import { readCatalogue } from '../../src/database/columns.ts';
import { iso } from '../../src/database/instants.ts';
import { readExamples } from '../../src/query/figures/examples.ts';
import {
  columnsTable,
  tableSection,
  withJoins,
  withTableSections,
  withViewColumns,
} from '../support/catalogue-docs.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { firstIds, nthInbox } from '../support/rows.ts';
import { syncTwice } from '../support/settle.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';
import { AGENT } from './cookbook/agent.ts';
import { type History, readHistory, type Row } from './cookbook/history.ts';
import { LEAD } from './cookbook/lead.ts';
import { ENGINEER, OPERATOR } from './cookbook/machine.ts';
import { followJoins } from './joins.ts';
import { livelyWeek } from './lively.ts';
import { ask } from './support.ts';
import { askToolQuestions } from './tool-questions.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const sqlDoc = readFileSync(join(DOCS, 'sql.md'), 'utf8');
const tablesDoc = readFileSync(join(DOCS, 'tables.md'), 'utf8');

const catalogue = readCatalogue({ provider: 'sqlite' });

test('the catalogue has every table and view, every column in order, and the meaning of each', async () => {
  const database = await temporaryDatabase(await freshMirrorFile());
  const rows = await database.query<{ name: string; kind: string; column_name: string }>(
    database.dialect.allColumns,
  );
  const found = Map.groupBy(
    rows.filter(({ name }) => !/^(sqlite_|_prisma_)/.test(name)),
    ({ name, kind }) => `${kind} ${name}`,
  );
  const described = catalogue.map(({ kind, name, columns }) => [
    `${kind} ${name}`,
    columns.map((column) => column.name),
  ]);
  expect(Object.fromEntries(described)).toEqual(
    Object.fromEntries([...found].map(([name, of]) => [name, of.map((one) => one.column_name)])),
  );
  for (const { name, columns } of catalogue)
    for (const column of columns)
      expect(column.meaning, `${name}.${column.name}`).toMatch(/^\S.{0,400}[^.]$/);
});

test('docs/sql.md has every view with its sentence, an example and its columns, as the catalogue has them', () => {
  const views = catalogue.filter(({ kind }) => kind === 'view');
  const documented = [...sqlDoc.matchAll(/^### `(\w+)`\n\n(.*)\n\n```sql\n/gm)];
  expect(Object.fromEntries(documented.map(([, name, sentence]) => [name, sentence]))).toEqual(
    VIEW_SENTENCES,
  );
  const written = withViewColumns(sqlDoc, views);
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(join(DOCS, 'sql.md'), written);
  else expect(sqlDoc).toBe(written);
  for (const view of views) expect(written).toContain(columnsTable(view));
});

test('docs/tables.md has every table, its columns and its joins, as the catalogue has them', () => {
  const tables = catalogue.filter(({ kind }) => kind === 'table');
  expect(tables.map(({ name }) => name)).toEqual(Object.keys(TABLE_SENTENCES));
  const written = withJoins(withTableSections(tablesDoc, tables), catalogue);
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(join(DOCS, 'tables.md'), written);
  else expect(tablesDoc).toBe(written);
  for (const table of tables) expect(written).toContain(tableSection(table));
});

test('each relation of the typed client is a join of the catalogue', () => {
  const models = ['models', 'views'].map((file) =>
    readFileSync(join(DOCS, `../prisma/${file}.prisma`), 'utf8'),
  );
  const blocks = [...models.join('').matchAll(/^(?:model|view) (\w+) \{\n([^}]*)^\}/gm)];
  const relations = blocks.flatMap(([, name, body]) =>
    [...body!.matchAll(/ (\w+)\?? +@relation\(fields: \[(.*?)\]/g)].map(([, table, columns]) => ({
      name,
      join: { table, columns: columns!.split(', ') },
    })),
  );
  expect(relations.length).toBeGreaterThan(15);
  for (const relation of relations)
    expect(catalogue.find(({ name }) => name === relation.name)!.joins, relation.name).toContainEqual(
      expect.objectContaining(relation.join),
    );
});

const EXAMPLE = /^### (.*)\n\n(?:(?:[^`\n].*\n)+\n)?```sql\n([\s\S]*?)```\n\n```\n([\s\S]*?)```\n/gm;

test('each of the 26 questions of the cookbook has the answer of a program on the raw rows; those of deploy/ run', async () => {
  const mirror = await livelyWeek();
  expect(await followJoins(mirror.database, catalogue)).toBeGreaterThan(50);
  await askToolQuestions(mirror);
  const history = await readHistory(mirror.database, mirror.clock.now());
  const examples = [...sqlDoc.matchAll(EXAMPLE)];
  const questions = examples.flatMap(([, title]) => (title!.startsWith('`') ? [] : [title!]));
  expect(questions).toHaveLength(26);
  expect(questions).toEqual(Object.keys(ANSWERS));
  expect(examples).toHaveLength(26 + VIEW_NAMES.length);
  const found: Record<string, unknown> = {};
  const evaluated: Record<string, unknown> = {};
  let written = sqlDoc;
  for (const [block, title, sql, answer] of examples) {
    const rows = await ask(mirror, sql!);
    expect(rows.length, title).toBeGreaterThan(0);
    const evaluate = ANSWERS[title!];
    if (evaluate !== undefined) {
      found[title!] = rows.map((row) => Object.values(row).map(plain));
      evaluated[title!] = evaluate(history);
    }
    const got = asTable(withBooleans(rows, sql!));
    // UPDATE_DOCS=1 writes the answers into the document, for review before a commit.
    if (process.env['UPDATE_DOCS'] === '1')
      written = written.replace(block, () =>
        block.replace(`\`\`\`\n${answer}\`\`\`\n`, () => `\`\`\`\n${got}\n\`\`\`\n`),
      );
    else expect(`${title}\n${answer}`).toBe(`${title}\n${got}\n`);
  }
  if (written !== sqlDoc) writeFileSync(join(DOCS, 'sql.md'), written);
  expect(found).toEqual(evaluated);
});

const ANSWERS: Readonly<Record<string, (history: History) => Row[]>> = {
  ...LEAD,
  ...AGENT,
  ...OPERATOR,
  ...ENGINEER,
};

/** An instant as epoch ms, which the programs use. */
function plain(value: unknown): unknown {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*\+00:00$/.test(value) ? Date.parse(value) : value;
}

const BOOLEANS = new Set(
  catalogue.flatMap(({ columns }) =>
    columns.filter(({ kind }) => kind === 'boolean').map(({ name }) => name),
  ),
);

/** The rows as `query` prints them on both databases: SQLite stores a boolean as a number. */
function withBooleans(rows: readonly Record<string, unknown>[], sql: string): Record<string, unknown>[] {
  const isBoolean = (name: string): boolean =>
    BOOLEANS.has(name) || BOOLEANS.has(new RegExp(`(\\w+) AS ${name}\\b`).exec(sql)?.[1] ?? '');
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        isBoolean(name) && typeof value === 'number' ? String(value === 1) : value,
      ]),
    ),
  );
}

function asTable(rows: readonly Record<string, unknown>[]): string {
  const names = Object.keys(rows[0] ?? {});
  const titles = names.map((title) => ({
    title,
    align: rows.every((row) => typeof row[title] === 'number') ? ('right' as const) : ('left' as const),
  }));
  return renderTable(
    { write: () => true },
    titles,
    rows.map((row) => names.map((name) => cell(row[name] as string | number | null))),
  );
}

/** Instants have zero milliseconds: theirs depend on the order in which parallel requests end. */
function cell(value: string | number | null): string {
  return value === null ? 'NULL' : String(value).replace(/(T\d\d:\d\d:\d\d)\.\d{3}\+/, '$1.000+');
}

test('the questions about people count a person once, whose name differs between two inboxes', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [1, 1], usersPerInbox: 2, tagsPerInbox: 1 } });
  const inboxes = [0, 1].map((nth) => nthInbox(mirror.sandbox, nth));
  const [ada = '', bob = ''] = firstIds(inboxes[0]!.users, 2);
  const setAll = (user: string, status: string): void => {
    for (const { conversations } of inboxes)
      for (const row of conversations.values())
        Object.assign(row, { status, assignee: { assignee_type: 'user', assignee_id: user } });
  };
  for (const [nth, { users }] of inboxes.entries())
    for (const [id, name] of [
      [ada, 'Ada'],
      [bob, 'Bob'],
    ] as const)
      users.set(id, { ...users.get(id)!, id, first_name: name, last_name: `Name ${nth}` });
  const asked = async (question: string): Promise<unknown> => {
    const examples = readExamples(mirror.clock.now()).flatMap((group) => group.examples);
    return await ask(mirror, examples.find((one) => one.question === question)!.sql);
  };
  setAll(ada, 'open');
  await mirror.sync();
  mirror.clock.advance(3_600_000);
  setAll(bob, 'open');
  await mirror.sync();
  expect(await asked('Which assignees have the most work?')).toEqual([
    { assignee: 'Bob Name 1', open: 2, pending: 0 },
  ]);
  expect(await asked('Between which teammates does work move?')).toEqual([
    { from_assignee: 'Ada Name 1', to_assignee: 'Bob Name 1', handoffs: 2 },
  ]);
  mirror.clock.advance(3_600_000);
  setAll(bob, 'closed');
  await mirror.sync();
  expect(await asked('Which assignees closed the most conversations?')).toEqual([
    { assignee: 'Bob Name 1', closed: 2 },
  ]);
});

test('the question about changed rows has those of an inbox that was lost and returned', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [3, 2] } });
  const { sandbox, clock } = mirror;
  const { id } = nthInbox(sandbox, 1);
  const sql = readExamples(0)
    .flatMap((group) => group.examples)
    .find(({ question }) => question === 'What has changed since my last run?')!.sql;
  const changedSince = async (at: number): Promise<unknown[]> =>
    await ask(mirror, sql.replaceAll(/'\d{4}-[^']*'/g, `'${iso(at)}'`));
  await mirror.sync();
  clock.advance(DAY);
  sandbox.world.removeInbox(id);
  await syncTwice(mirror);
  expect(await changedSince(clock.now() - HOUR)).toHaveLength(2);
  clock.advance(DAY);
  expect(await changedSince(clock.now() - HOUR)).toEqual([]);
  sandbox.world.restoreInbox(id);
  await mirror.sync();
  expect(await changedSince(clock.now() - HOUR)).toEqual([
    expect.objectContaining({ inbox_id: id }),
    expect.objectContaining({ inbox_id: id }),
  ]);
});
