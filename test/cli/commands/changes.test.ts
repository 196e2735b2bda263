import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { type TestProgram, testProgram } from '../../support/program.ts';
import { parseLines } from '../../support/rows.ts';

const BIN = join(import.meta.dirname, '../../../bin/inbox-mirror.cjs');

interface Line {
  readonly id: number;
  readonly field: string;
  readonly list: string;
  readonly observed_at: string;
}

/** A mirror with a baseline and the changes of two later passes. */
async function withHistory(): Promise<TestProgram> {
  const program = await testProgram({ inboxes: 2, conversations: 40 });
  await program.run('sync');
  for (let pass = 0; pass < 2; pass += 1) {
    program.sandbox.applyEvents(25);
    await program.run('sync');
  }
  return program;
}

async function linesOf(program: TestProgram, ...argv: string[]): Promise<Line[]> {
  const { stdout } = await program.run('changes', '--format', 'ndjson', ...argv);
  return parseLines<Line>(stdout);
}

test('the changes command prints the oldest change first, in every format', async () => {
  const program = await withHistory();
  const lines = await linesOf(program);
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.map(({ id }) => id)).toEqual(lines.map((_, index) => index + 1));
  expect(JSON.parse((await program.run('changes', '--format', 'json')).stdout)).toEqual(lines);
  const csv = (await program.run('changes', '--format', 'csv')).stdout.trim().split('\n');
  expect(csv[0]).toBe(Object.keys(lines[0] ?? {}).join(','));
  expect(csv).toHaveLength(lines.length + 1);
  const { stdout } = await program.run('changes');
  expect(stdout.split('\n')[0]).toMatch(
    /^id +observed_at +previously_seen_at +list +inbox_id +item_id +field +old_value +new_value$/,
  );
});

test('the changes command combines its filters, and a cursor resumes without loss or repeat', async () => {
  const program = await withHistory();
  const all = await linesOf(program);
  const status = await linesOf(program, '--list', 'conversations', '--field', 'status');
  expect(status).toEqual(all.filter(({ field, list }) => field === 'status' && list === 'conversations'));
  expect(status.length).toBeGreaterThan(0);
  const first = await linesOf(program, '--since-id', '0', '--limit', '7');
  const rest = await linesOf(program, '--since-id', String(first.at(-1)?.id));
  expect([...first, ...rest]).toEqual(all);
  expect(await linesOf(program, '--limit', '3')).toEqual(all.slice(-3));
  const middle = all[Math.floor(all.length / 2)];
  expect(await linesOf(program, '--since', String(middle?.observed_at))).toEqual(
    all.filter(({ observed_at }) => observed_at >= String(middle?.observed_at)),
  );
  expect(await linesOf(program, '--since-id', String(all.at(-1)?.id))).toEqual([]);
});

test('the changes command prints an empty result of a mirror without changes, in every format', async () => {
  const program = await testProgram({ inboxes: 1 });
  await program.run('sync');
  expect((await program.run('changes')).stdout).toBe('(no changes)\n');
  expect((await program.run('changes', '--format', 'json')).stdout).toBe('[]\n');
  expect((await program.run('changes', '--format', 'ndjson')).stdout).toBe('');
  expect((await program.run('changes', '--format', 'csv')).stdout).toMatch(/^id,observed_at,/);
});

test.each([
  [['--since', 'yesterday'], '--since: expected'],
  [['--since-id', '-1'], '--since-id: expected a whole number'],
  [['--limit', 'many'], '--limit: expected a whole number'],
  [['--list', 'mails'], 'inboxes, users, tags, conversations'],
  [['--follow', '--format', 'json'], '--format ndjson'],
])('the changes command refuses %j with exit code 2 and a reason', async (argv, sentence) => {
  const program = await testProgram();
  const { exitCode, stderr } = await program.run('changes', ...argv);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(sentence)]);
});

test('the changes command refuses an id beyond the newest change, with exit code 2 and advice', async () => {
  const program = await withHistory();
  const last = (await linesOf(program)).at(-1)?.id ?? 0;
  const beyond = String(last + 1);
  for (const argv of [[beyond], [beyond, '--follow', '--format', 'ndjson'], [beyond, '--field', 'status']]) {
    const { exitCode, stderr } = await program.run('changes', '--since-id', ...argv);
    expect(exitCode).toBe(2);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      `The mirror has no change ${beyond}: the newest is ${last}.`,
    );
  }
});

test('before the first sync the changes command exits 2 and reports that there is no mirror', async () => {
  const program = await testProgram();
  const { exitCode, stderr } = await program.run('changes');
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('no mirror')]);
});

test('a consumer that is killed and resumes after its last id gets each change exactly once', async () => {
  const program = await testProgram({ inboxes: 2, conversations: 40 });
  await program.run('sync');
  const seen: number[] = [];
  const env = { PATH: process.env['PATH'], ...program.env, LOG_LEVEL: 'silent' };
  const consume = async (until: (ids: readonly number[]) => boolean): Promise<void> => {
    const args = [BIN, 'changes', '--follow', '--format', 'ndjson', '--since-id', String(seen.at(-1) ?? 0)];
    const child = spawn(process.execPath, args, {
      cwd: program.folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    for await (const line of createInterface({ input: child.stdout })) {
      seen.push((JSON.parse(line) as Line).id);
      if (until(seen)) break;
    }
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  };
  const writing = (async () => {
    for (let pass = 0; pass < 6; pass += 1) {
      program.sandbox.applyEvents(60);
      await promisify(execFile)(process.execPath, [BIN, 'sync'], { cwd: program.folder, env });
    }
  })();
  for (const stop of [5, 17, 60, 61, 120]) await consume((ids) => ids.length >= stop);
  await writing;
  const all = (await linesOf(program)).map(({ id }) => id);
  await consume((ids) => ids.length >= all.length);
  expect(seen).toEqual(all);
});
