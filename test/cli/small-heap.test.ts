import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { type TestProgram, testProgram } from '../support/program.ts';

const BIN = join(import.meta.dirname, '../../bin/inbox-mirror.cjs');

/** Runs a command as its own process, with a heap of 256 MB, which Node takes in a container of 512 MB. */
async function runInSmallHeap({ folder, env }: TestProgram, ...argv: string[]) {
  const child = spawn(process.execPath, ['--max-old-space-size=256', BIN, ...argv], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [[code, signal], stdout] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { end: (code ?? signal) as number | string, stdout };
}

const pageOf = (value: string, times: number): string =>
  `{"results":[{"id":1,"x":[${`${value},`.repeat(times)}${value}]}],"pagination":{"next_page":null}}`;

test('an answer of 15 MB of tiny values costs its list alone, also with a small heap', async () => {
  const program = await testProgram({ inboxes: 2, conversations: 3 });
  await program.run('sync', 'inboxes');
  const [first] = program.sandbox.world.inboxes.keys();
  const numbers = pageOf('1e1', 3_900_000);
  const harmful: Record<string, { status: number; body: string }> = {
    users: { status: 200, body: numbers },
    tags: { status: 200, body: pageOf('{}', 5_200_000) },
    conversations: { status: 400, body: numbers },
  };
  program.sandbox.script(({ path }) => {
    const [, list = ''] = new RegExp(`/inboxes/${first}/(\\w+)`).exec(path) ?? [];
    return harmful[list];
  });

  const { end, stdout } = await runInSmallHeap(program, 'sync', '--json');

  expect(end).toBe(1);
  const { lists } = JSON.parse(stdout) as { lists: { inbox_id: string | null; error: string | null }[] };
  expect(lists.filter(({ inbox_id }) => inbox_id !== first).map(({ error }) => error)).toEqual(
    Array<null>(4).fill(null),
  );
  expect(lists.filter(({ inbox_id }) => inbox_id === first).map(({ error }) => error)).toEqual([
    expect.stringMatching(/^GET .*users \(HTTP 200\): the answer has more than 250,000 values/),
    expect.stringMatching(/^GET .*tags \(HTTP 200\): the answer has more than 250,000 values/),
    expect.stringMatching(/^GET .*conversations was refused \(HTTP 400\)\.$/),
  ]);
});
