import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { keysByInbox, LIST_NAMES, listId, type ListKey, type ListName } from '../../src/core/lists.ts';
import type { Database } from '../../src/database/database.ts';
import { iso } from '../../src/database/instants.ts';
import { openDatabase } from '../../src/database/open.ts';
import { stopViewsAt } from '../../src/database/views/views.ts';
import { writeCoverDays } from '../../src/mirror/bookmarks/rounds.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { readStatus } from '../../src/mirror/status.ts';
import { readConfig } from '../../src/session/config/config.ts';
import { judge } from '../../src/status/judge.ts';
import { cronsOf } from '../../src/sync/planning/cron.ts';
import { histories } from '../support/histories.ts';
import { urlOf } from '../support/provider.ts';
import { casesOf } from '../support/rule.ts';
import { freshMirrorFile } from '../support/template.ts';

const INBOXES = 8;
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/St_Johns',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'America/New_York',
];
/** Moments of days on which the clocks of these zones are set, at a slot and beside one, and a usual one. */
const MOMENTS = [
  '2026-03-08T07:30:00.000Z',
  '2026-03-29T01:00:00.000Z',
  '2026-04-04T15:14:59.999Z',
  '2026-10-25T01:15:00.000Z',
  '2026-05-13T12:00:00.001Z',
];

const few = (most: number): fc.Arbitrary<string> =>
  fc
    .uniqueArray(fc.integer({ min: 0, max: most }), { minLength: 1, maxLength: 4 })
    .map((values) => values.sort((a, b) => a - b).join(','));
const range = (most: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.integer({ min: 0, max: most }),
      fc.integer({ min: 0, max: most }),
      fc.integer({ min: 1, max: 5 }),
    )
    .map(([one, other, step]) => `${Math.min(one, other)}-${Math.max(one, other)}/${step}`);
const field = (most: number): fc.Arbitrary<string> =>
  fc.oneof(few(most), range(most), fc.constantFrom('*', '*', '*/5', '*/15', '*/7', '*/22'));
/** Most slots of people are on all days or on some weekdays. */
const DATES = [
  '* * *',
  '* * 1-5',
  '* * 0,6',
  '* 4-10 1-5',
  '1 * *',
  '*/9 * *',
  'L * *',
  '15W * *',
  '* * 3#2',
];
const expressions = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: fc.constantFrom('*/20', '15') },
    ),
    field(59),
    field(23),
    fc.oneof(fc.constantFrom(...DATES.slice(0, 2)), fc.constantFrom(...DATES)),
  )
  .map((parts) => parts.join(' ').trim());

/** A mirror of some inboxes, for all tests of this file. */
let mirror: { readonly database: Database; readonly keys: readonly ListKey[] } | undefined;
afterAll(() => mirror?.database.close());

async function account(): Promise<NonNullable<typeof mirror>> {
  const database = await openDatabase(urlOf(await freshMirrorFile()));
  const inboxes = Array.from({ length: INBOXES }, (_, index) => ({ id: String(index + 1) }));
  for (const { id } of inboxes)
    await database.execute(
      `INSERT INTO inboxes (id, raw, content_hash, first_seen_at, changed_at) VALUES ($1, '{}', '', $2, $2)`,
      id,
      iso(0),
    );
  return { database, keys: keysByInbox(inboxes) };
}

/** Records one complete sweep of each list. */
async function complete(
  database: Database,
  keys: readonly ListKey[],
  ends: readonly number[],
): Promise<void> {
  await database.execute('DELETE FROM sweeps');
  const rows = keys.map(({ list, inboxId }, index) => ({ list, inbox_id: inboxId, at: iso(ends[index]!) }));
  const columns = { list: 'text', inbox_id: 'text', at: 'instant' } as const;
  await database.execute(
    `INSERT INTO sweeps (list, inbox_id, reason, state, started_at, heartbeat_at, finished_at)
     SELECT list, inbox_id, 'manual', 'complete', at, at, at
     FROM ${database.dialect.records('$1', columns, 'ended')}`,
    JSON.stringify(rows),
  );
}

async function byView(database: Database): Promise<Map<string, string>> {
  const rows = await database.query<{ list: ListName; inbox_id: string | null; state: string }>(
    'SELECT list, inbox_id, state FROM freshness',
  );
  return new Map(rows.map(({ list, inbox_id: inboxId, state }) => [listId({ list, inboxId }), state]));
}

type Config = ReturnType<typeof readConfig>;

async function byStatus(database: Database, config: Config, now: number): Promise<Map<string, string>> {
  const self = { host: 'h', pid: 1, isAlive: () => false, isWriter: false };
  const status = judge(await readStatus(database, now), { now, config, databaseName: 'mirror', self });
  return new Map(status.judged.map((list) => [listId(list), list.freshness]));
}

function configOf(schedules: Readonly<Record<ListName, string>>, timezone: string): Config {
  const env = Object.fromEntries(
    LIST_NAMES.map((list) => [`SCHEDULE_${list.toUpperCase()}`, schedules[list]]),
  );
  return readConfig({ ...env, SCHEDULE_TIMEZONE: timezone }, '/', { service: false });
}

const { parameters, timeoutMs } = histories(3, 60);

test.each(casesOf(MOMENTS, 2))(
  'the view `freshness` and `status` agree at %s, whatever the schedules and the time zone',
  async (moment) => {
    const now = Date.parse(moment);
    mirror ??= await account();
    const { database, keys } = mirror;
    await stopViewsAt(database, moment);
    const ages = fc.array(
      fc.tuple(fc.nat(3), fc.constantFrom(-1, 0, 1), fc.oneof(fc.nat(3 * HOUR), fc.constant(2 * MINUTE))),
      {
        minLength: keys.length,
        maxLength: keys.length,
      },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          inboxes: expressions,
          users: expressions,
          tags: expressions,
          conversations: expressions,
        }),
        fc.constantFrom(...ZONES),
        ages,
        fc.record({ coverDays: fc.constantFrom(1, 2, 3, 40), writtenAgo: fc.nat(30 * DAY) }),
        async (schedules, timezone, lists, { coverDays, writtenAgo }) => {
          const config = configOf(schedules, timezone);
          const crons = cronsOf(schedules, timezone);
          // The end of each list's sweep: up to three slots after a time before now and before the grace, or a
          // millisecond beside.
          const ends = keys.map(({ list }, index) => {
            const [slots, beside, back] = lists[index]!;
            const graceMs = list === 'conversations' ? (coverDays - 1) * DAY : 0;
            let end = now - graceMs - back * (slots + 1);
            for (let step = 0; step < slots; step += 1) end = crons[list].next(end);
            return Math.min(now, end + beside);
          });
          await database.transaction((tx) => writeCoverDays(tx, coverDays));
          await mirrorOn(database).keepSlots(crons, now - writtenAgo);
          await complete(database, keys, ends);
          expect(await byView(database)).toEqual(await byStatus(database, config, now));
        },
      ),
      parameters,
    );
  },
  timeoutMs,
);
