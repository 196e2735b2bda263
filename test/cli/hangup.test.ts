import { join } from 'node:path';
import { type IPty, spawn } from '@lydell/node-pty';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { SECOND } from '../../src/core/clock.ts';
import { mirrorFile, testProgram } from '../support/program.ts';

const BIN = join(import.meta.dirname, '../../bin/inbox-mirror.cjs');

test('a daemon in a terminal reads its key file at SIGHUP, and stops when the terminal is closed', async () => {
  const program = await testProgram({ inboxes: 1 }, { READ_PAGES: 'off', HTTP_PORT: '0' });
  const terminal = spawn(process.execPath, [BIN, 'start'], {
    cwd: program.folder,
    cols: 100,
    env: { PATH: process.env['PATH'], ...program.env },
  });
  onTestFinished(() => terminal.kill('SIGKILL'));
  let shown = '';
  const exited = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
  const saw = async (words: RegExp): Promise<void> =>
    await expect.poll(() => shown, { timeout: 10 * SECOND, interval: 20 }).toMatch(words);
  terminal.onData((text) => (shown += text));

  await saw(/conversations .*complete/);
  process.kill(terminal.pid, 'SIGHUP');
  await saw(/SIGHUP: reloading the API key/);
  // The types leave this method out.
  (terminal as IPty & { destroy(): void }).destroy();
  expect(await exited).toBe(0);
  const mirror = new Sqlite(mirrorFile(program), { readonly: true });
  expect(mirror.prepare(`SELECT pid FROM leases WHERE name = 'writer'`).all()).toEqual([]);
  mirror.close();
});
