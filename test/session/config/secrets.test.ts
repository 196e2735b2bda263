import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SANDBOX_KEY } from '../../../src/core/secrets.ts';
import { openMirror } from '../../../src/library/library.ts';
import { readConfig } from '../../../src/session/config/config.ts';
import { readEnvironment } from '../../../src/session/config/environment.ts';
import { readSettingsFile } from '../../../src/session/config/files.ts';
import { temporaryFolder } from '../../support/mirror.ts';
import { newProgram, SECRET, testProgram } from '../../support/program.ts';
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

test('a very long value is cut in its fault, and a path with a NUL or of another kind is one', () => {
  const read = (name: string, value: string) => () => readConfig({ [name]: value }, '/', { service: false });
  expect(read('PAGE_SIZE', '9'.repeat(1_000_000))).toThrow(/^.{0,100}PAGE_SIZE: .{0,500}…"\n/s);
  expect(read('DATABASE_URL', 'file:a\0b')).toThrow(`DATABASE_URL: expected file:PATH`);
  expect(read('DATABASE_URL', 'file:postgresql://u:s3cret@h/db')).toThrow(
    'leave out file:; its value is not shown',
  );
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

const IN_ADDRESS = 'INBOX_API_URL: contains the API key, and addresses are shown and stored';

test.each(['environment', '.env', 'file'])(
  'an address that contains the key (from: %s) is refused, and neither shown nor stored',
  async (from) => {
    const program = await newProgram({ inboxes: 1 }, { ALLOW_HTTP: 'true' });
    const { origin } = new URL(program.env['INBOX_API_URL']!);
    delete program.env['INBOX_API_KEY'];
    if (from === 'environment') program.env['INBOX_API_KEY'] = SECRET;
    writeFileSync(
      join(program.folder, '.env'),
      from === '.env' ? `INBOX_API_KEY=${SECRET}\n` : 'LOG_LEVEL=trace\n',
    );
    writeFileSync(join(program.folder, 'key'), SECRET);
    if (from === 'file') program.env['INBOX_API_KEY_FILE'] = 'key';
    const lookup = ['lookup', 'tag', '--inbox', '1', '--name', 'x'];
    for (const address of [`${origin}/${SECRET}/v1`, `http://${SECRET}/v1`])
      for (const command of [['doctor'], ['doctor', '--json'], lookup, ['status'], ['sync'], ['start']]) {
        program.env['INBOX_API_URL'] = address;
        const { exitCode, stdout, stderr } = await program.run(...command);
        const printed = (stdout + stderr).replaceAll(/\s+/g, ' ');
        expect([exitCode, printed], command.join(' ')).toEqual([2, expect.stringContaining(IN_ADDRESS)]);
        const onTerminal = await runOnTerminal(program, 300, ...command);
        expect((printed + onTerminal).toLowerCase()).not.toContain(SECRET.toLowerCase());
      }
    expect(program.sandbox.arrivals).toHaveLength(0);
    expect(readdirSync(program.folder).sort(), 'there is no mirror').toEqual(['.env', 'key']);
  },
);

const percent = (text: string): string =>
  Array.from(text, (character) => `%${character.charCodeAt(0).toString(16)}`).join('');

test.each([
  ['in the path', `https://api.example.com/${OTHER}/v1`],
  ['percent-encoded', `https://api.example.com/${percent(OTHER)}/v1`],
  ['in base64', `https://api.example.com/${Buffer.from(OTHER).toString('base64')}/v1`],
  ['in the host, which is in lower case', `https://${OTHER}.example.com/v1`],
  ['percent-encoded in the host', `https://${percent(OTHER)}/v1`],
  ['in another case', `https://${OTHER.toUpperCase()}/v1`],
])('a key is found %s of an address', (_where, url) => {
  const read = () => readConfig({ INBOX_API_URL: url, INBOX_API_KEY: OTHER }, '/', { service: true });
  expect(read).toThrow(IN_ADDRESS);
  expect(read).not.toThrow(new RegExp(`${OTHER}|would send`, 'i'));
});

test.each([
  ['example', 'https://api.example.com/v1'],
  [SANDBOX_KEY, `https://${SANDBOX_KEY}.example.com/v1`],
])('an address may contain %s, which is no secret', (key, url) => {
  const config = readConfig({ INBOX_API_URL: url, INBOX_API_KEY: key }, '/', { service: true });
  expect(config.apiUrl).toBe(url);
});

test('the library refuses an address that contains the key', async () => {
  const program = await testProgram();
  program.env['INBOX_API_URL'] += `/${SECRET}/v1`;
  const synced = openMirror({ env: program.env, cwd: program.folder }).then((mirror) => mirror.sync());
  await expect(synced).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining(IN_ADDRESS) as unknown,
  });
});
