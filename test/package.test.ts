import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const run = promisify(execFile);

/** One entry of npm's hidden lock file, `node_modules/.package-lock.json`. */
interface Installed {
  readonly version: string;
  readonly hasInstallScript?: boolean;
}

describe('the packed package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-package-'));
  const home = join(folder, 'home');
  let installed: Record<string, Installed> = {};
  const program = (...words: string[]) => {
    const bin = join(home, 'node_modules/inbox-mirror/bin/inbox-mirror.cjs');
    const env = { ...process.env, DATABASE_URL: 'file:demo.db' };
    return run(process.execPath, [bin, ...words], { cwd: home, env });
  };

  beforeAll(async () => {
    mkdirSync(home);
    writeFileSync(join(home, 'package.json'), '{ "name": "user", "private": true }\n');
    await run('npm', ['pack', '--pack-destination', folder], { cwd: root });
    const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
    await run('npm', ['install', join(folder, tarball ?? '')], { cwd: home });
    const lock = readFileSync(join(home, 'node_modules/.package-lock.json'), 'utf8');
    installed = (JSON.parse(lock) as { packages: Record<string, Installed> }).packages;
  }, 180_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('brings one SQLite, which is prebuilt', () => {
    const drivers = Object.entries(installed).filter(([path]) => /sqlite/.test(path));
    expect(drivers).toMatchObject([['node_modules/better-sqlite3', { version: /^13\./ }]]);
  });

  test('needs no install script', () => {
    const { scripts } = JSON.parse(
      readFileSync(join(home, 'node_modules/inbox-mirror/package.json'), 'utf8'),
    ) as { scripts: Record<string, string> };
    expect(Object.keys(scripts).filter((name) => /^(pre|post)?(install|prepare)$/.test(name))).toEqual([]);
    expect(Object.entries(installed).filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  });

  test('takes less than 90 MB on disk', () => {
    const files = readdirSync(join(home, 'node_modules'), { recursive: true, withFileTypes: true });
    const sizes = files
      .filter((file) => file.isFile())
      .map((file) => statSync(join(file.parentPath, file.name)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(90_000_000);
  });

  test('ships the licence of each package in its build', () => {
    const vendor = join(home, 'node_modules/inbox-mirror/dist/vendor');
    const texts = readFileSync(join(vendor, 'LICENSES.txt'), 'utf8');
    const names = readdirSync(vendor).flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(vendor, name)).map((part) => `${name}/${part}`) : [name],
    );
    expect(names.length).toBeGreaterThan(5);
    for (const name of names.filter((one) => one !== 'LICENSES.txt'))
      expect(texts, name).toMatch(new RegExp(`^${name} \\d+\\.`, 'm'));
  });

  test('runs the demo, whose mirror can then be queried', async () => {
    const { stdout } = await program('demo');
    expect(stdout).toContain('The copy is in demo.db.');
    const sql = 'SELECT count(*) > 100 AS filled FROM conversations';
    const { stdout: rows } = await program('query', sql, '--format', 'json');
    expect(JSON.parse(rows)).toEqual([{ filled: 1 }]);
  });
});
