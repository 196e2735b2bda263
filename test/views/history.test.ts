import { describe, expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import type { TestMirror } from '../support/mirror.ts';
import { firstIds, firstInbox } from '../support/rows.ts';
import { syncAccepted } from '../support/settle.ts';
import { quickMirror } from '../support/template.ts';
import { ask, minute } from './support.ts';

/**
 * A mirror of one inbox with open, unassigned conversations.
 * It runs each `happen` on the hour from 09:00, followed by a sync.
 */
async function lived(
  conversations: number,
  ...happen: ((mirror: TestMirror, inbox: ReturnType<typeof firstInbox>, ids: string[]) => void)[]
): Promise<{ mirror: TestMirror; inboxId: string; ids: string[] }> {
  const mirror = await quickMirror({
    goneAfterMs: 0,
    sandbox: { conversations: [conversations], usersPerInbox: 3, tagsPerInbox: 2 },
  });
  const inbox = firstInbox(mirror.sandbox);
  for (const row of inbox.conversations.values()) Object.assign(row, { status: 'open', assignee: null });
  const ids = firstIds(inbox.conversations, conversations);
  await mirror.sync();
  for (const [nth, one] of happen.entries()) {
    mirror.clock.advance(Date.parse('2026-03-02T09:00:00Z') + nth * HOUR - mirror.clock.now());
    one(mirror, inbox, ids);
    await syncAccepted(mirror);
  }
  mirror.clock.advance(Date.parse('2026-03-02T09:00:00Z') + happen.length * HOUR - mirror.clock.now());
  return { mirror, inboxId: inbox.id, ids };
}

async function stretches(mirror: TestMirror, view: string, column: string, id: string): Promise<unknown[]> {
  const rows = await ask(mirror, `SELECT * FROM ${view} WHERE conversation_id = '${id}' ORDER BY from_at`);
  return rows.map((row) => [
    row[column],
    minute(row['from_earliest']),
    minute(row['from_at']),
    minute(row['to_at']),
    row['is_lower_bound'],
  ]);
}

const setStatus =
  (status: string, nth = 0) =>
  ({ sandbox }: TestMirror, { id }: { id: string }, ids: string[]): void =>
    sandbox.world.setStatus(id, ids[nth]!, status);

describe('status_intervals', () => {
  test('begin at the first sighting as a lower bound, then between two sightings of a change', async () => {
    const { mirror, ids } = await lived(
      1,
      setStatus('pending'),
      setStatus('close'),
      setStatus('closed'),
      setStatus('snoozed'),
    );
    expect(await stretches(mirror, 'status_intervals', 'status', ids[0]!)).toEqual([
      ['open', null, '08:00', '09:00', 1],
      ['pending', '08:00', '09:00', '10:00', 0],
      ['closed', '09:00', '10:00', '12:00', 0],
      ['snoozed', '11:00', '12:00', null, 0],
    ]);
  });

  test('of a new conversation begin after the last read without it, with its first status', async () => {
    let fresh = '';
    const { mirror } = await lived(
      1,
      () => undefined,
      ({ sandbox }, { id }) => (fresh = sandbox.world.addConversation(id, { status: 'pending' }).id),
      ({ sandbox }, { id }) => sandbox.world.setStatus(id, fresh, 'open'),
    );
    expect(await stretches(mirror, 'status_intervals', 'status', fresh)).toEqual([
      ['pending', '09:00', '10:00', '11:00', 0],
      ['open', '10:00', '11:00', null, 0],
    ]);
  });

  test('end when a sync finds the conversation gone, and a return begins a new one', async () => {
    const { mirror, ids } = await lived(
      1,
      ({ sandbox }, { id }, [a]) => void sandbox.world.removeConversation(id, a!),
      () => undefined,
      ({ sandbox }, { id }, [a]) => {
        sandbox.world.restoreConversation(id, a!);
        sandbox.world.setStatus(id, a!, 'closed');
      },
    );
    expect(await stretches(mirror, 'status_intervals', 'status', ids[0]!)).toEqual([
      ['open', null, '08:00', '09:00', 1],
      ['closed', '10:00', '11:00', null, 0],
    ]);
  });

  test('of a return with another status begin after the conversation went', async () => {
    const { mirror, inboxId, ids } = await lived(1);
    const { world } = mirror.sandbox;
    world.removeConversation(inboxId, ids[0]!);
    await syncAccepted(mirror);
    mirror.clock.advance(HOUR);
    world.restoreConversation(inboxId, ids[0]!);
    world.setStatus(inboxId, ids[0]!, 'closed');
    await mirror.sync();
    const rows = await ask(mirror, `SELECT * FROM status_intervals ORDER BY from_at`);
    expect(rows.map(({ status }) => status)).toEqual(['open', 'closed']);
    expect(rows[1]?.['from_earliest']).toBe(rows[0]?.['to_at']);
  });

  test("end with their inbox's tombstone and begin again with its return", async () => {
    const { mirror, ids } = await lived(
      2,
      setStatus('pending', 1),
      ({ sandbox }, { id }) => void sandbox.world.removeInbox(id),
      () => undefined,
      ({ sandbox }, { id }) => void sandbox.world.restoreInbox(id),
    );
    expect(await stretches(mirror, 'status_intervals', 'status', ids[0]!)).toEqual([
      ['open', null, '08:00', '10:00', 1],
      ['open', '10:00', '12:00', null, 0],
    ]);
    expect(await stretches(mirror, 'status_intervals', 'status', ids[1]!)).toEqual([
      ['open', null, '08:00', '09:00', 1],
      ['pending', '08:00', '09:00', '10:00', 0],
      ['pending', '10:00', '12:00', null, 0],
    ]);
    expect(await ask(mirror, `SELECT appeared, removed FROM flow_daily`)).toEqual([
      { appeared: 2, removed: 2 },
    ]);
    mirror.sandbox.world.removeInbox([...mirror.sandbox.world.inboxes.keys()][0]!);
    await syncAccepted(mirror);
    expect((await stretches(mirror, 'status_intervals', 'status', ids[0]!)).at(-1)).toEqual([
      'open',
      '10:00',
      '12:00',
      '13:00',
      0,
    ]);
    expect(await ask(mirror, `SELECT * FROM backlog_daily`)).toEqual([]);
  });
});

test('assignee_intervals include the times without an assignee', async () => {
  let people: string[] = [];
  const assign =
    (nth: number | null) => (mirror: TestMirror, inbox: ReturnType<typeof firstInbox>, ids: string[]) => {
      people = firstIds(inbox.users, 2);
      mirror.sandbox.world.assign(inbox.id, ids[0]!, nth === null ? null : people[nth]!);
    };
  const { mirror, ids } = await lived(1, assign(0), assign(null), assign(1));
  expect(await stretches(mirror, 'assignee_intervals', 'assignee_id', ids[0]!)).toEqual([
    [null, null, '08:00', '09:00', 1],
    [people[0], '08:00', '09:00', '10:00', 0],
    [null, '09:00', '10:00', '11:00', 0],
    [people[1], '10:00', '11:00', null, 0],
  ]);
});

test('time_in_status adds up all visits, including the current one', async () => {
  const { mirror, ids } = await lived(1, setStatus('pending'), setStatus('open'));
  const rows = await ask(
    mirror,
    `SELECT status, CAST(round(seconds / 3600.0) AS INTEGER) AS hours, visits, is_lower_bound FROM time_in_status WHERE conversation_id = '${ids[0]}' ORDER BY status`,
  );
  expect(rows).toEqual([
    { status: 'open', hours: 2, visits: 2, is_lower_bound: 1 },
    { status: 'pending', hours: 1, visits: 1, is_lower_bound: 0 },
  ]);
});

test('reopens count closings and reopenings, but not a change to another spelling of closed', async () => {
  const { mirror, inboxId, ids } = await lived(
    2,
    setStatus('close'),
    setStatus('closed'),
    setStatus('open'),
    setStatus('closed'),
    setStatus('pending', 1),
  );
  const [row, ...others] = await ask(mirror, `SELECT * FROM reopens`);
  expect(others).toEqual([]);
  expect({ ...row, last_reopened_at: minute(row?.['last_reopened_at']) }).toEqual({
    inbox_id: inboxId,
    conversation_id: ids[0],
    closes: 2,
    reopens: 1,
    last_reopened_at: '11:00',
  });
  expect(
    await ask(mirror, `SELECT closed, reopened, opening_backlog, closing_backlog FROM flow_daily`),
  ).toEqual([{ closed: 2, reopened: 1, opening_backlog: 2, closing_backlog: 1 }]);
});

test('assignments show first assignment and hand-overs, with a lower bound for baseline rows', async () => {
  let fresh = '';
  const { mirror, ids } = await lived(
    3,
    ({ sandbox: { world } }, inbox, [a]) => {
      world.assign(inbox.id, a!, inbox.users.order[0]!);
      fresh = world.addConversation(inbox.id, { assignee: null }).id;
    },
    ({ sandbox: { world } }, inbox, [a]) => {
      world.assign(inbox.id, a!, null);
      world.assign(inbox.id, fresh, inbox.users.order[1]!);
    },
    ({ sandbox: { world } }, inbox, [a]) => {
      world.assign(inbox.id, a!, inbox.users.order[0]!);
      world.assign(inbox.id, fresh, inbox.users.order[2]!);
    },
    ({ sandbox: { world } }, inbox, [a]) => world.assign(inbox.id, a!, inbox.users.order[1]!),
  );
  const rows = await ask(mirror, `SELECT * FROM assignments`);
  const summaryOf = (id: string): unknown => {
    const row = rows.find((one) => one['conversation_id'] === id);
    const hours =
      row?.['seconds_to_first'] === null ? null : Math.round(Number(row?.['seconds_to_first']) / 3600);
    return [
      minute(row?.['first_assigned_at']),
      hours,
      row?.['reassignments'],
      row?.['distinct_assignees'],
      row?.['is_lower_bound'],
    ];
  };
  expect(rows.length).toBe(4);
  expect(summaryOf(ids[0]!)).toEqual(['09:00', 1, 1, 2, 1]);
  expect(summaryOf(ids[1]!)).toEqual([null, null, 0, 0, 1]);
  expect(summaryOf(fresh)).toEqual(['10:00', 1, 1, 2, 0]);
});

test('after the clock was set back, an interval ends where a later change begins the next', async () => {
  const { mirror, inboxId, ids } = await lived(1);
  const { world } = mirror.sandbox;
  const [id = ''] = ids;
  const [first = '', second = '', third = ''] = firstInbox(mirror.sandbox).users.order;
  for (const user of [first, second]) {
    mirror.clock.advance(2 * HOUR);
    world.assign(inboxId, id, user);
    await mirror.sync();
  }
  // The third comes an hour before the second by the clock, and after it in the order of the changes.
  mirror.clock.setWall(-HOUR);
  world.assign(inboxId, id, third);
  await mirror.sync();
  mirror.clock.advance(HOUR / 2);
  world.setStatus(inboxId, id, 'closed');
  await mirror.sync();
  expect(
    await ask(mirror, `SELECT conversation_id, closes, assignee_at_close_id FROM conversation_facts`),
  ).toEqual([{ conversation_id: id, closes: 1, assignee_at_close_id: third }]);
  const intervals = await ask(mirror, `SELECT assignee_id, from_at, to_at FROM assignee_intervals`);
  const assignees = intervals.toSorted((a, b) => (String(a['from_at']) < String(b['from_at']) ? -1 : 1));
  expect(assignees.map((row) => [row['assignee_id'], minute(row['from_at']), minute(row['to_at'])])).toEqual([
    [null, '08:00', '11:00'],
    [first, '11:00', '12:00'],
    [third, '12:00', null],
  ]);
});

describe('the daily views', () => {
  test('cut days in the report’s time zone', async () => {
    const { mirror, inboxId, ids } = await lived(2);
    const { world } = mirror.sandbox;
    mirror.clock.advance(Date.parse('2026-03-02T23:30:00Z') - mirror.clock.now());
    world.setStatus(inboxId, ids[0]!, 'closed');
    const { id: fresh } = world.addConversation(inboxId, { status: 'pending' });
    await mirror.sync();
    mirror.clock.advance(24 * HOUR);
    world.removeConversation(inboxId, fresh);
    world.setStatus(inboxId, ids[0]!, 'open');
    await mirror.sync();
    const backlog = `SELECT day, status, conversations FROM backlog_daily ORDER BY day, status`;
    const flow = `SELECT day, appeared, closed, reopened, removed FROM flow_daily ORDER BY day`;
    const day = (name: string, ...[closed, open, pending]: number[]): unknown[] => [
      { day: name, status: 'closed', conversations: closed },
      { day: name, status: 'open', conversations: open },
      { day: name, status: 'pending', conversations: pending },
    ];
    expect(await ask(mirror, backlog)).toEqual([
      ...day('2026-03-02', 1, 1, 1),
      ...day('2026-03-03', 0, 2, 0),
    ]);
    expect(await ask(mirror, flow)).toEqual([
      { day: '2026-03-02', appeared: 1, closed: 1, reopened: 0, removed: 0 },
      { day: '2026-03-03', appeared: 0, closed: 0, reopened: 1, removed: 1 },
    ]);
    // In Berlin it is half past midnight.
    expect(await ask(mirror, backlog, 'Europe/Berlin')).toEqual([
      ...day('2026-03-02', 0, 2, 0),
      ...day('2026-03-03', 1, 1, 1),
      ...day('2026-03-04', 0, 2, 0),
    ]);
    expect((await ask(mirror, flow, 'Europe/Berlin')).map((row) => row['removed'])).toEqual([0, 0, 1]);
  });

  test('leave out the days before a list was first complete', async () => {
    const mirror = await quickMirror({ sandbox: { conversations: [3] } });
    const inbox = firstInbox(mirror.sandbox);
    await mirror.sync({ lists: ['inboxes'] });
    expect(await ask(mirror, `SELECT * FROM backlog_daily`)).toEqual([]);
    mirror.clock.advance(48 * HOUR);
    await mirror.sync();
    const days = await ask(
      mirror,
      `SELECT day, CAST(sum(conversations) AS INTEGER) AS n FROM backlog_daily GROUP BY day`,
    );
    expect(days).toEqual([{ day: '2026-03-04', n: inbox.conversations.size }]);
  });

  test('count nothing for an inbox that left and returned before its first conversation sweep', async () => {
    const mirror = await quickMirror({ sandbox: { conversations: [3, 1] } });
    const { id } = firstInbox(mirror.sandbox);
    await mirror.sync({ lists: ['inboxes'] });
    mirror.sandbox.world.removeInbox(id);
    await mirror.sync({ kind: 'resync', lists: ['inboxes'], acceptDeletes: true });
    mirror.sandbox.world.restoreInbox(id);
    await mirror.sync();
    const flow = await ask(mirror, `SELECT appeared, removed FROM flow_daily WHERE inbox_id = '${id}'`);
    expect(flow).toEqual([{ appeared: 0, removed: 0 }]);
  });

  test('are right even if a clock ahead dated some changes, and no duration is negative', async () => {
    const { mirror, inboxId, ids } = await lived(3);
    const { world } = mirror.sandbox;
    mirror.clock.setWall(72 * HOUR);
    world.setStatus(inboxId, ids[0]!, 'pending');
    world.addConversation(inboxId, { status: 'pending', assignee: null });
    await mirror.sync();
    mirror.clock.setWall(-72 * HOUR);
    mirror.clock.advance(24 * HOUR);
    world.setStatus(inboxId, ids[1]!, 'closed');
    await mirror.sync();
    expect(
      await ask(
        mirror,
        `SELECT day, status, conversations FROM backlog_daily WHERE conversations <> 0 ORDER BY day, status`,
      ),
    ).toEqual([
      { day: '2026-03-02', status: 'open', conversations: 3 },
      { day: '2026-03-03', status: 'closed', conversations: 1 },
      { day: '2026-03-03', status: 'open', conversations: 1 },
      { day: '2026-03-03', status: 'pending', conversations: 2 },
    ]);
    expect(await ask(mirror, `SELECT seconds FROM time_in_status WHERE seconds < 0`)).toEqual([]);
    expect(await ask(mirror, `SELECT age_seconds FROM unassigned_age WHERE age_seconds < 0`)).toEqual([]);
  });

  test('open the first day with what the first sweep saw, even if the clock is set back after it', async () => {
    const { mirror, inboxId, ids } = await lived(3);
    const { world } = mirror.sandbox;
    mirror.clock.advance(4 * HOUR);
    world.addConversation(inboxId, { status: 'open' });
    world.setStatus(inboxId, ids[0]!, 'closed');
    await mirror.sync();
    mirror.clock.setWall(-2 * HOUR);
    await mirror.sync();
    const flow = `SELECT opening_backlog, came_open, closed, closing_backlog FROM flow_daily`;
    expect(await ask(mirror, flow)).toEqual([
      { opening_backlog: 3, came_open: 1, closed: 1, closing_backlog: 3 },
    ]);
  });

  test.for([-1, -72, -9000])(
    'begin today if the clock was ahead at the first sweep and is set by %i h after it',
    async (hours) => {
      const { mirror, inboxId, ids } = await lived(3);
      const { world } = mirror.sandbox;
      world.assign(inboxId, ids[1]!, firstIds(firstInbox(mirror.sandbox).users, 1)[0]!);
      world.setStatus(inboxId, ids[2]!, 'closed');
      await mirror.sync();
      mirror.clock.setWall(hours * HOUR);
      world.setStatus(inboxId, ids[2]!, 'open');
      world.addConversation(inboxId, { status: 'open', assignee: null, tag_ids: [] });
      mirror.clock.advance(1000);
      await mirror.sync();
      const sum = async (columns: string, view: string): Promise<unknown> =>
        (await ask(mirror, `SELECT ${columns} FROM ${view} WHERE day = (SELECT max(day) FROM ${view})`))[0];
      expect(await sum('reopened, closing_backlog', 'flow_daily')).toEqual({
        reopened: 1,
        closing_backlog: 4,
      });
      expect(
        await ask(mirror, `SELECT * FROM flow_daily WHERE came_open < 0 OR opening_backlog < 0`),
      ).toEqual([]);
      expect(await sum('CAST(sum(conversations) AS INTEGER) AS n', 'backlog_daily')).toEqual({ n: 4 });
      expect(await sum('CAST(sum(backlog) AS INTEGER) AS n', 'assignee_daily')).toEqual({ n: 4 });
    },
  );
});

test('an interval that begins before the first day of the reports counts only while it lasts', async () => {
  const { mirror, inboxId, ids } = await lived(1);
  const count = `SELECT day, conversations, tagged FROM tag_daily WHERE tag_id = 'old' AND conversations <> 0`;
  // A clock that was ahead at the first sighting can date such an interval.
  const insert = (from: string, to: string | null): Promise<number> =>
    mirror.database.execute(
      `INSERT INTO tag_spans (inbox_id, conversation_id, tag_id, from_at, to_at, is_lower_bound)
       VALUES ($1, $2, 'old', $3, $4, FALSE)`,
      inboxId,
      ids[0],
      `${from}T00:00:00.000+00:00`,
      to === null ? null : `${to}T00:00:00.000+00:00`,
    );
  await insert('2026-01-01', '2026-01-02');
  expect(await ask(mirror, count)).toEqual([]);
  await insert('2026-01-03', null);
  expect(await ask(mirror, count)).toEqual([{ day: '2026-03-02', conversations: 1, tagged: 0 }]);
});
