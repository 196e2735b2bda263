import { expect, test } from 'vitest';
import { askMirror, tamper, type TestProgram, testProgram } from '../support/program.ts';

interface Check {
  readonly name: string;
  readonly verdict: string;
  readonly message: string;
}

async function withHistory(): Promise<TestProgram> {
  const program = await testProgram({ inboxes: 2, conversations: 40 });
  await program.run('sync');
  program.sandbox.applyEvents(25);
  await program.run('sync');
  return program;
}

function countedDays(program: TestProgram): unknown {
  return (askMirror(program, 'SELECT count(*) AS days FROM counted_days') as { days: number }).days;
}

async function verify(program: TestProgram): Promise<{ exitCode: number; check: Check | undefined }> {
  const { exitCode, stdout } = await program.run('doctor', '--verify', '--json');
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  return { exitCode, check: checks.find(({ name }) => name === 'intervals') };
}

const first = (table: string): string => `id = (SELECT min(id) FROM ${table})`;
/** The days from the first sighting begin today: this one seems to have passed, without sums. */
const COUNT_TODAY = `INSERT INTO counted_days (day, starts_at, ends_at)
  SELECT day, starts_at, ends_at FROM report_days ORDER BY day LIMIT 1`;

const LONG_AGO = `'2020-01-01T00:00:00.000+00:00'`;

/** Each damages the stored intervals, and names the kind and the number of conversations that differ. */
const DAMAGES = [
  [`DELETE FROM status_spans WHERE ${first('status_spans')}`, /^status of 1 conversation differed/],
  [`UPDATE status_spans SET status = 'another'`, /^status of \d\d conversations differed/],
  [
    `UPDATE status_spans SET status_before = 'another' WHERE ${first('status_spans')}`,
    /^status of 1 conversation differed/,
  ],
  [
    `UPDATE assignee_spans SET from_at = ${LONG_AGO} WHERE ${first('assignee_spans')}`,
    /^assignee of 1 conversation differed/,
  ],
  [
    `UPDATE status_spans SET from_earliest = ${LONG_AGO} WHERE ${first('status_spans')}`,
    /^status of 1 conversation differed/,
  ],
  [`UPDATE tag_spans SET to_at = from_at WHERE ${first('tag_spans')}`, /^tag of 1 conversation differed/],
  [
    `INSERT INTO tag_spans (inbox_id, conversation_id, tag_id, from_at, is_lower_bound)
     SELECT inbox_id, conversation_id, tag_id, from_at, is_lower_bound FROM tag_spans
     WHERE ${first('tag_spans')}`,
    /^tag of 1 conversation differed/,
  ],
] as const;

test('doctor --verify finds each kind of damage to the stored intervals, and repairs it', async () => {
  const program = await withHistory();
  const sound = {
    exitCode: 0,
    check: { name: 'intervals', verdict: 'ok', message: 'all agree with `changes`' },
  };
  expect(await verify(program)).toEqual(sound);
  for (const [damage, message] of DAMAGES) {
    tamper(program, damage);
    expect(await verify(program), damage).toMatchObject({
      exitCode: 0,
      check: { verdict: 'warning', message: expect.stringMatching(message) as string },
    });
    expect(await verify(program), damage).toEqual(sound);
  }
});

test('doctor --verify finds wrong sums of a day, and counts it again', async () => {
  const program = await withHistory();
  tamper(program, COUNT_TODAY);
  expect(await verify(program)).toMatchObject({
    exitCode: 0,
    check: {
      verdict: 'warning',
      message: expect.stringMatching(
        /^sums of 1 day differed .*, such as 20..-..-..; they were replaced$/,
      ) as string,
    },
  });
  expect((await verify(program)).check).toMatchObject({ verdict: 'ok' });
});

test('a sync stores the sums of the days that have passed', async () => {
  const program = await withHistory();
  expect(countedDays(program)).toBe(0);
  tamper(
    program,
    `UPDATE inboxes SET first_seen_at = strftime('%Y-%m-%dT12:00:00.000+00:00', 'now', '-3 days')`,
  );
  await program.run('sync');
  expect(countedDays(program)).toBe(3);
  expect((await verify(program)).check).toMatchObject({ verdict: 'ok' });
});

test('a sync that cannot store the sums of past days reports what it read, and says so', async () => {
  const program = await withHistory();
  tamper(
    program,
    `UPDATE inboxes SET first_seen_at = strftime('%Y-%m-%dT12:00:00.000+00:00', 'now', '-3 days')`,
  );
  tamper(
    program,
    `CREATE TRIGGER full BEFORE INSERT ON counted_days BEGIN SELECT RAISE(ABORT, 'no space'); END`,
  );
  const { exitCode, stdout, stderr } = await program.run('sync');
  expect(exitCode).toBe(0);
  expect(stdout).toContain('conversations');
  expect(stderr).toContain('the sums of past days were not stored; the next sync tries again');
  expect(stderr).toContain('no space');
});

test('doctor --verify replaces nothing while another process writes, says so and exits 4', async () => {
  const program = await withHistory();
  tamper(program, `DELETE FROM status_spans WHERE ${first('status_spans')}`);
  tamper(program, COUNT_TODAY);
  tamper(
    program,
    `INSERT INTO leases (name, holder, host, pid, command, acquired_at, heartbeat_at, expires_at)
     SELECT 'writer', 'another', 'another-host', 1, 'inbox-mirror start', at, at, later FROM (SELECT
       strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now') AS at,
       strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', '+20 seconds') AS later)`,
  );
  expect(await verify(program)).toMatchObject({
    exitCode: 4,
    check: {
      verdict: 'failed',
      message: expect.stringMatching(
        /^status of 1 .*; sums of 1 day .*; nothing was replaced\. Another .* is writing/s,
      ) as string,
    },
  });
  tamper(program, `DELETE FROM leases`);
  expect((await verify(program)).check).toMatchObject({ verdict: 'warning' });
  expect((await verify(program)).check).toMatchObject({ verdict: 'ok' });
});
