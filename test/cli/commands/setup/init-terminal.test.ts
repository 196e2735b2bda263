import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import { expect, onTestFinished, test } from 'vitest';
import { newProgram, SECRET } from '../../../support/program.ts';

const BIN = join(import.meta.dirname, '../../../../bin/inbox-mirror.cjs');

test('init in a terminal shows nothing that is typed before a hidden question or while it checks', async () => {
  const { folder, sandbox, env } = await newProgram({ inboxes: 1 });
  const { INBOX_API_URL: url, INBOX_API_KEY: _key, ...others } = env;
  const terminal = spawn(process.execPath, [BIN, 'init'], {
    cwd: folder,
    cols: 100,
    env: { PATH: process.env['PATH'], HOME: folder, TERM: 'xterm', ...others },
  });
  onTestFinished(() => terminal.kill('SIGKILL'));
  let shown = '';
  terminal.onData((text) => (shown += text));
  const exited = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
  sandbox.script(() => {
    terminal.write(`${SECRET}\r${SECRET}\u0003`);
    return 'hang';
  });

  await expect.poll(() => shown, { interval: 20 }).toContain('Address of the service');
  terminal.write(`${url}\r${SECRET}\r`);
  expect(await exited).toBe(130);
  expect(shown).toContain('API key');
  expect(shown).toMatch(/nothing was written/i);
  expect(shown).not.toContain(SECRET);
  expect(existsSync(join(folder, '.env'))).toBe(false);
});
