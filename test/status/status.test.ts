import { hostname } from 'node:os';
import SqliteDatabase from 'better-sqlite3';
import { expect, test } from 'vitest';
import { MINUTE } from '../../src/core/clock.ts';
import type { Database } from '../../src/database/database.ts';
import { statusAsText } from '../../src/cli/output/status/status.ts';
import { targetOf } from '../../src/mirror/history/deliveries.ts';
import { acquireLease } from '../../src/mirror/lease.ts';
import { openWriter } from '../../src/mirror/mirror.ts';
import { readStatus } from '../../src/mirror/status.ts';
import { readConfig } from '../../src/session/config/config.ts';
import { DAEMON_COMMAND } from '../../src/session/lease/live-daemon.ts';
import { statusAsJson } from '../../src/status/json.ts';
import { judge, type Observer } from '../../src/status/judge.ts';
import type { WholeStatus } from '../../src/status/observe.ts';
import { served } from '../daemon/http/served.ts';
import { TestClock } from '../support/clock.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { mirrorFile, type TestProgram, testProgram } from '../support/program.ts';
import { freshMirrorFile } from '../support/template.ts';

const CONFIG = readConfig({}, '/', { service: false });
const PIPE = { write: () => undefined };
const WAITING = { lists: 3, requests: 12, until: new Date('2026-03-02T08:00:02.000Z') };
const PASS = {
  id: 1,
  kind: 'sync',
  requestedBy: 'inbox-mirror sync',
  ordered: true,
  requestedAt: new Date('2026-03-02T07:59:00.000Z'),
  startedAt: new Date('2026-03-02T07:59:30.000Z'),
} as const;
const WRITER = { host: 'test-host', pid: 41, isAlive: () => true };

async function leased(command: string) {
  const clock = new TestClock();
  const database = await temporaryDatabase(await freshMirrorFile());
  const lease = await acquireLease(database, { ...WRITER, command, now: clock.now });
  return { clock, database, lease, writer: openWriter(database, lease) };
}

/** A mirror of a daemon whose next slot is 29 minutes ahead. */
async function scheduled() {
  const mirror = await leased(DAEMON_COMMAND);
  await mirror.writer.schedules.write({
    list: 'inboxes',
    expression: '0 * * * *',
    timezone: 'UTC',
    dueSince: null,
    nextAt: new Date(mirror.clock.now() + 29 * MINUTE),
  });
  return mirror;
}

async function judged(database: Database, now: number, self: Partial<Observer> = {}): Promise<WholeStatus> {
  const observer = { ...WRITER, pid: 42, isWriter: false, ...self };
  const circumstances = { now, config: CONFIG, databaseName: 'mirror.db', self: observer };
  const judgement = judge(await readStatus(database, now), circumstances);
  const spent = { wholeLists: 0, singlePages: 0, lookups: 0, commands: 0, byHour: [] };
  const fullUntil = { manual: null, scheduled: null };
  const apart = { delay: null, fullUntil, orderWait: null, waiting: null, webhook: null } as const;
  return { ...judgement, ...apart, spent, outlook: null, nextReading: null, nextWalk: null };
}

function outageUntil(now: number, until: number) {
  return { since: new Date(now - 12 * MINUTE), until: new Date(until), cause: 'connection refused' };
}

test('an outage makes a fresh mirror unhealthy, and the JSON shows it with its cause', async () => {
  const { clock, mirror, status, sync } = await served();
  await sync();
  expect((await status()).healthy).toBe(true);
  const now = clock.now();
  await mirror.writer.writeOutage(outageUntil(now, now + 3 * MINUTE));
  expect(JSON.parse(statusAsJson(await status()))).toMatchObject({
    healthy: false,
    outage: {
      since: new Date(now - 12 * MINUTE).toISOString(),
      until: new Date(now + 3 * MINUTE).toISOString(),
      cause: 'connection refused',
    },
  });
});

test('an outage that ended over a minute ago is reported only while a process holds the lease', async () => {
  const { clock, database, lease, writer } = await leased(DAEMON_COMMAND);
  const now = clock.now();
  await writer.writeOutage(outageUntil(now, now - MINUTE - 1));
  expect((await judged(database, now)).outage).toMatchObject({ cause: 'connection refused' });
  await lease.release();
  expect((await judged(database, now)).outage).toBeNull();
  expect((await judged(database, now - 1)).outage).toMatchObject({ cause: 'connection refused' });
});

test('a daemon distinguishes its lease from one of an earlier process with the same pid', async () => {
  const { clock, database } = await leased(DAEMON_COMMAND);
  const seenBy = async (self: Partial<Observer>) => (await judged(database, clock.now(), self)).leaseHeld;
  expect(await seenBy({ pid: WRITER.pid, isWriter: true })).toBe(true);
  expect(await seenBy({ pid: WRITER.pid, isWriter: false })).toBe(false);
  expect(await seenBy({ pid: 42, isAlive: () => false })).toBe(false);
  clock.advance(31_000);
  expect(await seenBy({ pid: WRITER.pid, isWriter: true }), 'it has run out').toBe(false);
});

test('the status reports a running daemon only while a daemon holds the lease', async () => {
  const daemon = await leased(DAEMON_COMMAND);
  expect((await judged(daemon.database, daemon.clock.now())).daemonRuns).toBe(true);
  await daemon.lease.release();
  expect((await judged(daemon.database, daemon.clock.now())).daemonRuns).toBe(false);
  const command = await leased('inbox-mirror sync');
  expect(await judged(command.database, command.clock.now())).toMatchObject({
    leaseHeld: true,
    daemonRuns: false,
  });
});

test('a daemon that runs and renews its lease no more is not called absent', async () => {
  const { clock, database } = await leased(DAEMON_COMMAND);
  clock.advance(3 * MINUTE);
  const silent = statusAsText(PIPE, await judged(database, clock.now()), false);
  expect(silent).toContain('the daemon has ended or cannot write');
  expect(silent).toContain(
    'expired: `inbox-mirror start`, process 41 on test-host, last renewed it 3 min ago',
  );
  const killed = statusAsText(PIPE, await judged(database, clock.now(), { isAlive: () => false }), false);
  expect(killed).toContain('no daemon is running');
  expect(killed).toContain('lease    free');
});

test('the JSON shows schedules in the order of the lists, with what is due', async () => {
  const { clock, database, writer } = await leased(DAEMON_COMMAND);
  const nextAt = new Date(clock.now() + 15 * MINUTE);
  const schedule = { expression: '*/15 * * * *', timezone: 'UTC', nextAt };
  await writer.schedules.write({
    ...schedule,
    list: 'conversations',
    dueSince: new Date(clock.now()),
  });
  await writer.schedules.write({ ...schedule, list: 'inboxes', dueSince: null });
  const shown = { expression: '*/15 * * * *', timezone: 'UTC', next_at: '2026-03-02T08:15:00.000Z' };
  expect(
    (JSON.parse(statusAsJson(await judged(database, clock.now()))) as { schedules: unknown }).schedules,
  ).toEqual([
    { list: 'inboxes', ...shown, due_since: null },
    { list: 'conversations', ...shown, due_since: '2026-03-02T08:00:00.000Z' },
  ]);
});

function fromNow(minutes: number): string {
  return new Date(Date.now() + minutes * MINUTE + 5000).toISOString();
}

/** Writes the rows that a daemon running beside the test would leave. */
function playDaemon(program: TestProgram): void {
  const database = new SqliteDatabase(mirrorFile(program));
  database
    .prepare(
      `INSERT INTO leases (name, holder, host, pid, command, acquired_at, heartbeat_at, expires_at) VALUES ('writer', 'h', ?, ?, ?, ?, ?, ?)`,
    )
    .run(hostname(), process.ppid, DAEMON_COMMAND, fromNow(-60), fromNow(0), fromNow(0.4));
  database.exec('DELETE FROM schedules');
  const schedule = database.prepare(
    `INSERT INTO schedules (list, expression, timezone, next_at) VALUES (?, '0 * * * *', 'UTC', ?)`,
  );
  schedule.run('users', fromNow(180));
  schedule.run('inboxes', fromNow(12));
  schedule.run('tags', fromNow(-1));
  database
    .prepare(`INSERT INTO gate_state (id, outage_since, outage_until, outage_cause) VALUES (1, ?, ?, 'connection refused')
      ON CONFLICT (id) DO UPDATE SET outage_since = excluded.outage_since, outage_until = excluded.outage_until, outage_cause = excluded.outage_cause`)
    .run(fromNow(-12.2), fromNow(3));
  database.close();
}

test('`status` shows the outage and, while a daemon runs, when each kind of list is next read', async () => {
  const program = await testProgram({ conversations: [5] });
  await program.run('sync');
  expect((await program.run('status')).stdout).not.toMatch(/^(service|next) /m);
  playDaemon(program);
  const { stdout, exitCode } = await program.run('status');
  expect(stdout).toMatch(
    /^service {2}out of reach for 12 min( \d+ s)?, next attempt in 3 min( \d+ s)? \(connection refused\)$/m,
  );
  expect(stdout).toMatch(/^next {5}inboxes in 12 min( \d+ s)?, users in 3 h, tags in 3 min( \d+ s)?$/m);
  expect(stdout).toMatch(/out of reach; .* requests used; next attempt in 3 min( \d+ s)?\.$/m);
  expect(exitCode).toBe(5);
});

test('an outage in which the service answers 429 is not called out of reach', async () => {
  const { clock, database, writer } = await scheduled();
  const until = clock.now() + MINUTE;
  const cause = 'GET /inboxes/7/tags: HTTP 429: Too Many Requests';
  await writer.writeOutage({ ...outageUntil(clock.now(), until), cause });
  const text = statusAsText(PIPE, await judged(database, clock.now()), false);
  expect(text).toContain('; the service answers, but refuses requests (HTTP 429); ');
  expect(text).toContain('because the service answers, but refuses requests (HTTP 429): see "service"');
  expect(text).toMatch(
    /^service {2}answers, but refuses requests \(HTTP 429\) for 12 min, next attempt in 1 min \(GET/m,
  );
  expect(text).not.toContain('out of reach');
});

test('an outage has one wait in all texts, also while its retry is due', async () => {
  const { clock, database, writer } = await scheduled();
  const textAt = async (until: number): Promise<string> => {
    await writer.writeOutage(outageUntil(clock.now(), until));
    const status = { ...(await judged(database, clock.now())), waiting: WAITING, openPasses: [PASS] };
    const wait = { kind: 'outage' as const, cause: null, until: new Date(until) };
    return statusAsText(PIPE, { ...status, orderWait: wait }, false);
  };
  const early = await textAt(clock.now() + MINUTE);
  expect(early).toContain('next attempt in 1 min.\n');
  expect(early).toContain(
    'requests stopped until 08:01 UTC, in 1 min, because the service is out of reach: see "service"\n',
  );
  expect(early.split('connection refused')).toHaveLength(2);
  expect(early).toContain('waiting  3 due lists, 12 requests in all; they begin when the outage is over');
  expect(early).toContain('waits (outage), resumes in 1 min');
  const due = await textAt(clock.now() - 11_000);
  expect(due).toContain('next attempt now.\n');
  expect(due).toContain('requests trying again now, because the service is out of reach');
  expect(due).toContain('waits (outage), resumes now');
  expect(due).not.toMatch(/flowing|resumes \d/);
});

test('the first line names the end of a pause or of a wait for the account, not the next schedule', async () => {
  const { clock, database } = await scheduled();
  const status = await judged(database, clock.now());
  const firstLine = (waits: Partial<WholeStatus>): string | undefined =>
    statusAsText(PIPE, { ...status, ...waits }, false).split('\n')[0];
  const until = new Date(clock.now() + 5 * MINUTE);
  const since = new Date(clock.now() - MINUTE);
  const gate = { ...status.gate, strikes: 1, pausedAt: since, pausedUntil: until };
  expect(firstLine({})).toContain('; next reading in 29 min.');
  expect(firstLine({ gate })).toContain('; next reading in 5 min.');
  const outage = { since, until: new Date(until), cause: 'HTTP 503' };
  expect(firstLine({ gate, outage })).toContain('; next attempt in 5 min.');
  const otherAccount = { since, until, cause: 'another', access: 'x' };
  expect(firstLine({ otherAccount })).toContain('; next attempt in 5 min.');
  expect(statusAsText(PIPE, { ...status, otherAccount, daemonRuns: false }, false)).toContain(
    'found 1 min ago; the next `sync`, or a daemon, tests it again. another',
  );
  const fullUntil = { manual: null, scheduled: new Date(clock.now() + 10 * MINUTE) };
  expect(firstLine({ gate, fullUntil })).toContain('; next reading in 10 min.');
});

test('`status` shows what a webhook has not accepted, and when the daemon retries', async () => {
  const program = await testProgram({ conversations: [5] });
  await program.run('sync');
  expect((await program.run('status')).stdout).not.toMatch(/^webhook/m);
  program.env['WEBHOOK_URL'] = 'https://receiver.example/hook?token=t0p';
  program.env['WEBHOOK_SECRET'] = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  expect((await program.run('status')).stdout).toMatch(/^webhook {2}not begun: .* next start of the daemon/m);
  const database = new SqliteDatabase(mirrorFile(program));
  database
    .prepare(
      `INSERT INTO webhooks (target, last_id, failures, retry_at, cause, updated_at) VALUES (?, 0, 3, ?, 'HTTP 500', ?)`,
    )
    .run(targetOf(program.env['WEBHOOK_URL']), fromNow(18), fromNow(0));
  database
    .prepare(
      `INSERT INTO changes (observed_at, list, inbox_id, item_id, field, new_value, sweep_id) SELECT ?, 'tags', inbox_id, id, 'name', 'x', 1 FROM inbox_tags LIMIT 2`,
    )
    .run(fromNow(0));
  database.close();
  const failed = 'webhook  2 changes to deliver, failed 3 times, next attempt';
  expect((await program.run('status')).stdout).toContain(`${failed} when a daemon runs (HTTP 500)\n`);
  playDaemon(program);
  const { stdout } = await program.run('status');
  expect(stdout).toMatch(new RegExp(`^${failed} in 1[78] min( \\d+ s)? \\(HTTP 500\\)$`, 'm'));
  expect(stdout).not.toContain('t0p');
  const later = new SqliteDatabase(mirrorFile(program));
  later.prepare('UPDATE webhooks SET retry_at = ?').run(fromNow(-1));
  expect((await program.run('status')).stdout).toContain(`${failed} now (HTTP 500)\n`);
  later.exec(
    'UPDATE webhooks SET failures = 0, retry_at = NULL, set_aside = 2, set_aside_id = 1, last_id = 9',
  );
  later.close();
  expect((await program.run('status')).stdout.replaceAll(/\s+/g, ' ')).toContain(
    'webhook every other change is delivered, 2 changes refused and set aside, the newest with id 1',
  );
});

test('with only the reserve left, `status` names the time at which scheduled work has room again', async () => {
  const program = await testProgram(
    { conversations: [5] },
    { REQUESTS_PER_DAY: '20', REQUESTS_RESERVED: '8' },
  );
  await program.run('sync');
  playDaemon(program);
  const database = new SqliteDatabase(mirrorFile(program));
  database.exec('DELETE FROM requests');
  const insert = database.prepare(`INSERT INTO requests (sent_at, method, path, reason, status, duration_ms)
    VALUES (?, 'GET', '/v1/inboxes', 'schedule', 200, 1)`);
  // 15 of the 12 that scheduled work may send: it waits until the fourth has left the window.
  for (let nth = 1; nth <= 15; nth++) insert.run(fromNow(-24 * 60 + nth * 60));
  database.close();
  const { stdout } = await program.run('status');
  // A request counts for half a minute more than 24 hours.
  expect(stdout).toMatch(/^service .*, next attempt in 4 h 1 min \(connection refused\)$/m);
  expect(stdout).toMatch(/^next {5}inboxes in 4 h 1 min, users in 4 h 1 min, tags in 4 h 1 min$/m);
  expect(stdout).toMatch(/^budget .* 5 left \(8 kept for manual commands\)$/m);
});
