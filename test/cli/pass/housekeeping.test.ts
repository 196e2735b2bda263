import { expect, test } from 'vitest';
import { askMirror, tamper, type TestProgram, testProgram } from '../../support/program.ts';

/** SQL for noon so many days ago. */
const noon = (days: number): string => `strftime('%Y-%m-%dT12:00:00.000+00:00', 'now', '-${days} days')`;

/** A mirror that has had requests so many days ago, as by cron. */
async function syncedBefore(days: number): Promise<TestProgram> {
  const program = await testProgram({ inboxes: 1, conversations: 5 });
  await program.run('sync');
  tamper(program, `UPDATE requests SET sent_at = ${noon(days)}`);
  return program;
}

const COUNT_OLD = `SELECT count(*) AS old FROM requests WHERE sent_at < ${noon(2)}`;

test('a sync where no daemon runs deletes the requests that are a day beyond their 30 days', async () => {
  const program = await syncedBefore(32);
  expect(await program.run('sync')).toMatchObject({ exitCode: 0 });
  expect(askMirror(program, COUNT_OLD)).toEqual({ old: 0 });
});

test('a sync deletes no requests of 29 days', async () => {
  const program = await syncedBefore(29);
  expect(await program.run('sync')).toMatchObject({ exitCode: 0 });
  expect(askMirror(program, COUNT_OLD)).toEqual({ old: 4 });
});

test('a sync that cannot delete old rows reports what it read, and says so', async () => {
  const program = await syncedBefore(32);
  tamper(program, `CREATE TRIGGER full BEFORE DELETE ON requests BEGIN SELECT RAISE(ABORT, 'no space'); END`);
  const { exitCode, stdout, stderr } = await program.run('sync');
  expect(exitCode).toBe(0);
  expect(stdout).toContain('conversations');
  expect(stderr).toContain('old rows were not deleted; the next sync tries again');
  expect(stderr).toContain('no space');
});

test('a sync that is stopped reports what it read, and has deleted old rows before', async () => {
  const program = await syncedBefore(32);
  const from = program.sandbox.arrivals.length;
  const { exitCode, stdout } = await program.runUntil(
    () => program.sandbox.arrivals.length - from >= 2,
    'sync',
  );
  expect(exitCode).toBe(130);
  expect(stdout).toMatch(/inboxes .* complete/);
  expect(askMirror(program, COUNT_OLD)).toEqual({ old: 0 });
});
