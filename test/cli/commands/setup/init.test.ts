import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { writeSettings } from '../../../../src/cli/commands/setup/env-file.ts';
import { temporaryFolder } from '../../../support/mirror.ts';
import { newProgram, SECRET, type TestProgram } from '../../../support/program.ts';
import { answering, keyboard } from '../../../support/terminal.ts';

/** A program whose environment has neither address nor key. */
async function fresh(): Promise<{ program: TestProgram; url: string; path: string }> {
  const program = await newProgram({ inboxes: 3, conversations: 1 });
  const url = program.env['INBOX_API_URL'] ?? '';
  delete program.env['INBOX_API_URL'];
  delete program.env['INBOX_API_KEY'];
  return { program, url, path: join(program.folder, '.env') };
}

test('init checks address and key with one request, and writes .env for its owner only', async () => {
  const { program, url, path } = await fresh();
  const { exitCode, shown } = await answering(program, ['init'], [url, SECRET]);
  expect([exitCode, shown]).toEqual([0, expect.stringContaining('accepts the key and lists 3 inboxes.')]);
  expect(shown).not.toContain(SECRET);
  expect(shown).toMatch(/^Address of the service .*: /m);
  expect(shown).toMatch(/^API key .*: /m);
  expect(shown).toMatch(/systemd unit \/.*inbox-mirror\.service/);
  expect(program.sandbox.arrivals).toHaveLength(1);
  expect(readFileSync(path, 'utf8')).toBe(`INBOX_API_URL=${url}\nINBOX_API_KEY=${SECRET}\n`);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(program.folder), 'no mirror is created').toEqual(['.env']);
  expect((await program.run('sync', 'inboxes')).exitCode).toBe(0);
});

test('init asks before it changes .env, and keeps its other lines', async () => {
  const { program, url, path } = await fresh();
  const before = '# mine\nINBOX_API_KEY=old\nLOG_LEVEL=warn\n';
  writeFileSync(path, before, { mode: 0o644 });
  const kept = await answering(program, ['init'], ['']);
  expect([kept.exitCode, kept.shown]).toEqual([0, expect.stringContaining('stays as it is')]);
  expect(readFileSync(path, 'utf8')).toBe(before);
  expect(program.sandbox.arrivals).toHaveLength(0);
  expect((await answering(program, ['init'], ['y', url, SECRET])).exitCode).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe(
    `# mine\nINBOX_API_KEY=${SECRET}\nLOG_LEVEL=warn\nINBOX_API_URL=${url}\n`,
  );
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('init asks nothing and changes nothing if it cannot read .env', async () => {
  const { program, path } = await fresh();
  const text = Buffer.from('\uFEFFLOG_LEVEL=warn\n', 'utf16le');
  writeFileSync(path, text);
  const inUtf16 = await answering(program, ['init'], []);
  expect([inUtf16.exitCode, inUtf16.shown]).toEqual([
    2,
    expect.stringContaining(`Cannot read ${path}: it is in UTF-16`),
  ]);
  expect(readFileSync(path)).toEqual(text);
  rmSync(path);
  mkdirSync(path);
  const folder = await answering(program, ['init'], []);
  expect([folder.exitCode, folder.shown]).toEqual([
    2,
    expect.stringContaining(`Cannot read ${path}: EISDIR`),
  ]);
});

test('after init, .env holds one key, wherever its key came from before', async () => {
  const { program, url, path } = await fresh();
  writeFileSync(path, 'INBOX_API_KEY_FILE=gone\nexport INBOX_API_KEY = old\nINBOX_API_KEY=older\n');
  expect((await answering(program, ['init'], ['y', url, SECRET])).exitCode).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe(
    `# INBOX_API_KEY_FILE=gone\nINBOX_API_KEY=${SECRET}\nINBOX_API_URL=${url}\n`,
  );
  expect((await program.run('sync', 'inboxes')).exitCode).toBe(0);
});

test('init asks again at once for an address that cannot be right, and for a key that is refused', async () => {
  const { program, url, path } = await fresh();
  const answers = ['mail.example.com', url.replace('/v1', ''), url, 'wrong-key', SECRET];
  const { exitCode, shown } = await answering(program, ['init'], answers);
  expect(exitCode).toBe(0);
  expect(shown).toContain('failed: The address does not begin with https:// (or http://).\n');
  expect(shown).toContain('failed: The address does not end in /v1.\n');
  expect(shown).not.toMatch(/configuration|its value is not shown/);
  expect(shown).toMatch(/refused? the (API )?key/);
  expect(shown).not.toContain('wrong-key');
  expect(program.sandbox.arrivals).toHaveLength(2);
  expect(readFileSync(path, 'utf8')).toContain(`INBOX_API_KEY=${SECRET}\n`);
});

test('init tries again with the same answers while the service refuses for its own reasons', async () => {
  const { program, url, path } = await fresh();
  let refusals = 2;
  program.sandbox.script(() => (refusals-- > 0 ? { status: 429 } : undefined));
  const { exitCode, shown } = await answering(program, ['init'], [url, SECRET, '', 'y']);
  expect([exitCode, shown]).toEqual([0, expect.stringContaining('Try again with this address and key?')]);
  expect(shown).toContain('another client may use the account');
  expect(shown).not.toContain('seems to be down');
  expect(readFileSync(path, 'utf8')).toContain(`INBOX_API_KEY=${SECRET}\n`);
});

test('after an address that does not work, init takes another one and keeps the key', async () => {
  const { program, url, path } = await fresh();
  const wrong = url.replace('/v1', '/v2/v1');
  const { exitCode, shown } = await answering(program, ['init'], [wrong, SECRET, 'maybe', url]);
  expect([exitCode, shown]).toEqual([0, expect.stringContaining('The address does not begin with')]);
  expect(shown.match(/^API key/gm)).toHaveLength(1);
  expect(program.sandbox.arrivals).toHaveLength(2);
  expect(readFileSync(path, 'utf8')).toBe(`INBOX_API_URL=${url}\nINBOX_API_KEY=${SECRET}\n`);
});

test('init advises neither to run itself nor to set variables', async () => {
  const { program, url } = await fresh();
  const answers = ['mail.example.com', url, 'wrong key', 'wrong-key', SECRET];
  const { exitCode, shown } = await answering(program, ['init'], answers);
  expect([exitCode, shown]).toEqual([0, expect.stringContaining('refused the API key (HTTP 401)')]);
  expect(shown).not.toMatch(/`(?:npx )?inbox-mirror|\.env\.example|Set (?:the|another)/);
});

const LONGER = 'FOO="a\nINBOX_API_KEY=inner\nb"\nINBOX_API_KEY=old\n';

test.each([
  ['a line of a longer text begins like the key', LONGER, 'key'],
  ['the old key has two lines', 'INBOX_API_KEY="old\nBAR=b"\nFOO=a\n', 'key'],
  ['the key ends a quotation without an end', `FOO='a\n`, `key's`],
])('no value of .env but the key changes, or nothing is written: %s', (_why, text, key) => {
  const path = join(temporaryFolder(), '.env');
  writeFileSync(path, text);
  expect(() => writeSettings(path, { INBOX_API_KEY: key })).toThrow(
    expect.objectContaining({
      code: 'CONFIG',
      message: expect.stringMatching(
        /^Cannot change .*\. Nothing was written\. Set INBOX_API_KEY in it by hand/,
      ),
    }),
  );
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('init says that it cannot change an .env whose longer texts look like the key', async () => {
  const { program, url, path } = await fresh();
  writeFileSync(path, LONGER);
  const { exitCode, shown } = await answering(program, ['init'], ['y', url, SECRET]);
  expect([exitCode, shown]).toEqual([2, expect.stringContaining('Nothing was written.')]);
  expect(shown).not.toContain(SECRET);
  expect(readFileSync(path, 'utf8')).toBe(LONGER);
});

test('init writes nothing if the person does not want to try again', async () => {
  const { program, url, path } = await fresh();
  program.sandbox.script(() => ({ status: 429 }));
  const { exitCode, shown } = await answering(program, ['init'], [url, SECRET, 'n']);
  expect([exitCode, shown]).toEqual([4, expect.stringContaining('Nothing was written.')]);
  expect(shown.match(/allows no request now/g), 'the cause stands there once').toHaveLength(1);
  expect(existsSync(path)).toBe(false);
});

test('init writes nothing for an address that does not work', async () => {
  const { program, url, path } = await fresh();
  const { exitCode, shown } = await answering(program, ['init'], [url.replace('/v1', '/v2/v1'), SECRET, 'n']);
  expect(exitCode).not.toBe(0);
  expect(shown).toContain('Nothing was written.');
  expect(existsSync(path)).toBe(false);
});

const [ARROW_UP, CTRL_U, CTRL_Y] = ['\u001B[A', '\u0015', '\u0019'];

test('init shows no key when a person takes an earlier answer or deleted text back', async () => {
  const { program, url } = await fresh();
  const wrong = url.replace('/v1', '/v2/v1');
  const answers = [wrong, `${SECRET}${CTRL_U}${SECRET}`, ARROW_UP, `${CTRL_Y}${ARROW_UP}n`];
  const { exitCode, shown } = await answering(program, ['init'], answers);
  expect([exitCode, shown]).toEqual([1, expect.stringContaining('Try again with this address and key?')]);
  expect(shown).not.toContain(SECRET);
});

test('address and key that are pasted as two lines answer both questions, and the key is not shown', async () => {
  const { program, url, path } = await fresh();
  const { exitCode, shown } = await answering(program, ['init'], [`${url}\r\n\r\n${SECRET}`]);
  expect(exitCode).toBe(0);
  expect(shown).not.toContain(SECRET);
  expect(readFileSync(path, 'utf8')).toBe(`INBOX_API_URL=${url}\nINBOX_API_KEY=${SECRET}\n`);
});

test.each(['', '\r'])(
  'a key that is pasted again while init checks is not shown (%j after it)',
  async (end) => {
    const { program, url } = await fresh();
    const typed = keyboard();
    program.sandbox.script(() => {
      typed.write(`${SECRET}${end}`);
      return { status: 404 };
    });
    const answers = [url, SECRET, ...(end === '' ? ['n'] : ['', 'n'])];
    const { exitCode, shown } = await answering(program, ['init'], answers, typed);
    expect([exitCode, shown]).toEqual([1, expect.stringContaining('Try again with this address and key?')]);
    expect(shown).not.toContain(SECRET);
  },
);

test('a key that cannot be right is asked for again, but not the address', async () => {
  const { program, url, path } = await fresh();
  const { exitCode, shown } = await answering(program, ['init'], [url, `${SECRET} ${SECRET}`, SECRET]);
  expect([exitCode, shown]).toEqual([0, expect.stringContaining('without spaces')]);
  expect(shown.match(/^Address of/gm)).toHaveLength(1);
  expect(shown).not.toContain(SECRET);
  expect(existsSync(path)).toBe(true);
});

test('init asks for another address if the first one contains the key', async () => {
  const { program, url, path } = await fresh();
  const answers = [url.replace('/v1', `/${SECRET}/v1`), SECRET, url, SECRET];
  const { exitCode, shown } = await answering(program, ['init'], answers);
  expect([exitCode, shown]).toEqual([0, expect.stringContaining('The address contains the API key')]);
  expect(program.sandbox.arrivals).toHaveLength(1);
  expect(readFileSync(path, 'utf8')).toBe(`INBOX_API_URL=${url}\nINBOX_API_KEY=${SECRET}\n`);
});

test('init stops at Ctrl-C, and refuses to run without a terminal', async () => {
  const { program, path } = await fresh();
  const { exitCode, shown } = await answering(program, ['init'], ['\u0003']);
  expect([exitCode, shown]).toEqual([130, expect.stringContaining('nothing was written')]);
  const piped = await program.run('init');
  expect([piped.exitCode, piped.stderr]).toEqual([2, expect.stringContaining('needs a terminal')]);
  expect(existsSync(path)).toBe(false);
});

test('init writes through no link, and leaves no half file', () => {
  const folder = temporaryFolder();
  const path = join(folder, '.env');
  const other = join(folder, 'other');
  symlinkSync(other, `${path}.${process.pid}`);
  writeSettings(path, { INBOX_API_KEY: 'k' });
  expect([existsSync(other), lstatSync(path).isFile()]).toEqual([false, true]);
  mkdirSync(join(folder, 'taken'));
  expect(() => writeSettings(join(folder, 'taken'), { INBOX_API_KEY: 'k' })).toThrow();
  expect(readdirSync(folder).toSorted()).toEqual(['.env', `.env.${process.pid}`, 'taken']);
});

test('init names a file that it cannot write, and what to do', () => {
  // Nobody can make a file in it, whatever the rights.
  const path = '/dev/null/.env';
  expect(() => writeSettings(path, { INBOX_API_KEY: 'k' })).toThrow(
    expect.objectContaining({
      code: 'OUTPUT',
      message: expect.stringContaining(`${path} cannot be written`),
    }),
  );
});

test.each(['plain', 'with space', 'a#b', "it's", '"quoted"', `'"`, '$HOME', 'a=b', '\\n'])(
  'a key such as %s is read from .env as it was typed',
  (key) => {
    const path = join(temporaryFolder(), '.env');
    writeSettings(path, { INBOX_API_KEY: key });
    expect(parseEnv(readFileSync(path, 'utf8'))['INBOX_API_KEY']).toBe(key);
  },
);
