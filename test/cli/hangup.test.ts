import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type IPty, spawn } from '@lydell/node-pty';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../support/daemon-process.ts';
import { mirrorFile, newProgram, testProgram } from '../support/program.ts';

const BIN = join(import.meta.dirname, '../../bin/inbox-mirror.cjs');

test.runIf(process.platform === 'linux')(
  'a SIGHUP while the daemon opens its mirror does not end it',
  async () => {
    const program = await testProgram();
    const other = new Sqlite(mirrorFile(program));
    other.exec('BEGIN EXCLUSIVE');
    const daemon = startDaemon(program);
    const { pid } = daemon;
    const files = (): string[] =>
      readdirSync(`/proc/${pid}/fd`).map((file) => {
        try {
          return readlinkSync(`/proc/${pid}/fd/${file}`);
        } catch {
          // It was closed meanwhile.
          return '';
        }
      });
    await expect.poll(files, { interval: 5 }).toContain(mirrorFile(program));
    daemon.process.kill('SIGHUP');
    other.close();
    await daemon.said(/^answering/);
    daemon.process.kill('SIGTERM');
    expect(await daemon.ended).toBe(0);
  },
);

test.each([
  ['', 'start'],
  [', even if its log goes to a file', 'start 2> log.txt'],
])(
  'a daemon in a terminal reads its key file at SIGHUP, and stops when that is closed%s',
  async (_what, line) => {
    const program = await newProgram({ inboxes: 1 }, { READ_PAGES: 'off', HTTP_PORT: '0' });
    const terminal = spawn('sh', ['-c', `exec "$NODE" "$BIN" ${line}`], {
      cwd: program.folder,
      cols: 100,
      env: { PATH: process.env['PATH'], NODE: process.execPath, BIN, ...program.env },
    });
    onTestFinished(() => terminal.kill('SIGKILL'));
    let shown = '';
    const log = join(program.folder, 'log.txt');
    const logged = (): string => (existsSync(log) ? readFileSync(log, 'utf8') : '');
    const exited = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
    const saw = async (words: RegExp): Promise<void> =>
      await expect.poll(() => shown + logged(), { interval: 20 }).toMatch(words);
    terminal.onData((text) => (shown += text));

    await saw(/conversations .*complete/);
    await saw(/Open http:\/\/127\.0\.0\.1:\d+ in a browser\./);
    await saw(/first copy complete/);
    process.kill(terminal.pid, 'SIGHUP');
    await saw(/SIGHUP: reloading the API key/);
    // The types leave this method out.
    (terminal as IPty & { destroy(): void }).destroy();
    expect(await exited).toBe(0);
    const mirror = new Sqlite(mirrorFile(program), { readonly: true });
    expect(mirror.prepare(`SELECT pid FROM leases WHERE name = 'writer'`).all()).toEqual([]);
    mirror.close();
  },
);
