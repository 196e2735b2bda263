import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
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

/** The numbers of an account that is not on this machine, and of a group that is not its own. */
const [DAEMON, ANALYSTS] = [40_001, 40_003];

/** A mirror's file and the files beside it, which a group may read that is not the owner's. */
function fileOfGroup(folderMode: number, sideFileGroup: number | null): string {
  const path = fileWith(folderMode, 0o640);
  for (const one of [dirname(path), path]) chownSync(one, DAEMON, ANALYSTS);
  chmodSync(dirname(path), folderMode);
  if (sideFileGroup !== null)
    for (const one of [`${path}-wal`, `${path}-shm`]) {
      writeFileSync(one, '', { mode: 0o640 });
      chownSync(one, DAEMON, sideFileGroup);
    }
  return path;
}

test.runIf(process.getuid?.() === 0 && process.platform === 'linux').each([
  ['a folder with the set-group bit', 0o2750, null, 'ok', /^the account 40001, and while a daemon runs/],
  ['side files of the group', 0o2750, ANALYSTS, 'ok', /^the account 40001, and while a daemon runs/],
  ['a folder without the bit', 0o750, null, 'warning', /at its next start.*; run .*chmod g\+xs \S+mirror$/],
  ['a folder that lost the bit', 0o750, ANALYSTS, 'warning', /at its next start.*; run .*chmod g\+xs/],
  [
    'side files of another group',
    0o2750,
    DAEMON,
    'warning',
    /may not read \S+-wal and \S+-shm; run chgrp 40003 \S+-wal \S+-shm && chmod g\+r \S+-wal \S+-shm$/,
  ],
] as const)(
  'doctor judges, for a group that is not the owner’s, %s',
  (_what, folder, side, verdict, message) => {
    expect(readersOf(fileOfGroup(folder, side))).toEqual({
      verdict,
      message: expect.stringMatching(message) as string,
    });
  },
);

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

const QUERY = ['query', 'SELECT 1 AS one FROM settings'];

/** Runs a command in a process, which may belong to another account. */
function runInProcess(
  path: string,
  argv: readonly string[],
  account: { uid?: number; gid?: number } = {},
): { exitCode: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...argv], {
    env: {
      DATABASE_URL: `file:${path}`,
      INBOX_API_URL: 'http://127.0.0.1:1/v1',
      INBOX_API_KEY: 'key',
      HTTP_PORT: '0',
      HOME: '/',
    },
    cwd: '/',
    encoding: 'utf8',
    timeout: 30_000,
    killSignal: 'SIGKILL',
    ...account,
  });
  return { exitCode: status, output: stdout + stderr };
}

test
  .skipIf(!canRun)
  .each([
    ['query', 'the file', 0o755, 0o000, /cannot be read: EACCES.* "Another account of the machine"/, QUERY],
    ['query', 'the folder', 0o600, 0o644, /cannot be read: EACCES.* "Another account of the machine"/, QUERY],
    [
      'query',
      'the side files',
      0o555,
      0o444,
      /no process has it open.*Start the daemon, or read a copy/,
      QUERY,
    ],
    ...[
      ['sync'],
      ['start'],
      ['resync', '--dry-run'],
      ['lookup', 'tag', '--inbox', '1', '--name', 'x'],
      ['doctor'],
    ].map(
      (argv) =>
        [argv[0], 'the folder', 0o600, 0o644, /cannot be read: EACCES.* "Another account/, argv] as const,
    ),
  ] as const)(
  '%s says why an account that may not use %s cannot read the mirror',
  async (_command, _what, folder, file, why, argv) => {
    const path = fileWith(0o755, 0o600);
    copyFileSync(await freshMirrorFile(), path);
    chmodSync(path, file);
    chmodSync(join(path, '..'), folder);
    const { exitCode, output } = runInProcess(path, argv, STRANGER);
    // Lets the folder be removed.
    chmodSync(join(path, '..'), 0o755);
    expect({ exitCode, output }).toEqual({ exitCode: 2, output: expect.stringMatching(why) as string });
  },
);

test.skipIf(!canRun)(
  'query names a side file that the account may not read, while a daemon runs',
  async () => {
    const path = fileWith(0o755, 0o600);
    copyFileSync(await freshMirrorFile(), path);
    const daemon = new Sqlite(path);
    onTestFinished(() => void daemon.close());
    daemon.exec(`INSERT INTO settings (name, value) VALUES ('x', 'y')`);
    chmodSync(path, 0o644);
    for (const one of [`${path}-wal`, `${path}-shm`]) chmodSync(one, 0o600);
    expect(runInProcess(path, QUERY, STRANGER)).toEqual({
      exitCode: 2,
      output: expect.stringMatching(
        /may not read \S+mirror\.db-(wal|shm), .*"Another account of the machine"/,
      ) as string,
    });
  },
);

const COMMANDS = [
  ['status'],
  ['query', 'SELECT 1'],
  ['sync'],
  ['start'],
  ['resync', '--dry-run'],
  ['lookup', 'tag', '--inbox', '1', '--name', 'x'],
  ['doctor'],
];

test.each(COMMANDS)('%s says why DATABASE_URL names no file that can be read', async (...command) => {
  const folder = temporaryFolder();
  const link = join(folder, 'link');
  symlinkSync(link, link);
  for (const [path, why] of [
    [folder, /is a folder\. Set DATABASE_URL to a file in it/],
    [link, /cannot be read: ELOOP.*correct DATABASE_URL/],
    [join(folder, 'a'.repeat(300)), /cannot be read: ENAMETOOLONG.*correct DATABASE_URL/],
  ] as const) {
    const { run } = await newProgram({}, { DATABASE_URL: `file:${path}` });
    const { exitCode, stdout, stderr } = await run(...command);
    expect([exitCode, stdout + stderr]).toEqual([2, expect.stringMatching(why)]);
    expect(stdout + stderr).not.toMatch(/bug|\n +at /);
  }
});

// In a process: a thread that opens a pipe waits for a writer and cannot be stopped.
test.skipIf(process.platform === 'win32')('status and sync refuse a DATABASE_URL that names a pipe', () => {
  const folder = temporaryFolder();
  const pipe = join(folder, 'pipe');
  execFileSync('sh', ['-c', 'mkfifo pipe'], { cwd: folder });
  for (const command of ['status', 'sync'])
    expect(runInProcess(pipe, [command])).toEqual({
      exitCode: 2,
      output: expect.stringMatching(/is not a file\. Set DATABASE_URL to one/) as string,
    });
});
