import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../../src/session/config/config.ts';
import { temporaryFolder } from '../../support/mirror.ts';
import { mirrorFile, newProgram, SECRET } from '../../support/program.ts';

const GOOD = { INBOX_API_URL: 'https://api.example.com/v1', INBOX_API_KEY: SECRET };
const TOKEN = 't0ken.of~endpoints';

test.each(['127.0.0.1', '127.8.9.1', '::1', 'localhost', 'LocalHost'])(
  'on HTTP_HOST=%s the daemon needs no token',
  (host) => {
    const { http } = readConfig({ ...GOOD, HTTP_HOST: host }, '/', { service: true, endpoints: true });
    expect(http.token).toBeNull();
  },
);

test.each([
  '0.0.0.0',
  '::',
  '10.0.0.7',
  'mirror.example',
  '127.example',
  '127.0.0.1.example',
  '127.0.0.999',
  'evil-localhost',
])('on HTTP_HOST=%s the daemon wants a token, and the error says how to set one', (host) => {
  const read = (env: Record<string, string> = {}, endpoints = true) =>
    readConfig({ ...GOOD, HTTP_HOST: host, ...env }, '/', { service: true, endpoints }).http.token;
  expect(read).toThrow(/HTTP_HOST: .*other machines.*HTTP_TOKEN_FILE.*127\.0\.0\.1/);
  expect(read({ HTTP_TOKEN: TOKEN })).toBe(TOKEN);
  expect(read({}, false), 'a command that serves nothing needs none').toBeNull();
});

test.each(['fifteen-letters', 'two words and more', 'a-tökén-with-umlauts'])(
  'HTTP_TOKEN=%s is refused without being shown',
  (token) => {
    const read = () => readConfig({ ...GOOD, HTTP_TOKEN: token }, '/', { service: true });
    expect(read).toThrow(/HTTP_TOKEN: expected at least 16 .*openssl rand/);
    expect(read).not.toThrow(token);
  },
);

test('HTTP_TOKEN_FILE names a file that holds the token; an empty or missing one is refused', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'token'), `${TOKEN}\n`);
  writeFileSync(join(folder, 'empty'), '\n');
  const read = (file: string) =>
    readConfig({ ...GOOD, HTTP_TOKEN_FILE: file }, folder, { service: true }).http.token;
  expect(read('token')).toBe(TOKEN);
  expect(() => read('empty')).toThrow(/HTTP_TOKEN_FILE: empty is empty/);
  expect(() => read('nowhere')).toThrow(/HTTP_TOKEN_FILE: .*no file/);
});

test('start on an address of the network without a token exits 2 and creates no mirror', async () => {
  const program = await newProgram({}, { HTTP_HOST: '0.0.0.0', HTTP_PORT: '0' });
  const { exitCode, stderr } = await program.run('start');
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/HTTP_HOST: .*HTTP_TOKEN_FILE/)]);
  expect(existsSync(mirrorFile(program))).toBe(false);
  expect((await program.run('sync', 'inboxes')).exitCode, 'a pass serves nothing').toBe(0);
});
