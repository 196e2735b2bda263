import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import type { Sql } from '../../src/database/database.ts';
import { iso } from '../../src/database/instants.ts';
import { statusSql } from '../../src/database/views/expressions.ts';
import { countDays, type CountOptions } from '../../src/mirror/history/days/count.ts';
import { forgetDay } from '../../src/mirror/history/days/forget.ts';
import { WriterEpoch } from '../../src/mirror/history/epochs.ts';
import type { FencedDatabase } from '../../src/mirror/lease.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { happening, type Happening, Happenings } from '../support/happenings.ts';
import { histories } from '../support/histories.ts';
import type { TestMirror } from '../support/mirror.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { read, READING } from '../support/readings.ts';
import { count } from '../support/rows.ts';
import { casesOf, rule } from '../support/rule.ts';
import { syncedMirror, syncSettled } from '../support/settle.ts';
import { step } from '../support/steps.ts';
import { quickMirror } from '../support/template.ts';
import { Trial } from '../support/trial.ts';
import { ask } from '../views/support.ts';

const HISTORIES = ON_SQLITE ? histories(3, 300) : histories(1, 50);
const SMALL: Partial<SandboxOptions> = {
  idType: 'string',
  conversations: [24, 11],
  usersPerInbox: 3,
  tagsPerInbox: 3,
};

/** Zones whose days begin together for a part of the year, and others. */
const ZONES = ['UTC', 'UTC', 'UTC', 'Europe/London', 'America/New_York', 'Asia/Kolkata'];

const BUDGET = { perDay: 5000, reserved: 250 };

const VIEWS = ['backlog_daily', 'flow_daily', 'assignee_daily', 'tag_daily'];

async function rowsOf(sql: Sql): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (const view of VIEWS) rows.push(await sql.query(`SELECT * FROM ${view} ORDER BY day, inbox_id, 3, 4`));
  return rows;
}

/** The rows of the views when no sums are stored. */
async function plainRows({ database }: TestMirror): Promise<unknown[]> {
  const undone = new Error('undone');
  let rows: unknown[] = [];
  const work = database.transaction(async (tx) => {
    await tx.execute(`DELETE FROM counted_days`);
    rows = await rowsOf(tx);
    throw undone;
  });
  await work.catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return rows;
}

/** The inboxes and statuses whose number of live conversations is not that of their lasting intervals. */
const NOT_LASTING = `SELECT inbox_id, status FROM (
    SELECT inbox_id, ${statusSql('status')} AS status, 1 AS n FROM conversations WHERE deleted_at IS NULL
    UNION ALL SELECT inbox_id, status, -1 FROM status_spans WHERE to_at IS NULL
  ) AS both_sides GROUP BY inbox_id, status HAVING sum(n) <> 0`;

/** The stored sums are right, and each live conversation has one interval that lasts. */
async function expectSums({ writer, database }: TestMirror, label: string): Promise<void> {
  expect(await writer.wrongDays(), label).toEqual([]);
  expect(await database.query(NOT_LASTING), label).toEqual([]);
}

/** The stored sums are those of the intervals and changes, and the views show the same rows without them. */
async function expectRight(mirror: TestMirror, zone: string, label: string): Promise<void> {
  await expectSums(mirror, label);
  await ask(mirror, `SELECT 1 AS one`, zone);
  expect(await rowsOf(mirror.database), label).toEqual(await plainRows(mirror));
}

/** Writes the days and their sums, as the daemon does once a day. @returns the number of counted days */
async function keepDays(
  { writer, clock }: TestMirror,
  reportTimezone: string,
  options: CountOptions = {},
): Promise<number> {
  await writer.keepViewSettings({ reportTimezone, budget: BUDGET }, clock.now());
  return await writer.countDays(clock.now(), options);
}

const round = fc.record({
  happenings: fc.array(happening, { maxLength: 12 }),
  hours: fc.constantFrom(0, 1, 10, 30, 80),
  setHours: fc.constantFrom(0, 0, 0, -2, -30, -100, 50),
  reading: READING,
  nth: fc.nat(20),
  zone: fc.constantFrom(...ZONES),
  counts: fc.constantFrom('before', 'after', 'never'),
  edgesAtOnce: fc.constantFrom(4, 40, 20_000),
});

test(
  'whatever happens, the daily views show the same rows with stored sums and without',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1000),
        fc.array(round, { minLength: 2, maxLength: 10 }),
        async (seed, rounds) => {
          const mirror = await quickMirror({ pageSize: 10, sandbox: { seed, ...SMALL } });
          const life = new Happenings(mirror.sandbox.world);
          for (const { happenings, hours, setHours, reading, nth, zone, counts, edgesAtOnce } of rounds) {
            for (const one of happenings) life.make(one);
            mirror.clock.advance(hours * HOUR);
            if (counts === 'before') await keepDays(mirror, zone, { edgesAtOnce });
            mirror.clock.setWall(setHours * HOUR);
            await read(mirror, reading, nth);
            if (counts === 'after') await keepDays(mirror, zone, { edgesAtOnce });
            await expectSums(mirror, JSON.stringify({ setHours, reading, counts, edgesAtOnce }));
          }
          await expectRight(mirror, rounds.at(-1)?.zone ?? 'UTC', 'in the end');
          await mirror.database.close();
        },
      ),
      { ...HISTORIES.parameters, endOnFailure: true },
    );
  },
  HISTORIES.timeoutMs,
);

test(
  'after each step of a trial with faults, restored backups and other hosts, the stored sums are right',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1000),
        fc.array(fc.record({ one: step, counts: fc.boolean() }), { minLength: 3, maxLength: 25 }),
        async (seed, history) => {
          const trial = await Trial.begin(1000, { seed, ...SMALL });
          for (const { one, counts } of history) {
            await trial.take(one);
            await expectSums(trial.mirror, JSON.stringify(one));
            if (counts) await keepDays(trial.mirror, 'UTC');
          }
          await expectRight(trial.mirror, 'UTC', 'in the end');
          await trial.mirror.database.close();
        },
      ),
      { ...HISTORIES.parameters, endOnFailure: true },
    );
  },
  HISTORIES.timeoutMs,
);

/** A history as events at the service, and the hours by which a person sets the clock. */
const LATE: [title: string, steps: (Happening['kind'] | number)[]][] = [
  ['a status changes', ['status', -30, 'status']],
  ['a conversation appears', ['status', -30, 'add']],
  ['a conversation goes', ['status', -30, 'remove']],
  ['a conversation returns', ['remove', -30, 'return']],
  ['an inbox goes', ['status', -30, 'remove-inbox']],
  ['an inbox returns', ['remove-inbox', -30, 'return-inbox']],
  ['an inbox appears', ['status', -30, 'add-inbox']],
  ['an inbox goes before a status has changed', [72, 'status', -96, 'remove-inbox']],
  ['another assignee comes before one has come', [72, 'assign', -96, 'assign']],
  ['a tag goes before it has come', [72, 'tag', -96, 'unassign', 'untag']],
  ['the clock shows a time before the first sight', ['status', -100, 'status', 'remove']],
];

test.for(casesOf(LATE, 1))(
  'sums of days that had passed stay right after the clock was set back: %s',
  async ([, steps]) => {
    const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [6] } });
    const life = new Happenings(mirror.sandbox.world);
    for (const [nth, one] of steps.entries()) {
      if (typeof one === 'number') {
        mirror.clock.advance(2 * DAY);
        expect(await keepDays(mirror, 'UTC')).toBeGreaterThan(0);
        mirror.clock.setWall(one * HOUR);
      } else for (const row of [0, 1, 2, 3]) life.make({ kind: one, inbox: 0, row, other: row + nth });
      mirror.clock.advance(MINUTE);
      await syncSettled(mirror);
      await expectSums(mirror, String(one));
    }
    await expectRight(mirror, 'UTC', 'while the clock is behind');
    // The clock shows the right time again: the days of these steps have passed.
    mirror.clock.setWall(4 * DAY);
    await expectRight(mirror, 'UTC', 'later');
  },
);

rule('the sums of a day are right after the only interval that began on it has gone', async () => {
  const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [6] } });
  const life = new Happenings(mirror.sandbox.world);
  // The second change ends the interval of the first before it begins, and the third that of the second.
  for (const [hours, other] of [
    [120, 0],
    [-48, 1],
    [-24, 4],
  ] as const) {
    mirror.clock.setWall(hours * HOUR);
    life.make({ kind: 'status', inbox: 0, row: 0, other });
    await syncSettled(mirror);
    expect(await mirror.writer.wrongDays()).toEqual([]);
    mirror.clock.setWall(10 * DAY);
    expect(await keepDays(mirror, 'UTC')).toBeGreaterThan(0);
    mirror.clock.setWall(-10 * DAY);
  }
  await expectRight(mirror, 'UTC', 'in the end');
});

test('a repair of intervals forgets the days of those that it removes and of those that it adds', async () => {
  const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [6] } });
  const { database, writer, clock } = mirror;
  clock.advance(3 * DAY);
  const later = iso(clock.now());
  clock.advance(3 * DAY);
  const [first] = await database.query<{ id: number; status: string }>(
    `SELECT id, status FROM status_spans ORDER BY id LIMIT 1`,
  );
  const damages = [
    `DELETE FROM status_spans WHERE id = $1`,
    `UPDATE status_spans SET to_at = $2 WHERE id = $1`,
  ];
  for (const damage of damages) {
    await database.execute(`DELETE FROM counted_days`);
    await database.execute(damage, first?.id, later);
    await keepDays(mirror, 'UTC');
    const wrong = await writer.wrongIntervals();
    expect(wrong.length).toBe(1);
    await writer.repairIntervals(wrong);
    await expectRight(mirror, 'UTC', damage);
    const [repaired] = await database.query<{ id: number }>(`SELECT max(id) AS id FROM status_spans`);
    Object.assign(first ?? {}, repaired);
  }
});

/** The days that count, and those that are still being counted. */
async function daysOf(sql: Sql): Promise<{ counted: number; partial: number }> {
  const rows = await sql.query<{ is_partial: unknown }>(`SELECT is_partial FROM counted_days`);
  const partial = rows.filter((row) => Boolean(row.is_partial)).length;
  return { counted: rows.length - partial, partial };
}

test('a write that concerns a day while its chunks are counted leaves it for the next time', async () => {
  const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [12] } });
  const { database, writer, clock } = mirror;
  const [first] = await database.query<{ at: Date }>(`SELECT min(from_at) AS at FROM status_spans`);
  clock.advance(2 * DAY);
  await writer.keepViewSettings({ reportTimezone: 'UTC', budget: BUDGET }, clock.now());
  let writes = 0;
  const fenced: FencedDatabase = {
    database,
    write: async (work) => {
      // The first day has about 60 edges, in chunks of 5. Its row is there from the first transaction on.
      if (++writes === 9)
        await database.transaction(async (tx) => {
          expect(await daysOf(tx)).toEqual({ counted: 0, partial: 1 });
          await forgetDay(tx, iso(first!.at));
        });
      return await database.transaction((tx) => work({ ...tx, epoch: new WriterEpoch() }));
    },
  };
  expect(await countDays(fenced, clock.now(), { edgesAtOnce: 5 })).toBe(1);
  await expectRight(mirror, 'UTC', 'without the first day');
  expect(await keepDays(mirror, 'UTC', { edgesAtOnce: 5 })).toBe(1);
  await expectRight(mirror, 'UTC', 'with it');
  expect(await daysOf(database)).toEqual({ counted: 2, partial: 0 });
});

test('counting tells when there is more than one transaction to wait for', async () => {
  const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [12] } });
  const calls: string[] = [];
  const onMore = (): unknown => calls.push('more');
  mirror.clock.advance(2 * DAY);
  expect(await keepDays(mirror, 'UTC', { onMore })).toBe(2);
  expect(calls, 'one run of two days').toHaveLength(0);
  mirror.clock.advance(40 * DAY);
  expect(await keepDays(mirror, 'UTC', { onMore })).toBe(40);
  expect(calls, '40 days are three runs').toHaveLength(2);
});

rule('a day whose chunks were interrupted counts as not stored, and is counted again', async () => {
  const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [12] } });
  const { database, clock } = mirror;
  clock.advance(2 * DAY);
  await mirror.writer.keepViewSettings({ reportTimezone: 'UTC', budget: BUDGET }, clock.now());
  for (const writes of [2, 6, 15]) {
    let left = writes;
    const dying: FencedDatabase = {
      database,
      write: async (work) => {
        if (left-- === 0) throw new Error('killed');
        return await database.transaction((tx) => work({ ...tx, epoch: new WriterEpoch() }));
      },
    };
    await expect(countDays(dying, clock.now(), { edgesAtOnce: 5 })).rejects.toThrow('killed');
    expect(await daysOf(database)).toEqual({ counted: 0, partial: 1 });
    await expectRight(mirror, 'UTC', `after ${writes} transactions`);
  }
  expect(await keepDays(mirror, 'UTC', { signal: AbortSignal.abort() })).toBe(0);
  const stop = new AbortController();
  let writes = 0;
  const stopped: FencedDatabase = {
    database,
    write: async (work) => {
      if (++writes === 4) stop.abort();
      return await database.transaction((tx) => work({ ...tx, epoch: new WriterEpoch() }));
    },
  };
  expect(await countDays(stopped, clock.now(), { edgesAtOnce: 5, signal: stop.signal })).toBe(0);
  // No more chunks: only the six tables are tidied.
  expect(writes).toBe(10);
  expect(await keepDays(mirror, 'UTC', { edgesAtOnce: 5 })).toBe(2);
  await expectRight(mirror, 'UTC', 'in the end');
});

rule('a conversation whose status intervals overlap counts once for its tag', async () => {
  const mirror = await syncedMirror(1, { sandbox: { ...SMALL, conversations: [1] } });
  // As after the clock was set back.
  for (const statement of [
    `INSERT INTO status_spans (inbox_id, conversation_id, status, from_at, is_lower_bound)
     SELECT inbox_id, conversation_id, 'another', from_at, is_lower_bound FROM status_spans`,
    `DELETE FROM tag_spans`,
    `INSERT INTO tag_spans (inbox_id, conversation_id, tag_id, from_at, is_lower_bound)
     SELECT inbox_id, conversation_id, '1', from_at, is_lower_bound FROM status_spans WHERE status = 'another'`,
  ])
    await mirror.database.execute(statement);
  expect(await ask(mirror, `SELECT conversations FROM tag_daily`, 'UTC')).toEqual([{ conversations: 1 }]);
});

rule('a first sweep that overwrites what a broken one wrote leaves the sums right', async () => {
  const mirror = await quickMirror({ pageSize: 10, sandbox: { ...SMALL, conversations: [40] } });
  const life = new Happenings(mirror.sandbox.world);
  await read(mirror, 'broken', 4);
  expect(await count(mirror.database, 'status_spans')).toBeGreaterThan(0);
  mirror.clock.advance(2 * DAY);
  await keepDays(mirror, 'UTC');
  for (let row = 0; row < 40; row += 1) life.make({ kind: 'status', inbox: 0, row, other: row });
  await syncSettled(mirror);
  await expectRight(mirror, 'UTC', 'overwritten');
});

rule('all days that have passed are counted once, and a usual page forgets none', async () => {
  const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [6] } });
  const { database, clock, writer } = mirror;
  const life = new Happenings(mirror.sandbox.world);
  clock.advance(100 * DAY);
  expect(await keepDays(mirror, 'UTC')).toBe(100);
  expect(await keepDays(mirror, 'UTC')).toBe(0);
  life.make({ kind: 'status', inbox: 0, row: 0, other: 1 });
  await syncSettled(mirror);
  expect(await count(database, 'counted_days')).toBe(100);
  // Only the days on which the intervals of the conversation begin or end are counted again.
  life.make({ kind: 'remove', inbox: 0, row: 0, other: 0 });
  await syncSettled(mirror);
  clock.advance(10 * DAY);
  expect(await writer.countDays(clock.now())).toBe(10);
  life.make({ kind: 'return', inbox: 0, row: 0, other: 0 });
  await syncSettled(mirror);
  expect(await count(database, 'counted_days')).toBe(108);
  await expectRight(mirror, 'UTC', 'returned');
});

rule('in another time zone no sums of other days are used, and the next count deletes them', async () => {
  const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [6] } });
  const life = new Happenings(mirror.sandbox.world);
  // In the evening of UTC's days, the next day has begun in India.
  mirror.clock.advance(12 * HOUR);
  for (const row of [0, 1, 2, 3]) {
    mirror.clock.advance(DAY);
    life.make({ kind: 'status', inbox: 0, row, other: row + 1 });
    await syncSettled(mirror);
  }
  mirror.clock.advance(6 * DAY);
  expect(await keepDays(mirror, 'UTC')).toBe(10);
  await expectRight(mirror, 'Asia/Kolkata', 'before the count');
  expect(await keepDays(mirror, 'Asia/Kolkata')).toBe(11);
  await expectRight(mirror, 'UTC', 'back');
  expect(await keepDays(mirror, 'UTC')).toBe(10);
  expect(await count(mirror.database, 'counted_days')).toBe(10);
  await expectRight(mirror, 'UTC', 'counted');
});

rule('days that were counted while the clock was ahead are not used once it is right', async () => {
  const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [6] } });
  const life = new Happenings(mirror.sandbox.world);
  mirror.clock.setWall(10 * DAY);
  for (const row of [0, 1, 2, 3]) {
    mirror.clock.advance(DAY);
    life.make({ kind: 'status', inbox: 0, row, other: row + 1 });
    await syncSettled(mirror);
  }
  mirror.clock.advance(2 * DAY);
  expect(await keepDays(mirror, 'UTC')).toBe(16);
  mirror.clock.setWall(-10 * DAY);
  await expectRight(mirror, 'UTC', 'while four days of the future are counted');
});

test('the views add up the stored sums of past days, and count the present day', async () => {
  const mirror = await syncedMirror(3, { sandbox: { ...SMALL, conversations: [6] } });
  const { database, clock } = mirror;
  clock.advance(3 * DAY);
  await keepDays(mirror, 'UTC');
  const day = iso(clock.now() - DAY).slice(0, 10);
  const flow = async (): Promise<unknown> =>
    await ask(mirror, `SELECT closed FROM flow_daily WHERE day = '${day}' ORDER BY inbox_id LIMIT 1`);
  expect(await flow()).toEqual([{ closed: 0 }]);
  const [inbox] = await database.query<{ id: string }>(`SELECT id FROM inboxes ORDER BY id LIMIT 1`);
  await database.execute(
    `INSERT INTO day_moves (day, inbox_id, field, old_value, new_value, moves)
     SELECT day, $1, 'status', 'open', 'closed', 7 FROM counted_days WHERE CAST(day AS TEXT) = $2`,
    inbox?.id,
    day,
  );
  expect(await flow()).toEqual([{ closed: 7 }]);
  expect(await mirror.writer.wrongDays()).toEqual([day]);
  await mirror.writer.repairDays([day], clock.now());
  expect(await flow()).toEqual([{ closed: 0 }]);
});
