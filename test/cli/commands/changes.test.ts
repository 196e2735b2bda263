import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { mirrorFile, type TestProgram, testProgram } from '../../support/program.ts';
import { parseLines } from '../../support/rows.ts';

const BIN = join(import.meta.dirname, '../../../bin/inbox-mirror.cjs');

interface Line {
  readonly id: number;
  readonly cursor: string;
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

test('after a restored backup the changes command refuses a lost cursor, also once its id is used again', async () => {
  const program = await withHistory();
  const file = mirrorFile(program);
  const known = (await linesOf(program)).at(-1);
  copyFileSync(file, `${file}.backup`);
  program.sandbox.applyEvents(25);
  await program.run('sync');
  const lost = (await linesOf(program)).at(-1);
  expect(lost?.cursor).toMatch(new RegExp(`^${String(lost?.id)}-[0-9a-f]{12}$`));
  for (const side of ['-wal', '-shm']) rmSync(`${file}${side}`, { force: true });
  renameSync(`${file}.backup`, file);
  program.sandbox.applyEvents(80);
  await program.run('sync');
  expect((await linesOf(program)).at(-1)?.id).toBeGreaterThan(lost?.id ?? 0);

  const { exitCode, stderr, stdout } = await program.run('changes', '--since-id', String(lost?.cursor));
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(
    /read on after \d+-[0-9a-f]{12}; or read all changes after 0/,
  );
  const again = await linesOf(program, '--since-id', String(known?.cursor));
  expect(again[0]?.id).toBe((known?.id ?? 0) + 1);
});

test('doctor --new-epoch makes the changes command refuse the cursors of later changes', async () => {
  const program = await withHistory();
  const file = mirrorFile(program);
  const known = (await linesOf(program)).at(-1);
  const { stdout } = await program.run('doctor', '--new-epoch');
  expect(stdout).toMatch(new RegExp(`feed +epoch [0-9a-f]{12} begins after change ${String(known?.id)}`));
  const declared = new DatabaseSync(file);
  const [epoch] = declared.prepare('SELECT epoch FROM epochs ORDER BY after_id DESC LIMIT 1').all();
  // The same writer could go on in a machine that was set back with its memory: its changes get the new epoch.
  declared.exec(
    `INSERT INTO changes (observed_at, list, item_id, field) VALUES ('2026-03-02T08:00:00.000+00:00', 'tags', '1', 'name')`,
  );
  declared.close();
  expect((await linesOf(program, '--since-id', String(known?.cursor))).map(({ cursor }) => cursor)).toEqual([
    `${(known?.id ?? 0) + 1}-${String(epoch?.['epoch'])}`,
  ]);
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
