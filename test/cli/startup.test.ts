import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/mirror.ts';

const source = join(import.meta.dirname, '../../src');
const BIN = join(source, '../bin/inbox-mirror.cjs');

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
  const terminal = ['session/terminal.ts', 'session/words/own-command.ts'];
  expect(others.toSorted()).toEqual(['sandbox/options.ts', ...terminal, 'session/version.ts'].toSorted());
});

test.skipIf(process.platform === 'win32')('in a working folder that was deleted, a sentence says so', () => {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', 'rmdir "$PWD" && exec "$NODE" "$BIN" status'], {
    cwd: temporaryFolder(),
    env: { PATH: process.env['PATH'], NODE: process.execPath, BIN },
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr: 'error: The working folder was deleted. Change to another folder and run the command again.\n',
  });
});

describe.skipIf(process.platform === 'win32')('compiled modules', () => {
  /** Runs `--help` with a home of its own. */
  function helped(home: string): { readonly temporary: string; readonly cache: string } {
    const temporary = join(home, 'tmp');
    mkdirSync(temporary);
    const env = {
      PATH: process.env['PATH'],
      HOME: home,
      XDG_CACHE_HOME: join(home, 'caches'),
      TMPDIR: temporary,
    };
    const { status } = spawnSync(process.execPath, [BIN, '--help'], { env });
    expect(status).toBe(0);
    return { temporary, cache: join(home, 'caches/inbox-mirror') };
  }

  test('are kept in a folder of the user, not in /tmp, where another user can put code', () => {
    const { temporary, cache } = helped(temporaryFolder());
    expect(readdirSync(temporary)).toEqual([]);
    expect(statSync(cache).mode & 0o777).toBe(0o700);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  test('are not kept in a folder to which others may write', () => {
    const home = temporaryFolder();
    const shared = join(home, 'caches/inbox-mirror');
    mkdirSync(shared, { recursive: true });
    chmodSync(shared, 0o777);
    const { temporary, cache } = helped(home);
    expect([readdirSync(temporary), readdirSync(cache)]).toEqual([[], []]);
  });

  test('are not kept, and no home is made, where the home is missing', () => {
    const home = join(temporaryFolder(), 'missing/home');
    const env = { PATH: process.env['PATH'], HOME: home };
    expect(spawnSync(process.execPath, [BIN, '--help'], { env }).status).toBe(0);
    expect(existsSync(dirname(home))).toBe(false);
  });
});
