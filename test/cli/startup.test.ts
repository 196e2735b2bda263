import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/mirror.ts';

const source = join(import.meta.dirname, '../../src');

/** The files that `main.ts` loads before a command runs, below `src/`. */
function loadedAtStart(): Set<string> {
  const loaded = new Set<string>();
  const visit = (path: string): void => {
    const name = relative(source, path);
    if (loaded.has(name)) return;
    loaded.add(name);
    const text = readFileSync(path, 'utf8');
    for (const [, specifier = ''] of text.matchAll(/^(?:import|export) (?!type )[^;]*?from '(\..+?)';$/gm))
      visit(join(dirname(path), specifier));
  };
  visit(join(source, 'cli/main.ts'));
  return loaded;
}

test('--help loads the commands, core/, the terminal, the version and the options of the sandbox, nothing else', () => {
  const loaded = loadedAtStart();
  expect(loaded).toContain('cli/commands/start.ts');
  const others = [...loaded].filter((name) => !/^(cli\/[^/]+|cli\/commands\/.+|core\/.+)$/.test(name));
  expect(others.toSorted()).toEqual(['sandbox/options.ts', 'session/terminal.ts', 'session/version.ts']);
});

test.skipIf(process.platform === 'win32')('in a working folder that was deleted, a sentence says so', () => {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', 'rmdir "$PWD" && exec "$NODE" "$BIN" status'], {
    cwd: temporaryFolder(),
    env: { PATH: process.env['PATH'], NODE: process.execPath, BIN: join(source, '../bin/inbox-mirror.cjs') },
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr: 'error: The working folder was deleted. Change to another folder and run the command again.\n',
  });
});
