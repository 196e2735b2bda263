import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderTable } from '../../src/cli/output/table.ts';
import { TABLE_SENTENCES, VIEW_NAMES, VIEW_SENTENCES } from '../../src/database/catalogue.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { freshMirrorFile } from '../support/template.ts';
import { livelyMirror } from './lively.ts';
import { ask } from './support.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const sqlDoc = readFileSync(join(DOCS, 'sql.md'), 'utf8');
const tablesDoc = readFileSync(join(DOCS, 'tables.md'), 'utf8');

async function columns(): Promise<Map<string, string[]>> {
  const database = await temporaryDatabase(await freshMirrorFile());
  const rows = await database.query<{ name: string; kind: string; column_name: string }>(
    database.dialect.allColumns,
  );
  const named = rows.filter(({ name }) => !/^(sqlite_|_prisma_)/.test(name));
  return new Map(
    [...Map.groupBy(named, ({ name, kind }) => `${kind} ${name}`)].map(([name, of]) => [
      name,
      of.map((one) => one.column_name),
    ]),
  );
}

test('docs/sql.md has every view with its sentence, an example and its columns in order', async () => {
  const views = [...(await columns())].filter(([name]) => name.startsWith('view '));
  const documented = new Map(
    [...sqlDoc.matchAll(/^### `(\w+)`\n\n(.*)\n\n```sql\n[\s\S]*?\n\| Column .*\n.*\n((?:\|.*\n)+)/gm)].map(
      ([, name, sentence, rows]) => [
        name!,
        { sentence, columns: [...rows!.matchAll(/^\| `(\w+)`/gm)].map(([, column]) => column) },
      ],
    ),
  );
  expect(Object.fromEntries(documented)).toEqual(
    Object.fromEntries(
      views.map(([name, of]) => [name.slice(5), { sentence: VIEW_SENTENCES[name.slice(5)], columns: of }]),
    ),
  );
});

test('every table has a sentence, and docs/tables.md has every table with every column', async () => {
  const tables = [...(await columns())].filter(([name]) => name.startsWith('table '));
  expect(tables.map(([name]) => name.slice(6)).sort()).toEqual(Object.keys(TABLE_SENTENCES).sort());
  // docs/tables.md describes the last columns of the mirrored tables once for all of them.
  const shared = new Set([
    'raw',
    'content_hash',
    'first_seen_at',
    'changed_at',
    'missing_since',
    'deleted_at',
  ]);
  for (const [name, of] of tables) {
    const described = tablesDoc
      .split('\n')
      .filter(
        (line) => line.startsWith(`| \`${name.slice(6)}\` `) || line.startsWith(`\`${name.slice(6)}\`: `),
      );
    expect({ name, lines: described.length }).toEqual({ name, lines: 1 });
    const paragraph = tablesDoc.slice(tablesDoc.indexOf(described[0]!)).split(/\n\n|\n\|/)[0]!;
    for (const column of of.filter((one) => !shared.has(one))) expect(paragraph).toContain(`\`${column}\``);
  }
});

test('docs/tables.md describes each table with the sentence that `tables` prints', () => {
  const described = [...tablesDoc.matchAll(/^`(\w+)`: ((?:[^-\n].*\n)+)/gm)].map(
    ([, name, text]) => [name!, text!.replaceAll('\n', ' ')] as const,
  );
  const sentences = Object.entries(TABLE_SENTENCES).map(
    ([name, sentence]) => [name, sentence[0]!.toLowerCase() + sentence.slice(1)] as const,
  );
  expect(described.map(([name]) => name).sort()).toEqual(sentences.map(([name]) => name).sort());
  const begins = new Map(described);
  for (const [name, sentence] of sentences)
    expect(begins.get(name)!.slice(0, sentence.length + 1), name).toBe(`${sentence} `);
});

const EXAMPLE = /^###? (.*)\n\n(?:(?:[^`\n].*\n)+\n)?```sql\n([\s\S]*?)```\n\n```\n([\s\S]*?)```\n/gm;

test('the cookbook has seventeen questions; each of them and each example of a view returns the documented rows', async () => {
  const mirror = await livelyMirror();
  const examples = [...sqlDoc.matchAll(EXAMPLE)];
  const counts = ['## ', '### '].map((level) => examples.filter(([block]) => block.startsWith(level)).length);
  expect(counts).toEqual([17, VIEW_NAMES.length]);
  let written = sqlDoc;
  for (const [block, title, sql, answer] of examples) {
    const rows = await ask(mirror, sql!);
    expect(rows.length, title).toBeGreaterThan(0);
    const got = asTable(rows);
    // UPDATE_DOCS=1 writes the answers into the document, for review before a commit.
    if (process.env['UPDATE_DOCS'] === '1')
      written = written.replace(
        block,
        block.replace(`\`\`\`\n${answer}\`\`\`\n`, `\`\`\`\n${got}\n\`\`\`\n`),
      );
    else expect(`${title}\n${answer}`).toBe(`${title}\n${got}\n`);
  }
  if (written !== sqlDoc) writeFileSync(join(DOCS, 'sql.md'), written);
});

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
