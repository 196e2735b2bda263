import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The rows of the tables whose first column is `Promise`. */
function promisesOf(text: string): string[] {
  const tables = text.split(/\n(?=\| Promise )/).slice(1);
  return tables.flatMap((table) => {
    const lines = table.split('\n');
    const end = lines.findIndex((line) => !line.startsWith('|'));
    return lines.slice(2, end === -1 ? undefined : end);
  });
}

test.each([
  ['SECURITY.md', 20],
  ['docs/reliability.md', 35],
])('each promise of %s names tests that exist', (page, least) => {
  const rows = promisesOf(read(page));
  expect(rows.length).toBeGreaterThanOrEqual(least);
  for (const row of rows) {
    expect(row).toMatch(/`test\/\S+\.ts`: "[^"]+" \|$/);
    for (const [, file, title] of row.matchAll(/`(test\/\S+\.ts)`: "([^"]+)"/g))
      expect(read(file!), row).toContain(title);
  }
});
