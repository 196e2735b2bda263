import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../../src/session/config/config.ts';
import { readEnvironment } from '../../../src/session/config/environment.ts';
import { readSettingsFile } from '../../../src/session/config/files.ts';
import { temporaryFolder } from '../../support/mirror.ts';
import { newProgram, SECRET } from '../../support/program.ts';
import { runOnTerminal } from '../../support/terminal.ts';

const OTHER = 'hv_live_Qx7pLm2';
const HIDDEN = 'its value is not shown here';

test.each([
  ['INBOX_API_URL', OTHER],
  ['INBOX_API_URL', `https://api.example.com/v1?api_key=${OTHER}`],
  ['INBOX_API_URL', `https://me:${OTHER}@api.example.com/v1`],
  ['WEBHOOK_URL', `htps://hooks.example.com/${OTHER}`],
  ['WEBHOOK_URL', `https://me:${OTHER}@hooks.example.com/`],
  ['HTTP_HOST', `http://me:${OTHER}@mirror.example`],
  ['HTTP_HOST', `${OTHER} `.repeat(2)],
  ['HTTP_ALLOWED_HOSTS', `https://me:${OTHER}@mirror.example`],
  ['INBOX_API_KEY_FILE', OTHER],
  ['HTTP_TOKEN_FILE', OTHER],
  ['DATABASE_URL_FILE', `postgresql://me:${OTHER}@db.example/mirror`],
  ['WEBHOOK_SECRET_FILE', `whsec_${OTHER}`],
  ['INBOX_API_CA_FILE', OTHER],
])('doctor, sync and status refuse %s=%s and show no part of it', async (name, value) => {
  const program = await newProgram({ inboxes: 1 }, { [name]: value });
  if (name === 'INBOX_API_KEY_FILE') delete program.env['INBOX_API_KEY'];
  // `status` reads no certificate.
  const commands = [['doctor'], ['doctor', '--json'], ['sync'], ['start']];
  for (const command of name === 'INBOX_API_CA_FILE' ? commands : [...commands, ['status']]) {
    const { exitCode, stdout, stderr } = await program.run(...command);
    const printed = (stdout + stderr).replaceAll(/\s+/g, ' ');
    expect({ exitCode, printed }, command.join(' ')).toEqual({
      exitCode: 2,
      printed: expect.stringMatching(new RegExp(`${name}: [^:]*.*${HIDDEN}`)) as string,
    });
    expect(printed, command.join(' ')).not.toContain(OTHER);
  }
});

test('a token in the place of HTTP_HOST is not shown', () => {
  const env = { INBOX_API_URL: 'https://api.example.com/v1', INBOX_API_KEY: SECRET, HTTP_HOST: OTHER };
  const read = () => readConfig(env, '/', { service: true, endpoints: true });
  expect(read).toThrow(/HTTP_HOST: .*other machines.*HTTP_TOKEN_FILE/);
  expect(read).not.toThrow(OTHER);
});

test.each(['0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'mirror_1.example.', 'bücher.example'])(
  'HTTP_HOST=%s is a name or an address',
  (host) => {
    const env = { HTTP_HOST: host };
    expect(readConfig(env, '/', { service: false }).http.host).toBe(host);
  },
);

test('a missing file of a secret is described by its folder, an existing one by its name', () => {
  const folder = temporaryFolder();
  const read = (file: string) => () => readConfig({ WEBHOOK_SECRET_FILE: file }, folder, { service: false });
  writeFileSync(join(folder, 'empty'), '');
  expect(read('nowhere')).toThrow(
    `WEBHOOK_SECRET_FILE: expected the path of a file, absolute or from ${folder}, but no file can be read there ` +
      `(ENOENT); ${HIDDEN}`,
  );
  expect(read('empty')).toThrow('WEBHOOK_SECRET_FILE: empty is empty');
  expect(read('.')).toThrow('WEBHOOK_SECRET_FILE: cannot read . (EISDIR)');
});

test.runIf(process.platform !== 'win32')('a device without end is not read for a secret', () => {
  expect(() => readConfig({ INBOX_API_KEY_FILE: '/dev/zero' }, '/', { service: false })).toThrow(
    'INBOX_API_KEY_FILE: cannot read /dev/zero (it has more than 4 MB; settings, secrets and certificates are shorter)',
  );
});

test('a very long value is cut in its fault, and a path with a NUL is one', () => {
  const read = (name: string, value: string) => () => readConfig({ [name]: value }, '/', { service: false });
  expect(read('PAGE_SIZE', '9'.repeat(1_000_000))).toThrow(/^.{0,100}PAGE_SIZE: .{0,500}…"\n/s);
  expect(read('DATABASE_URL', 'file:a\0b')).toThrow(`DATABASE_URL: expected file:PATH`);
});

test.runIf(process.platform !== 'win32')(
  'a pipe gives a key once, and one without a writer is an error',
  async () => {
    const folder = temporaryFolder();
    execFileSync('sh', ['-c', 'mkfifo key .env silent'], { cwd: folder });
    const write = (name: string, text: string) =>
      spawn('sh', ['-c', `printf '${text}' > ${name}`], { cwd: folder });
    const writers = [write('key', SECRET), write('.env', 'INBOX_API_KEY_FILE=key')];
    const ended = writers.map((writer) => once(writer, 'exit'));
    for (let times = 0; times < 2; times++)
      expect(readConfig(readEnvironment({}, folder), folder, { service: false }).key).toBe(SECRET);
    await Promise.all(ended);
    const begun = performance.now();
    for (let times = 0; times < 2; times++)
      expect(() => readSettingsFile(join(folder, 'silent'), 300)).toThrow(
        'it is a pipe, and no program has written its text and closed it within 0.3 s',
      );
    expect(performance.now() - begun).toBeLessThan(5000);
    const silent = { INBOX_API_KEY_FILE: 'silent' };
    expect(() => readConfig(silent, folder, { service: false })).toThrow(
      'INBOX_API_KEY_FILE: cannot read silent (it is a pipe, and no program',
    );
  },
);

test.each(['environment', '.env', 'file'])(
  'doctor, sync and status mask a key (from: %s) that an address contains',
  async (from) => {
    const program = await newProgram({ inboxes: 1 }, { ALLOW_HTTP: 'true' });
    // The sandbox answers 404 at once, and repeats the path.
    const { origin } = new URL(program.env['INBOX_API_URL']!);
    const address = `${origin}/${SECRET}/v1`;
    delete program.env['INBOX_API_KEY'];
    if (from === 'environment') program.env['INBOX_API_KEY'] = SECRET;
    writeFileSync(
      join(program.folder, '.env'),
      from === '.env' ? `INBOX_API_URL=${address}\nINBOX_API_KEY=${SECRET}\n` : `INBOX_API_URL=${address}\n`,
    );
    writeFileSync(join(program.folder, 'key'), SECRET);
    if (from === 'file') program.env['INBOX_API_KEY_FILE'] = 'key';
    delete program.env['INBOX_API_URL'];
    const lookup = ['lookup', 'tag', '--inbox', '1', '--name', 'x'];
    // `program.run` fails a test whose output contains the key.
    for (const command of [['doctor'], ['doctor', '--json'], lookup, ['status']]) {
      await program.run(...command);
      expect(await runOnTerminal(program, 300, ...command), command.join(' ')).not.toContain(SECRET);
    }
    expect((await program.run('doctor')).stdout).toContain(`${origin}/[key]/v1`);

    program.env['ALLOW_HTTP'] = 'false';
    program.env['INBOX_API_URL'] = `http://api.example.com/${SECRET}/v1`;
    const { exitCode, stderr } = await program.run('sync');
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('http://api.example.com/[key]/v1 would send the key') as string,
    });
  },
);
