import {
  chmodSync,
  chownSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openPartial } from '../../../src/export/folder/files.ts';
import { readConfig } from '../../../src/session/config/config.ts';
import { readEnvironment } from '../../../src/session/config/environment.ts';
import { startDaemon } from '../../support/daemon-process.ts';
import { temporaryFolder } from '../../support/mirror.ts';
import { mirrorFile, newProgram, SECRET } from '../../support/program.ts';

test.skipIf(process.platform === 'win32')(
  'start and doctor warn once about a key or mirror that every user may read',
  async () => {
    const program = await newProgram({ inboxes: 1 });
    const keyFile = join(program.folder, 'key');
    writeFileSync(keyFile, SECRET, { mode: 0o640 });
    delete program.env['INBOX_API_KEY'];
    program.env['INBOX_API_KEY_FILE'] = 'key';
    await program.run('sync');
    expect((await program.run('doctor')).stdout).not.toContain('every user');
    chmodSync(keyFile, 0o644);
    chmodSync(mirrorFile(program), 0o604);
    const { stdout } = await program.run('doctor');
    expect(stdout).toMatch(/warning +configuration +INBOX_API_KEY_FILE: every user of this machine may read/);
    expect(stdout).toMatch(/warning +configuration +the mirror: every user/);
    const daemon = startDaemon(program);
    await daemon.said(/^started/);
    expect(daemon.log.filter(({ msg }) => msg.includes('every user')).map(({ level }) => level)).toEqual([
      40, 40,
    ]);
    daemon.process.kill('SIGTERM');
    expect(await daemon.ended).toBe(0);
  },
);

/** The warnings about the files of a mirror at this path. */
function warningsOf(folder: string, path: string): readonly string[] {
  const env = { INBOX_API_URL: 'http://localhost/v1', INBOX_API_KEY: SECRET, DATABASE_URL: `file:${path}` };
  const { warnings } = readConfig(env, folder, { service: true, own: env });
  return warnings.filter((warning) => warning.startsWith('the mirror'));
}

test.skipIf(process.platform === 'win32')(
  'files beside the mirror that other users may read cause a warning, also before the mirror exists',
  () => {
    const folder = realpathSync(temporaryFolder());
    const path = join(folder, 'mirror.db');
    const log = `${path}-wal`;
    writeFileSync(log, '');
    chmodSync(log, 0o666);
    const readable = `the mirror: every user of this machine may read ${log}; run chmod o-rwx ${log}`;
    expect(warningsOf(folder, path)).toEqual([readable]);
    writeFileSync(path, '', { mode: 0o600 });
    symlinkSync(path, join(folder, 'link.db'));
    expect(warningsOf(folder, join(folder, 'link.db')), 'behind a link').toEqual([readable]);
    chmodSync(log, 0o600);
    writeFileSync(`${path}-shm`, '', { mode: 0o600 });
    expect(warningsOf(folder, path)).toEqual([]);
    chmodSync(path, 0o644);
    chmodSync(log, 0o644);
    expect(warningsOf(folder, path), 'one for the mirror and its log').toHaveLength(1);
    if (process.getuid?.() !== 0) return;
    // Only root may give a file away.
    for (const file of [path, log]) chmodSync(file, 0o600);
    chownSync(path, 1000, 1000);
    expect(warningsOf(folder, path), 'root may read everything').toEqual([]);
    chownSync(log, 1001, 1001);
    expect(warningsOf(folder, path)).toEqual([
      `the mirror: another account than that of ${path} owns ${log} and may read it; ` +
        `run chown --reference=${path} ${log} as root`,
    ]);
    chmodSync(path, 0o640);
    expect(warningsOf(folder, path), '`doctor` judges the files of a group').toEqual([]);
  },
);

test('a mirror with two names causes a warning, and one behind a symbolic link does not', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'mirror.db');
  writeFileSync(path, '', { mode: 0o600 });
  symlinkSync(path, join(folder, 'link.db'));
  expect(warningsOf(folder, join(folder, 'link.db'))).toEqual([]);
  linkSync(path, join(folder, 'other.db'));
  for (const name of ['mirror.db', 'other.db'])
    expect(warningsOf(folder, join(folder, name))).toEqual([
      expect.stringMatching(
        RegExp(`^the mirror: .*/${name} has 2 names \\(hard links\\), .* damage it; remove the others`),
      ),
    ]);
});

test.skipIf(process.platform === 'win32')('a new mirror can be read by its owner only', async () => {
  const program = await newProgram({ inboxes: 1 });
  await program.run('sync', 'inboxes');
  expect(statSync(mirrorFile(program)).mode & 0o777).toBe(0o600);
});

test.skipIf(process.platform === 'win32')(
  'a .env that every user may read causes a warning if it holds a secret',
  async () => {
    const program = await newProgram({ inboxes: 1 });
    const file = join(program.folder, '.env');
    const warnings = (text: string, mode = 0o644): readonly string[] => {
      writeFileSync(file, text);
      chmodSync(file, mode);
      const env = readEnvironment(program.env, program.folder);
      const { warnings: all } = readConfig(env, program.folder, { service: true, own: program.env });
      return all.filter((warning) => warning.includes('every user'));
    };
    for (const secret of [
      'INBOX_API_KEY=pa55w0rd',
      'HTTP_TOKEN=pa55w0rd-pa55w0rd-pa55w0rd-pa55w0rd',
      `WEBHOOK_URL=http://localhost/\nWEBHOOK_SECRET=whsec_${'pa55w0rd'.repeat(5)}`,
      'DATABASE_URL=postgresql://me:pa55w0rd@localhost/mirror',
      'DATABASE_URL=postgresql://localhost/mirror?user=me&password=pa55w0rd',
      'HTTPS_PROXY=http://me:pa55w0rd@proxy.example',
    ]) {
      const name = /(\w+)=[^\n]*$/.exec(secret)?.[1] ?? '';
      expect(warnings(secret), secret).toEqual([
        `.env: every user of this machine may read ${file}, which has ${name}; run chmod o-rwx ${file}`,
      ]);
      expect(warnings(secret, 0o640), secret).toEqual([]);
    }
    expect(warnings('INBOX_API_KEY=\nPAGE_SIZE=50\nDATABASE_URL=postgresql://me@localhost/mirror')).toEqual(
      [],
    );
    // The sandbox's key, which opens no account.
    expect(warnings('INBOX_API_KEY=sandbox-key')).toEqual([]);

    delete program.env['INBOX_API_KEY'];
    writeFileSync(file, `INBOX_API_KEY=${SECRET}\n`);
    chmodSync(file, 0o600);
    expect((await program.run('sync')).stderr).not.toContain('every user');
    chmodSync(file, 0o644);
    expect((await program.run('sync')).stderr).toContain('.env: every user of this machine may read');
  },
);

test.skipIf(process.platform === 'win32')(
  'a new mirror can be read by its owner only, and so can an export of it',
  async () => {
    const program = await newProgram({ inboxes: 1 });
    await program.run('sync', 'inboxes');
    const modeOf = (path: string): number => statSync(path).mode & 0o777;
    expect(modeOf(mirrorFile(program))).toBe(0o600);

    const shared = join(program.folder, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o755);
    for (const folder of ['shared', 'new/lake'])
      expect(await program.run('export', 'inboxes', '--out', folder, '--format', 'csv')).toMatchObject({
        exitCode: 0,
      });
    const made = ['new', 'new/lake', 'new/lake/inboxes.csv', 'new/lake/manifest.json', 'shared/inboxes.csv'];
    expect(made.map((path) => modeOf(join(program.folder, path)))).toEqual([
      0o700, 0o700, 0o600, 0o600, 0o600,
    ]);
    expect(modeOf(shared), 'a folder that exists keeps its mode').toBe(0o755);
  },
);

test.skipIf(process.platform === 'win32')(
  'an export writes through no file or link that another user has put in its way',
  async () => {
    const program = await newProgram({ inboxes: 1 });
    await program.run('sync', 'inboxes');
    const folder = join(program.folder, 'shared');
    mkdirSync(folder);
    const foreign = join(program.folder, 'foreign');
    writeFileSync(foreign, 'as it was');
    symlinkSync(foreign, join(folder, 'inboxes.csv'));
    expect(
      await program.run('export', 'inboxes', '--out', folder, '--format', 'csv', '--force'),
    ).toMatchObject({ exitCode: 0 });
    // Nobody can guess a temporary name.
    symlinkSync(foreign, join(folder, '.a.csv.guessed'));
    writeFileSync(join(folder, '.b.csv.guessed'), '', { mode: 0o644 });
    for (const name of ['a.csv', 'b.csv'])
      await expect(openPartial(folder, name, '.guessed')).rejects.toMatchObject({ code: 'OUTPUT' });
    expect(readFileSync(foreign, 'utf8')).toBe('as it was');
    for (const name of ['inboxes.csv', 'manifest.json']) {
      const { mode } = lstatSync(join(folder, name));
      expect(mode, name).toBe(constants.S_IFREG + 0o600);
    }
  },
);
