import { expect, test } from 'vitest';
import { BUDGET_WINDOW_MS } from '../../src/core/budget.ts';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { iso } from '../../src/database/instants.ts';
import { isTelling, measuredDelay } from '../../src/status/delay.ts';
import { markDue } from '../../src/sync/planning/due.ts';
import { cronsOfAll } from '../support/crons.ts';
import { mirrorOf } from '../support/mirror.ts';
import { firstIds, firstInbox, nthInbox } from '../support/rows.ts';
import { syncAccepted } from '../support/settle.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';
import { ask, minute } from './support.ts';

const SMALL = { conversations: [6], usersPerInbox: 3, tagsPerInbox: 3 };

/** A mirror whose conversations are all open, unassigned and without tags. */
async function plainMirror(conversations = [6]) {
  const mirror = await quickMirror({ goneAfterMs: 0, sandbox: { ...SMALL, conversations } });
  for (const inbox of mirror.sandbox.world.inboxes.values())
    for (const row of inbox.conversations.values())
      Object.assign(row, { status: 'open', assignee: null, tag_ids: [] });
  return mirror;
}

test('backlog_now counts by status, close as closed, and every unknown status as other', async () => {
  const mirror = await plainMirror([6, 2]);
  const { world } = mirror.sandbox;
  const inbox = firstInbox(mirror.sandbox);
  const other = nthInbox(mirror.sandbox, 1);
  const [a, b, c, d, gone] = firstIds(inbox.conversations, 5);
  world.setStatus(inbox.id, a!, 'close');
  world.setStatus(inbox.id, b!, 'closed');
  world.setStatus(inbox.id, c!, 'pending');
  world.setStatus(inbox.id, d!, 'snoozed');
  world.assign(inbox.id, c!, inbox.users.order[0]!);
  await mirror.sync();
  world.removeConversation(inbox.id, gone!);
  await mirror.sync();
  const found = await ask(mirror, `SELECT * FROM backlog_now ORDER BY open, inbox_id`);
  expect(found).toEqual([
    {
      inbox_id: inbox.id,
      inbox: inbox.display_name,
      open: 1,
      pending: 1,
      closed: 2,
      other: 1,
      unassigned: 2,
    },
    {
      inbox_id: other.id,
      inbox: other.display_name,
      open: 2,
      pending: 0,
      closed: 0,
      other: 0,
      unassigned: 2,
    },
  ]);
  world.removeInbox(other.id);
  await syncAccepted(mirror);
  expect((await ask(mirror, `SELECT inbox_id FROM backlog_now`)).map((row) => row['inbox_id'])).toEqual([
    inbox.id,
  ]);
});

test('assignee_workload counts open and pending by name, and by id for an unknown user', async () => {
  const mirror = await plainMirror();
  const { world } = mirror.sandbox;
  const inbox = firstInbox(mirror.sandbox);
  const ids = firstIds(inbox.conversations, 5);
  const [ada, bob] = firstIds(inbox.users, 2);
  Object.assign(inbox.users.get(ada!)!, { first_name: 'Ada', last_name: 'Byron' });
  Object.assign(inbox.users.get(bob!)!, { first_name: '', last_name: '', email: 'bob@mail.test' });
  for (const [nth, user] of [ada, ada, ada, bob].entries()) world.assign(inbox.id, ids[nth]!, user!);
  inbox.conversations.get(ids[4]!)!.assignee = { assignee_type: 'user', assignee_id: '4711' };
  world.setStatus(inbox.id, ids[0]!, 'pending');
  world.setStatus(inbox.id, ids[1]!, 'closed');
  await mirror.sync();
  const rows = await ask(
    mirror,
    `SELECT assignee_id, assignee, open, pending FROM assignee_workload ORDER BY length(assignee_id), assignee_id`,
  );
  expect(rows).toEqual([
    { assignee_id: '4711', assignee: null, open: 1, pending: 0 },
    { assignee_id: ada, assignee: 'Ada Byron', open: 1, pending: 1 },
    { assignee_id: bob, assignee: 'bob@mail.test', open: 1, pending: 0 },
  ]);
});

test('unassigned_age counts from unassignment, arrival, or first sighting as a lower bound', async () => {
  const mirror = await plainMirror([4]);
  const { world } = mirror.sandbox;
  const inbox = firstInbox(mirror.sandbox);
  const [freed, closed, taken] = firstIds(inbox.conversations, 4);
  world.assign(inbox.id, freed!, inbox.users.order[0]!);
  world.setStatus(inbox.id, closed!, 'close');
  world.assign(inbox.id, taken!, inbox.users.order[0]!);
  await mirror.sync();
  mirror.clock.advance(HOUR);
  world.assign(inbox.id, freed!, null);
  const { id: fresh } = world.addConversation(inbox.id, { status: 'pending', assignee: null });
  await mirror.sync();
  mirror.clock.advance(30 * MINUTE);
  const rows = await ask(
    mirror,
    `SELECT *, age_seconds / 60 AS minutes FROM unassigned_age ORDER BY since, length(conversation_id), conversation_id`,
  );
  expect(
    rows.map((row) => [
      row['conversation_id'],
      row['status'],
      minute(row['since']),
      row['minutes'],
      row['is_lower_bound'],
    ]),
  ).toEqual([
    [inbox.conversations.order[3], 'open', '08:00', 90, 1],
    ...[
      [freed, 'open', '09:00', 30, 0],
      [fresh, 'pending', '09:00', 30, 0],
    ].sort(([a], [b]) => String(a).length - String(b).length || (String(a) < String(b) ? -1 : 1)),
  ]);
  const [now] = await ask(mirror, `SELECT unassigned FROM backlog_now`);
  expect(now).toEqual({ unassigned: rows.length });
});

test('unassigned_age counts from the reopening of a conversation that nobody had while it was closed', async () => {
  const mirror = await plainMirror([3]);
  const { world } = mirror.sandbox;
  const inbox = firstInbox(mirror.sandbox);
  const [old, freed, pending] = firstIds(inbox.conversations, 3);
  world.setStatus(inbox.id, old!, 'close');
  world.setStatus(inbox.id, freed!, 'closed');
  world.assign(inbox.id, freed!, inbox.users.order[0]!);
  await mirror.sync();
  mirror.clock.advance(HOUR);
  world.setStatus(inbox.id, old!, 'closed');
  world.setStatus(inbox.id, freed!, 'open');
  world.setStatus(inbox.id, pending!, 'pending');
  await mirror.sync();
  mirror.clock.advance(HOUR);
  world.setStatus(inbox.id, old!, 'open');
  world.assign(inbox.id, freed!, null);
  await mirror.sync();
  mirror.clock.advance(HOUR);
  // Neither another status that is not closed, nor a closed word that became the other, begins a wait.
  world.setStatus(inbox.id, old!, 'pending');
  await mirror.sync();
  const rows = await ask(mirror, `SELECT * FROM unassigned_age`);
  const found = rows.map((row) => [row['conversation_id'], [minute(row['since']), row['is_lower_bound']]]);
  expect(Object.fromEntries(found)).toEqual({
    [old!]: ['10:00', 0],
    [freed!]: ['10:00', 0],
    [pending!]: ['08:00', 1],
  });
});

test('unassigned_age restarts when the inbox returns', async () => {
  const mirror = await plainMirror([1]);
  const { world } = mirror.sandbox;
  const { id } = firstInbox(mirror.sandbox);
  await mirror.sync();
  mirror.clock.advance(HOUR);
  world.removeInbox(id);
  await syncAccepted(mirror);
  expect(await ask(mirror, `SELECT * FROM unassigned_age`)).toEqual([]);
  mirror.clock.advance(HOUR);
  world.restoreInbox(id);
  await mirror.sync();
  const [row] = await ask(mirror, `SELECT since, is_lower_bound FROM unassigned_age`);
  expect([minute(row?.['since']), row?.['is_lower_bound']]).toEqual(['10:00', 0]);
});

test('what waits begins with the last return of its inbox, also after the clock was set back', async () => {
  const mirror = await plainMirror([1]);
  const { clock, sandbox } = mirror;
  const { id } = firstInbox(sandbox);
  await mirror.sync();
  for (const hours of [10, -8]) {
    clock.advance(HOUR);
    clock.setWall(hours * HOUR);
    sandbox.world.removeInbox(id);
    await syncAccepted(mirror);
    clock.advance(HOUR);
    sandbox.world.restoreInbox(id);
    await mirror.sync();
  }
  const [{ from_at: from } = {}] = await ask(
    mirror,
    `SELECT from_at FROM status_intervals WHERE to_at IS NULL`,
  );
  expect(minute(from)).toBe('14:00');
  for (const view of ['unassigned_age', 'oldest_open'])
    expect(await ask(mirror, `SELECT since FROM ${view}`), view).toEqual([{ since: from }]);
});

test('tag_volume counts live and not closed conversations of used, unused and gone tags', async () => {
  const mirror = await plainMirror();
  const { world } = mirror.sandbox;
  const inbox = firstInbox(mirror.sandbox);
  const [a, b, c, d] = firstIds(inbox.conversations, 4);
  const [vip, bug, unused] = firstIds(inbox.tags, 3);
  for (const id of [a, b, c]) world.tag(inbox.id, id!, vip!);
  world.tag(inbox.id, d!, bug!);
  world.setStatus(inbox.id, b!, 'closed');
  await mirror.sync();
  world.removeConversation(inbox.id, c!);
  world.removeTag(inbox.id, bug!);
  await syncAccepted(mirror);
  const rows = await ask(
    mirror,
    `SELECT tag_id, conversations, not_closed FROM tag_volume ORDER BY conversations DESC, not_closed DESC`,
  );
  expect(rows).toEqual([
    { tag_id: vip, conversations: 2, not_closed: 1 },
    { tag_id: bug, conversations: 1, not_closed: 1 },
    { tag_id: unused, conversations: 0, not_closed: 0 },
  ]);
  world.untag(inbox.id, d!, bug!);
  await mirror.sync();
  expect((await ask(mirror, `SELECT tag_id FROM tag_volume`)).map((row) => row['tag_id'])).not.toContain(bug);
});

test('budget shows the requests and 429s of the last 24 hours beside the configured limits', async () => {
  const mirror = await mirrorOf({ path: await freshMirrorFile(), sandbox: SMALL });
  await mirror.sync();
  const sent = mirror.sandbox.arrivals.length;
  await mirror.database.execute(`UPDATE requests SET status = 429 WHERE id = 1`);
  expect(await ask(mirror, `SELECT * FROM budget`)).toEqual([
    { window_hours: 24, sent, limit: 5000, reserved: 250, left: 5000 - sent, throttled: 1 },
  ]);
  mirror.clock.advance(25 * HOUR);
  expect(await ask(mirror, `SELECT sent, "left", throttled FROM budget`)).toEqual([
    { sent: 0, left: 5000, throttled: 0 },
  ]);
});

test('budget counts a request for exactly as long as the gate counts it', async () => {
  const mirror = await mirrorOf({ path: await freshMirrorFile(), sandbox: SMALL });
  await mirror.sync();
  await mirror.database.execute(`DELETE FROM requests WHERE id <> 1`);
  const [request] = await mirror.database.query<{ sent_at: Date }>(`SELECT sent_at FROM requests`);
  mirror.clock.advance(request!.sent_at.getTime() + BUDGET_WINDOW_MS - 1 - mirror.clock.now());
  expect(await ask(mirror, `SELECT sent FROM budget`)).toEqual([{ sent: 1 }]);
  mirror.clock.advance(1);
  expect(await ask(mirror, `SELECT sent FROM budget`)).toEqual([{ sent: 0 }]);
});

test('freshness is never, unknown without schedules, fresh until the second slot, then stale', async () => {
  const mirror = await plainMirror([1]);
  const states = async (): Promise<unknown[]> =>
    (await ask(mirror, `SELECT state FROM freshness WHERE list = 'conversations'`)).map(
      (row) => row['state'],
    );
  const [before] = await ask(mirror, `SELECT * FROM freshness`);
  expect(before).toEqual({
    list: 'inboxes',
    inbox_id: null,
    complete_as_of: null,
    age_seconds: null,
    state: 'never',
    changes: null,
    median_delay_seconds: null,
    p95_delay_seconds: null,
  });
  await mirror.sync();
  expect(await states()).toEqual(['unknown']);
  await mirror.writer.keepSlots(cronsOfAll('*/15 * * * *'), mirror.clock.now());
  expect(await states()).toEqual(['fresh']);
  mirror.clock.advance(29 * MINUTE);
  expect(await states()).toEqual(['fresh']);
  // No process has run since: the slots of 08:15 and 08:30 have passed.
  mirror.clock.advance(2 * MINUTE);
  expect(await states()).toEqual(['stale']);
  // A daemon that spreads the pages over two days promises a day more.
  await mirror.writer.saveCoverDays(2);
  expect(await states()).toEqual(['fresh']);
  await mirror.writer.saveCoverDays(1);
  expect(await states()).toEqual(['stale']);
  const [row] = await ask(
    mirror,
    `SELECT age_seconds / 60 AS minutes FROM freshness WHERE list = 'conversations'`,
  );
  expect(row).toEqual({ minutes: 31 });
  await mirror.sync();
  expect(await states()).toEqual(['fresh']);
});

/** The states of the lists at an instant, as the view `freshness` says them. */
async function statesAt(
  mirror: Awaited<ReturnType<typeof plainMirror>>,
  instant: string,
): Promise<unknown[]> {
  mirror.clock.advance(Date.parse(instant) - mirror.clock.now());
  return await ask(mirror, `SELECT DISTINCT state FROM freshness`);
}

test('a list with office-hour slots is fresh until Monday morning, also where no process runs', async () => {
  const mirror = await plainMirror([1]);
  const friday = Date.parse('2026-03-06T16:50:00.000Z');
  mirror.clock.advance(friday - mirror.clock.now());
  await mirror.sync();
  const crons = cronsOfAll('*/15 8-16 * * 1-5', { timezone: 'Europe/Berlin' });
  await markDue(mirror.writer.schedules, crons, mirror.clock.now());
  await mirror.writer.keepSlots(crons, mirror.clock.now());
  expect(await statesAt(mirror, '2026-03-08T20:00:00.000Z')).toEqual([{ state: 'fresh' }]);
  expect(await statesAt(mirror, '2026-03-09T07:15:00.000Z')).toEqual([{ state: 'fresh' }]);
  expect(await statesAt(mirror, '2026-03-09T07:15:00.001Z')).toEqual([{ state: 'stale' }]);
});

test('a daily list is fresh through the night in which its slot occurs twice, and until the next one', async () => {
  const mirror = await plainMirror([1]);
  mirror.clock.advance(Date.parse('2026-10-24T16:20:00.000Z') - mirror.clock.now());
  await mirror.sync();
  const crons = cronsOfAll('30 2 * * *', { timezone: 'Europe/Berlin' });
  await mirror.writer.keepSlots(crons, mirror.clock.now());
  expect(await statesAt(mirror, '2026-10-25T02:00:00.000Z')).toEqual([{ state: 'fresh' }]);
  expect(await statesAt(mirror, '2026-10-26T01:30:00.000Z')).toEqual([{ state: 'fresh' }]);
  expect(await statesAt(mirror, '2026-10-26T01:30:00.001Z')).toEqual([{ state: 'stale' }]);
});

test('slots are written again when the schedules change, and when fewer than a year are left', async () => {
  const mirror = await plainMirror([1]);
  const now = mirror.clock.now();
  const kept = async (expression: string, at: number, timezone = 'UTC'): Promise<unknown> => {
    await mirror.writer.keepSlots(cronsOfAll(expression, { timezone }), at);
    return await mirror.database.query(
      `SELECT starts_at, ends_at, step_seconds FROM schedule_slots WHERE list = 'users' ORDER BY starts_at`,
    );
  };
  const daily = await kept('0 3 * * *', now);
  expect(daily).toEqual([
    { starts_at: expect.any(Date) as unknown, ends_at: new Date('2027-04-06T03:00Z'), step_seconds: 86_400 },
  ]);
  expect(await kept('0 3 * * *', now + 30 * DAY)).toEqual(daily);
  expect(await kept('0 3 * * *', now + 40 * DAY)).not.toEqual(daily);
  expect(await kept('0 3 * * *', now)).toEqual(daily);
  expect(await kept('0 3 * * *', now, 'Asia/Tokyo')).not.toEqual(daily);
  expect(await kept('0 4 * * *', now)).not.toEqual(daily);
});

test('freshness has how late the changes of each inbox were seen, as `status` measures it', async () => {
  const mirror = await plainMirror([3, 1]);
  await mirror.sync();
  const [busy, quiet] = [firstInbox(mirror.sandbox), nthInbox(mirror.sandbox, 1)];
  let items = 0;
  const seen = async (inboxId: string, windowMs: number, { ago = HOUR, field = 'status' } = {}) => {
    const at = mirror.clock.now() - ago;
    await mirror.database.execute(
      `INSERT INTO changes (observed_at, previously_seen_at, list, inbox_id, item_id, field, sweep_id)
       VALUES ($1, $2, 'conversations', $3, $4, $5, 1)`,
      iso(at),
      iso(at - windowMs),
      inboxId,
      String((items += 1)),
      field,
    );
  };
  const delays = async (): Promise<unknown[]> =>
    await ask(
      mirror,
      `SELECT changes, median_delay_seconds AS median, p95_delay_seconds AS p95 FROM freshness
       WHERE list = 'conversations' ORDER BY changes DESC`,
    );
  const none = { changes: 0, median: null, p95: null };
  expect(await delays()).toEqual([none, none]);
  // Neither a change of presence nor an older one counts, nor one whose row a clock that was ahead saw before.
  await seen(busy.id, -HOUR);
  await seen(busy.id, HOUR, { field: 'presence' });
  await seen(busy.id, HOUR, { ago: 24 * HOUR + 1 });
  // Nor does one that a clock which was ahead saw in what is still the future.
  await seen(busy.id, HOUR, { ago: -400 * 24 * HOUR });
  for (let n = 1; n <= 41; n += 1) {
    await seen(busy.id, ((n * 7919) % 41) * 1000 + 500);
    if (n > 1 && n < 9) continue;
    if (n > 11 && n < 19) continue;
    const measured = measuredDelay(await mirror.writer.delays(mirror.clock.now()), 0);
    const shown = measured !== null && isTelling(measured) ? measured : null;
    const [median, p95] = [shown?.medianMs, shown?.p95Ms].map((ms) =>
      ms === undefined ? null : Math.round(ms / 1000),
    );
    expect(await delays()).toEqual([{ changes: n, median, p95 }, none]);
  }
  for (let n = 1; n <= 10; n += 1) await seen(quiet.id, 90 * MINUTE);
  expect((await delays())[1]).toEqual({ changes: 10, median: 5400, p95: 5400 });
  // Two fields that changed between two sightings are one change.
  await mirror.database.execute(
    `INSERT INTO changes (observed_at, previously_seen_at, list, inbox_id, item_id, field, sweep_id)
     SELECT observed_at, previously_seen_at, list, inbox_id, item_id, 'assignee_id', 1 FROM changes
     WHERE inbox_id = $1`,
    quiet.id,
  );
  expect((await delays())[1]).toEqual({ changes: 10, median: 5400, p95: 5400 });
});

test('reads has each complete sweep of a list, and how long after the one before', async () => {
  const mirror = await plainMirror([2]);
  const { id, display_name } = firstInbox(mirror.sandbox);
  await mirror.sync();
  mirror.clock.advance(HOUR);
  await mirror.sync();
  mirror.clock.advance(HOUR);
  // A sweep that is not complete is no reading.
  await mirror.database.execute(
    `INSERT INTO sweeps (list, inbox_id, reason, state, started_at, heartbeat_at)
     SELECT list, inbox_id, reason, 'failed', started_at, heartbeat_at FROM sweeps WHERE list = 'users'`,
  );
  const rows = await ask(mirror, `SELECT * FROM reads WHERE list = 'users' ORDER BY sweep_id`);
  expect(
    rows.map((row) => [
      row['inbox_id'],
      row['inbox'],
      minute(row['finished_at']),
      row['items'],
      row['gap_seconds'] === null ? null : Math.round(Number(row['gap_seconds']) / 60),
    ]),
  ).toEqual([
    [id, display_name, '08:00', 3, null],
    [id, display_name, '09:00', 3, 60],
  ]);
});
