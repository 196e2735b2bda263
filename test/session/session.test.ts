import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Display, type Session, withSession } from '../../src/session/session.ts';
import type { Io } from '../../src/session/terminal.ts';
import { newProgram, quietIo } from '../support/program.ts';

/** The world of a command whose stderr is kept in `lines`. */
async function commandIo(): Promise<{ io: Io; lines: string[] }> {
  const lines: string[] = [];
  const stderr = { write: (line: string) => lines.push(line) };
  return { io: quietIo(await newProgram(), { stderr }), lines };
}

const messages = (lines: readonly string[]): string[] =>
  lines.map((line) => (JSON.parse(line) as { msg: string }).msg);

test('an attached display gets the log lines of a session, and stderr the others', async () => {
  const { io, lines } = await commandIo();
  const shown: string[] = [];
  const display: Display = { writeLog: (line) => shown.push(line), gateEvent: () => undefined };
  await withSession(io, async ({ attach, log }) => {
    log.warn('before');
    const detach = attach(display);
    log.warn('meanwhile');
    detach();
    log.warn('after');
  });
  expect(messages(shown)).toEqual(['meanwhile']);
  expect(messages(lines)).toEqual(['before', 'after']);
});

test('a key that changes in .env is noticed, and one in the environment comes before it', async () => {
  const { io } = await commandIo();
  const { INBOX_API_KEY: first = '', ...rest } = io.env;
  const write = (key: string): void => writeFileSync(join(io.cwd, '.env'), `INBOX_API_KEY=${key}\n`);
  write(first);
  await withSession({ ...io, env: rest }, async ({ keys }) => {
    expect([keys.reload(), keys.current()]).toEqual([false, first]);
    write('another-key');
    expect([keys.reload(), keys.current()]).toEqual([true, 'another-key']);
    rmSync(join(io.cwd, '.env'));
    expect(() => keys.reload()).toThrow('INBOX_API_KEY');
    expect(keys.current()).toBe('another-key');
  });
  write('another-key');
  await withSession(io, async ({ keys }) => {
    expect([keys.reload(), keys.current()]).toEqual([false, first]);
  });
});

test('a new key in .env that comes with another address is not used before a restart', async () => {
  const { io } = await commandIo();
  const { INBOX_API_KEY: first = '', INBOX_API_URL: url = '', ...env } = io.env;
  const write = (key: string, more: string): void =>
    writeFileSync(join(io.cwd, '.env'), `INBOX_API_KEY=${key}\n${more}\n`);
  write(first, `INBOX_API_URL=${url}`);
  await withSession({ ...io, env }, async ({ keys }) => {
    for (const more of [
      'INBOX_API_URL=https://other.test/v1',
      `INBOX_API_URL=${url}\nHTTPS_PROXY=http://p.test`,
    ]) {
      write('key-of-another-service', more);
      expect(() => keys.reload()).toThrow(/(?:INBOX_API_URL|HTTPS_PROXY) has changed too.*restart/s);
      expect(keys.current()).toBe(first);
    }
    write(first, 'INBOX_API_URL=https://other.test/v1');
    expect(keys.reload(), 'the same key').toBe(false);
    write('renewed-key', `INBOX_API_URL=${url}`);
    expect([keys.reload(), keys.current()]).toEqual([true, 'renewed-key']);
  });
});

test('a new key that the address contains is not used', async () => {
  const { io } = await commandIo();
  const { INBOX_API_KEY: first = '', INBOX_API_URL: url = '', ...rest } = io.env;
  const env = { ...rest, INBOX_API_URL: url.replace('/v1', '/renewed-key/v1') };
  const write = (key: string): void => writeFileSync(join(io.cwd, '.env'), `INBOX_API_KEY=${key}\n`);
  write(first);
  await withSession({ ...io, env }, ({ keys }) => {
    write('renewed-key');
    expect(() => keys.reload()).toThrow('INBOX_API_URL: contains the API key');
    expect(keys.current()).toBe(first);
    return Promise.resolve();
  });
});

test('a session is closed when its work ends, and when its work fails', async () => {
  const { io } = await commandIo();
  const released: string[] = [];
  const work = (name: string) => async (session: Session) => {
    session.defer(() => released.push(name));
    if (name === 'fails') throw new Error(name);
    return name;
  };
  expect(await withSession(io, work('ends'))).toBe('ends');
  await expect(withSession(io, work('fails'))).rejects.toThrow('fails');
  expect(released).toEqual(['ends', 'fails']);
});
