import * as fc from 'fast-check';
import { afterAll, expect, onTestFinished, test } from 'vitest';
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

/** Ms from the reading of a list's oldest page to the end of its last complete sweep; null: no bookmarks. */
const AFTER_OLDEST = [null, null, -HOUR, 0, HOUR, 12 * HOUR, 12 * HOUR + 1, 13 * HOUR, 30 * DAY];

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

/** Epoch ms: when a list's last complete sweep ended, and its oldest page was read; null: it has no bookmarks. */
interface Past {
  readonly end: number;
  readonly oldest: number | null;
}

/** Records one complete sweep of each list, and the pages of conversations. */
async function complete(database: Database, keys: readonly ListKey[], pasts: readonly Past[]): Promise<void> {
  for (const table of ['sweeps', 'bookmarks', 'bookmark_lists'])
    await database.execute(`DELETE FROM ${table}`);
  const rows = keys.map(({ list, inboxId }, index) => ({
    list,
    inbox_id: inboxId,
    at: iso(pasts[index]!.end),
    read_at: list === 'conversations' && pasts[index]!.oldest !== null ? iso(pasts[index]!.oldest) : null,
  }));
  const columns = { list: 'text', inbox_id: 'text', at: 'instant' } as const;
  await database.execute(
    `INSERT INTO sweeps (list, inbox_id, reason, state, started_at, heartbeat_at, finished_at)
     SELECT list, inbox_id, 'manual', 'complete', at, at, at
     FROM ${database.dialect.records('$1', columns, 'ended')}`,
    JSON.stringify(rows),
  );
  const read = JSON.stringify(rows.filter((row) => row.read_at !== null));
  const pages = database.dialect.records('$1', { inbox_id: 'text', read_at: 'instant' }, 'pages');
  await database.execute(
    `INSERT INTO bookmark_lists (inbox_id, direction, baseline_at) SELECT inbox_id, 'asc', read_at FROM ${pages}`,
    read,
  );
  await database.execute(
    `INSERT INTO bookmarks (inbox_id, after_id, item_ids, read_at, kinds)
     SELECT inbox_id, '', '[]', read_at, '[]' FROM ${pages}`,
    read,
  );
}

/** By list: its state, and as of when it is complete. */
type Judged = Map<string, readonly [state: string, asOf: string | undefined]>;

async function byView(database: Database): Promise<Judged> {
  const rows = await database.query<{
    list: ListName;
    inbox_id: string | null;
    state: string;
    complete_as_of: Date | string | null;
  }>('SELECT list, inbox_id, state, complete_as_of FROM freshness');
  return new Map(
    rows.map(({ list, inbox_id: inboxId, state, complete_as_of: asOf }) => [
      listId({ list, inboxId }),
      [state, asOf === null ? undefined : new Date(asOf).toISOString()],
    ]),
  );
}

type Config = ReturnType<typeof readConfig>;

async function byStatus(database: Database, config: Config, now: number): Promise<Judged> {
  const self = { host: 'h', pid: 1, isAlive: () => false, isWriter: false };
  const status = judge(await readStatus(database, now), { now, config, databaseName: 'mirror', self });
  return new Map(
    status.judged.map((list) => [listId(list), [list.freshness, list.completeAsOf?.toISOString()]]),
  );
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
      fc.tuple(
        fc.nat(3),
        fc.constantFrom(-1, 0, 1),
        fc.oneof(fc.nat(3 * HOUR), fc.constant(2 * MINUTE)),
        fc.constantFrom(...AFTER_OLDEST),
      ),
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
          // The end of each list's sweep, or the reading of its oldest page: up to three slots after a time before
          // now and before the grace, or a millisecond beside.
          const pasts = keys.map(({ list }, index): Past => {
            const [slots, beside, back, after] = lists[index]!;
            const graceMs = list === 'conversations' ? (coverDays - 1) * DAY : 0;
            let end = now - graceMs - back * (slots + 1);
            for (let step = 0; step < slots; step += 1) end = crons[list].next(end);
            const at = Math.min(now, end + beside);
            return after === null
              ? { end: at, oldest: null }
              : { end: Math.min(now, at + after), oldest: at };
          });
          await database.transaction((tx) => writeCoverDays(tx, coverDays));
          await mirrorOn(database).keepSlots(crons, now - writtenAgo);
          await complete(database, keys, pasts);
          expect(await byView(database)).toEqual(await byStatus(database, config, now));
        },
      ),
      parameters,
    );
  },
  timeoutMs,
);

test('a walk counts from its end, and from its first page if it took more than 12 hours', async () => {
  const { database, keys } = await account();
  onTestFinished(() => database.close());
  const end = Date.parse('2026-05-13T12:00:00.000Z');
  const begins = [end - 12 * HOUR, end - 12 * HOUR - 1, end - 30 * DAY, end + MINUTE];
  const lists = keys.filter(({ list }) => list === 'conversations').slice(0, begins.length);
  await complete(
    database,
    lists,
    begins.map((oldest) => ({ end, oldest })),
  );
  const judged = await byView(database);
  const asOf = lists.map((key) => Date.parse(judged.get(listId(key))![1]!));
  expect(asOf).toEqual([end, ...begins.slice(1)]);
});
