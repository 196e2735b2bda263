import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readersOf } from '../../../../src/cli/commands/setup/readers.ts';
import { freshMirrorFile } from '../../../support/template.ts';
import { temporaryFolder } from '../../../support/mirror.ts';
import { newProgram } from '../../../support/program.ts';

/** A mirror's file in a folder, with these modes. */
function fileWith(folderMode: number, fileMode: number): string {
  const above = temporaryFolder();
  chmodSync(above, 0o755);
  const folder = join(above, 'mirror');
  mkdirSync(folder);
  const path = join(folder, 'mirror.db');
  writeFileSync(path, '');
  chmodSync(path, fileMode);
  chmodSync(folder, folderMode);
  return path;
}

test.each([
  ['0700 and 0600', 0o700, 0o600, 'ok', /^only the account \S+ may read \/.*mirror\.db$/],
  ['0750 and 0640', 0o750, 0o640, 'ok', /^the account \S+, and while a daemon runs the group \S+, may read /],
  ['0700 and 0640', 0o700, 0o640, 'warning', /may not enter \S+mirror; run chgrp \S+ \S+ && chmod g\+x \S+$/],
  ['0750 and 0660', 0o750, 0o660, 'warning', /may also change it; run chmod g-w \S+mirror\.db$/],
  ['0770 and 0640', 0o770, 0o640, 'warning', /the daemon would not start; run chmod g-w \S+mirror$/],
])('doctor judges a folder and a file with the modes %s', (_modes, folder, file, verdict, message) => {
  expect(readersOf(fileWith(folder, file))).toEqual({
    verdict,
    message: expect.stringMatching(message) as string,
  });
});

test('doctor names the only account that may read the file of a new mirror', async () => {
  const program = await newProgram({ conversations: [2] });
  await program.run('sync');
  expect(statSync(join(program.folder, 'mirror.db')).mode & 0o777).toBe(0o600);
  const { stdout } = await program.run('doctor');
  expect(stdout).toMatch(/ok +readers +only the account \S+ may read/);
});

const MAIN = join(import.meta.dirname, '../../../../src/cli/main.ts');

/** A child of root is the account `nobody`. */
const STRANGER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const canRun = spawnSync('test', ['-r', MAIN], STRANGER).status === 0;

/** Runs `query` as an account without rights. */
function queryAsStranger(path: string): { exitCode: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, [MAIN, 'query', 'SELECT 1 AS one FROM settings'], {
    env: { DATABASE_URL: `file:${path}`, HOME: '/' },
    cwd: '/',
    encoding: 'utf8',
    ...STRANGER,
  });
  return { exitCode: status, stderr };
}

test.skipIf(!canRun).each([
  ['the file', 0o755, 0o000, /cannot be read: EACCES.* "Another account of the machine"/],
  ['the folder', 0o600, 0o644, /cannot be read: EACCES.* "Another account of the machine"/],
  ['the side files', 0o555, 0o444, /no process has it open.*Start the daemon, or read a copy/],
])(
  'query says why an account that may not use %s cannot read the mirror',
  async (_what, folder, file, why) => {
    const path = fileWith(0o755, 0o600);
    copyFileSync(await freshMirrorFile(), path);
    chmodSync(path, file);
    chmodSync(join(path, '..'), folder);
    const { exitCode, stderr } = queryAsStranger(path);
    // Lets the folder be removed.
    chmodSync(join(path, '..'), 0o755);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(why) as string });
  },
);

test.each([['status'], ['query', 'SELECT 1']])(
  '%s says that DATABASE_URL names a folder',
  async (...command) => {
    const { run } = await newProgram({}, { DATABASE_URL: `file:${temporaryFolder()}` });
    expect(await run(...command)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/is a folder\. Set DATABASE_URL to a file in it/) as string,
    });
  },
);
