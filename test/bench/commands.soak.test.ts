import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** Each benchmark at its smallest: whether it still runs, not what it measures. */
const COMMANDS: readonly (readonly [name: string, ...words: string[]])[] = [
  ['throughput', '--conversations', '300', '--runs', '1', '--pages', '30'],
  ['idle', '--conversations', '300', '--inboxes', '2', '--minutes', '1'],
  ['startup', '--runs', '1'],
  ['spacing', '--requests', '300'],
  ['views', '--conversations', '6000', '--runs', '1', '--database', 'postgresql'],
  ['export', '--rows', '3000'],
  ['pages', '--conversations', '1000', '--inboxes', '2', '--seconds', '1'],
];

beforeAll(async () => void (await run('npm', ['run', 'build'], { cwd: root })), 120_000);

test.each(COMMANDS)('the benchmark %s prints its figures', { timeout: 300_000 }, async (name, ...words) => {
  const file = join(root, 'bench', `${name}.ts`);
  const { stdout } = await run(process.execPath, [file, ...words, '--json'], { cwd: root });
  expect(JSON.parse(stdout)).toBeTypeOf('object');
});
