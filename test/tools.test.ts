import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readCatalogue } from '../src/database/columns.ts';
import { datasetteMetadata, dbtSources } from './support/tool-files.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const catalogue = readCatalogue({ provider: 'postgresql' });

/** Compares a file with what it is made from. UPDATE_DOCS=1 writes it. */
function expectMade(file: string, made: string): void {
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(join(root, file), made);
  else expect(read(file), file).toBe(made);
}

test('the sources of deploy/dbt have every table, view and column of the catalogue', () => {
  const made = dbtSources(catalogue);
  expectMade('deploy/dbt/models/inbox_mirror.yml', made);
  expect(made.match(/^ {6}- name: /gm)).toHaveLength(catalogue.length);
  expect(made.match(/^ {10}- name: /gm)).toHaveLength(catalogue.flatMap(({ columns }) => columns).length);
});

test('the metadata for Datasette has every text of the catalogue and the questions of the cookbook', () => {
  const cookbook = read('docs/sql.md').split('\n# Cookbook\n')[1]!;
  const questions = [...cookbook.matchAll(/^### (.*)\n\n(?:(?:[^`\n].*\n)+\n)?```sql\n([\s\S]*?)```/gm)];
  expect(questions).toHaveLength(26);
  expectMade(
    'deploy/datasette/metadata.json',
    datasetteMetadata(
      catalogue,
      questions.map(([, title = '', sql = '']) => ({ title, sql })),
    ),
  );
});
