import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

test('each promise of SECURITY.md names a test that exists', () => {
  const rows = read('SECURITY.md')
    .split('\n## Promises\n')[1]
    ?.split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| Promise'));
  expect(rows?.length).toBeGreaterThan(15);
  for (const row of rows ?? []) {
    const [, file = '', title = ''] = /`(test\/\S+\.ts)`: "([^"]+)" \|$/.exec(row) ?? [];
    expect(file, row).not.toBe('');
    expect(read(file), row).toContain(title);
  }
});
