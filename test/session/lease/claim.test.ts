import SqliteDatabase from 'better-sqlite3';
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/core/clock.ts';
import { readLease } from '../../../src/mirror/lease.ts';
import { keepLease, thisProcess } from '../../../src/session/lease/claim.ts';
import { daemonHouse } from '../../support/daemon.ts';
import { changesIn, count, nthInbox } from '../../support/rows.ts';
import { quickMirror } from '../../support/template.ts';

const SMALL = { sandbox: { conversations: [25, 15] }, limits: { pageSize: 20 } };

test('the daemon renews its lease through hours without work', async () => {
  const { clock, database, lease } = await quickMirror();
  const kept = keepLease(lease, clock);
  for (let minute = 0; minute < 180; minute += 1) {
    await clock.sleep(MINUTE);
    const held = await readLease(database);
    expect(held!.expiresAt.getTime()).toBeGreaterThan(clock.now() + 10_000);
  }
  kept.stop();
  await clock.sleep(MINUTE);
  expect((await readLease(database))!.expiresAt.getTime()).toBeLessThan(clock.now());
  expect(kept.lost.aborted).toBe(false);
});

test('a lease that another process has taken is reported as lost and not renewed', async () => {
  const { clock, database, lease } = await quickMirror();
  const kept = keepLease(lease, clock);
  await clock.sleep(MINUTE);
  await database.execute(`UPDATE leases SET holder = 'another' WHERE name = 'writer'`);
  await clock.sleep(MINUTE);
  expect(kept.lost.reason).toMatchObject({ code: 'LEASE_LOST' });
  expect((await readLease(database))?.holder).toBe('another');
});

test('a daemon whose lease is taken over ends with LEASE_LOST, and its applied pages stay', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, database } = house;
  const { ended, stop } = await house.start();
  await clock.sleep(5 * MINUTE);
  await database.execute(`UPDATE leases SET holder = 'another' WHERE name = 'writer'`);
  expect(await ended).toMatchObject({ code: 'LEASE_LOST' });
  await stop();
  expect(await count(database, `sweeps WHERE state = 'complete'`)).toBe(7);
  expect((await readLease(database))?.holder, 'it is not released in the name of another').toBe('another');
});

test('the daemon waits out a database that fails for a while, and logs only two lines', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, database } = house;
  const daemon = await house.start();
  await clock.sleep(20 * MINUTE);
  // A wait for the lock would take real time.
  await daemon.database.query('PRAGMA busy_timeout = 0');
  const other = new SqliteDatabase(database.name);
  other.exec('BEGIN IMMEDIATE');
  const lines = house.said().length;
  await clock.sleep(30 * MINUTE);
  other.exec('ROLLBACK');
  other.close();
  await clock.sleep(2 * MINUTE);
  const reported = house
    .said()
    .slice(lines)
    .filter(({ msg }) => msg.includes('database'));
  expect(reported.map(({ level, msg }) => `${level} ${msg}`)).toEqual([
    expect.stringMatching(/^50 the database cannot be used/),
    expect.stringMatching(/^30 the database can be used again/),
  ]);
  expect(await house.late()).toEqual([]);
  expect(await count(database, `sweeps WHERE state IN ('running', 'paused')`)).toBe(0);
});

test.each([
  ['nothing is due', {}, 0],
  ['the budget is spent', { perDay: 10, reserved: 0 }, 20],
])('while %s the daemon polls the database with one query', async (_why, limits, plans) => {
  const house = await daemonHouse({ ...SMALL, limits: { ...SMALL.limits, ...limits }, pollMs: 1000 });
  const { clock } = house;
  const { killSwitch } = await house.start();
  await clock.sleep(17 * MINUTE);
  const asked = killSwitch.statements;
  await clock.sleep(10 * MINUTE);
  // In this test the lease is renewed at each poll.
  expect(killSwitch.statements - asked).toBeLessThanOrEqual(2 * 600 + plans * 12 + 1);
});

test('housekeeping drops rows older than 30 days, but no changes and no row still in use', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [30] } });
  const { clock, database, writer, sandbox } = mirror;
  const inbox = nthInbox(sandbox, 0);
  await mirror.sync();
  sandbox.world.setStatus(inbox.id, inbox.conversations.order[3]!, 'pending');
  await mirror.sync();
  const changes = await changesIn(database);
  expect(changes).toHaveLength(1);
  for (let times = 0; times < 3; times += 1) await mirror.sync();
  clock.advance(31 * DAY);
  const [seen] = await database.query<{ at: string }>(`SELECT max(fetched_at) AS at FROM sweep_pages`);
  await mirror.sync();
  const lastPages = await database.query(
    `SELECT sweep_id, page_no FROM sweep_pages ORDER BY sweep_id, page_no`,
  );
  const sent = await writer.budget.sentSince(clock.now() - DAY);
  const rates = await writer.sweeps.completed({ list: 'conversations', inboxId: inbox.id });

  const gone = await writer.housekeep(clock.now());
  // Five old passes over four lists made 20 requests and 5 orders.
  expect(gone).toMatchObject({ requests: 20, orders: 5, pages: 0 });
  expect(await count(database, 'requests')).toBe(4);
  expect(await changesIn(database)).toEqual(changes);
  const kept = await database.query<{ n: number }>(
    `SELECT count(*) AS n FROM sweeps GROUP BY list, inbox_id`,
  );
  expect(kept.every(({ n }) => n >= 2)).toBe(true);
  expect(await count(database, `sweeps WHERE inserted + changed + deleted > 0`)).toBe(5);
  expect(await count(database, `changes WHERE sweep_id NOT IN (SELECT id FROM sweeps)`)).toBe(0);
  expect(
    await database.query(`SELECT sweep_id, page_no FROM sweep_pages ORDER BY sweep_id, page_no`),
  ).toEqual(lastPages);
  expect(await writer.budget.sentSince(clock.now() - DAY)).toBe(sent);
  expect((await writer.sweeps.completed({ list: 'conversations', inboxId: inbox.id }))[0]).toEqual(rates[0]);
  expect(await writer.housekeep(clock.now()), 'a second time there is nothing left').toEqual({
    requests: 0,
    sweeps: 0,
    pages: 0,
    orders: 0,
  });

  sandbox.world.removeConversation(inbox.id, inbox.conversations.order[5]!);
  await mirror.sync();
  const [deleted] = (await changesIn(database)).slice(changes.length);
  expect(deleted).toMatchObject({ field: 'presence', new_value: 'missing' });
  expect(deleted!.previously_seen_at!.getTime()).toBeGreaterThan(Date.parse(seen!.at));
});

test.runIf(process.platform === 'linux')(
  'a process with the id of an earlier one, but a later start, does not count as that one',
  () => {
    const { origin, isAlive } = thisProcess();
    expect(origin).toMatchObject({
      place: expect.stringMatching(/./),
      started: expect.stringMatching(/^\d+$/),
    });
    expect(isAlive(process.pid, origin?.started)).toBe(true);
    expect(isAlive(process.pid, '1')).toBe(false);
    expect(isAlive(process.ppid)).toBe(true);
  },
);

test('housekeeping drops pages of superseded sweeps, not of open or the two latest sweeps', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [30] }, pageSize: 10 });
  const { database, writer, clock } = mirror;
  await mirror.sync();
  await mirror.sync();
  const { id: inboxId } = nthInbox(mirror.sandbox, 0);
  const open = await writer.sweeps.open({ list: 'conversations', inboxId }, 'schedule', clock.now());
  await database.execute(
    `INSERT INTO sweep_pages (sweep_id, page_no, item_ids, fetched_at) VALUES ($1, 1, '[]', $2), (4711, 1, '[]', $2)`,
    open.id,
    '2026-01-01T00:00:00.000+00:00',
  );
  const before = await count(database, 'sweep_pages');
  expect((await writer.housekeep(clock.now())).pages).toBe(1);
  expect(await count(database, 'sweep_pages')).toBe(before - 1);
});

test('the daemon runs housekeeping once a day and survives a failure of it', async () => {
  const everySixHours = { conversations: '0 */6 * * *', inboxes: '0 */6 * * *' };
  const house = await daemonHouse({ ...SMALL, schedules: everySixHours, pollMs: 10 * MINUTE });
  const { clock, database } = house;
  const daemon = await house.start();
  await clock.sleep(DAY);
  await daemon.database.query('PRAGMA busy_timeout = 0');
  const other = new SqliteDatabase(database.name);
  other.exec('BEGIN IMMEDIATE');
  await clock.sleep(30 * MINUTE);
  other.exec('ROLLBACK');
  other.close();
  await clock.sleep(DAY + 2 * HOUR);
  // A run that drops nothing is logged at level debug.
  const reported = house.said(20).filter(({ msg }) => msg.startsWith('housekeeping'));
  expect(reported.map(({ msg }) => msg.split(/[ ;]/)[1])).toEqual(['done', 'failed', 'done', 'done']);
  // The sums of the two days that have passed are stored.
  expect(await count(daemon.database, 'counted_days')).toBe(2);
  await daemon.stop();
  expect(await daemon.ended).toBeUndefined();
});
