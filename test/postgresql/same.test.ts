import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import { canonicalJson, parseExact } from '../../src/core/json.ts';
import { COLUMNS, LIST_NAMES, TABLES } from '../../src/core/lists.ts';
import { VIEW_NAMES } from '../../src/database/catalogue.ts';
import type { Http } from '../../src/service/http.ts';
import { TestClock } from '../support/clock.ts';
import { type Happening, happening, Happenings } from '../support/happenings.ts';
import { histories } from '../support/histories.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import { firstIds, firstInbox, tampered } from '../support/rows.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';
import { ask } from '../views/support.ts';

const HISTORIES = histories(2, 30);

/** A history that fills every view, however few follow. */
const EVENTFUL = [0, 1, 2, 3].map((period) => ({
  hours: 9,
  events: 20,
  happenings: (['status', 'assign', 'rename-user', 'add-tag', 'add-inbox'] as const).flatMap((kind) =>
    Array.from({ length: 20 }, (_, nth): Happening => ({ kind, inbox: 0, row: nth, other: nth + period })),
  ),
}));

const KEPT = ['content_hash', 'first_seen_at', 'changed_at', 'missing_since', 'deleted_at'];
const CHANGES = [
  'list',
  'inbox_id',
  'item_id',
  'field',
  'old_value',
  'new_value',
  'observed_at',
  'previously_seen_at',
  'item_values',
];

/** Starts a day before a clock change: at an hour or at midnight, by an hour or by half an hour. */
const ZONES = {
  'Europe/Berlin': '2026-03-28T08:00:00.000Z',
  'America/New_York': '2026-10-31T08:00:00.000Z',
  'Africa/Cairo': '2026-04-23T08:00:00.000Z',
  'Australia/Lord_Howe': '2026-04-04T08:00:00.000Z',
} as const;

/** Statuses and names: known ones, similar ones, words of the views, and text that is hard to store. */
const WORDS = [
  ['open', 'pending', 'closed', 'close', 'snoozed', 'Closed', 'other', 'none', '', ' open '],
  [
    '\u00e9tat',
    'e\u0301tat',
    '\u0130I\u0131i',
    '\ufb01ne',
    '\u202e\u0646\u0635',
    '\u{1f937}\u200d\u2642\ufe0f',
    '\u{10ffff}\uffff',
  ],
  ['a\0b', 'half \ud83d', `O'Neil "%_" \\ $1 ?`, '\u00a0\t\n', '9'.repeat(40)],
].flat();

/**
 * A clock that rounds down to the hour, so that both mirrors record the same times.
 * A sync takes some time of the test clock, and it sweeps its lists side by side.
 */
class HourClock extends TestClock {
  readonly exact: () => number;

  constructor(start?: number) {
    super(start);
    this.exact = this.now;
    this.now = () => Math.floor(this.exact() / HOUR) * HOUR;
  }
}

/** One mirror on each database. Each has its own sandbox, and both sandboxes get the same events. */
async function twins(options: MirrorOptions, start?: number): Promise<[TestMirror, TestMirror]> {
  const mirror = async (provider: 'sqlite' | 'postgresql'): Promise<TestMirror> => {
    const clock = new HourClock(start);
    const { monotonic, boot, sleep, exact: now } = clock;
    // The gate gets the exact time: its ledger and its spacing need it.
    return await quickMirror({
      path: await freshMirrorFile(provider),
      clock,
      gate: {
        clock: { monotonic, boot, sleep, now, ledgerTime: async () => ({ now: now(), boot: boot() }) },
      },
      ...options,
    });
  };
  return [await mirror('sqlite'), await mirror('postgresql')];
}

/** A table's rows, sorted in the same order for both databases. */
async function rowsOf(
  { database }: TestMirror,
  table: string,
  columns: readonly string[],
  raw: string,
): Promise<string[]> {
  const rows = await database.query<Record<string, unknown>>(
    `SELECT ${columns.join(', ')} ${raw} FROM ${table}`,
  );
  return rows.map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).map(plain)))).sort();
}

/** A value that both databases have. JSON is text in some places, and PostgreSQL reorders its keys. */
function plain([name, value]: [string, unknown]): [string, unknown] {
  if (!/^(raw|item_values)$/.test(name) || value === null) return [name, value];
  return [name, canonicalJson(typeof value === 'string' ? parseExact(value) : value)];
}

async function contentOf(mirror: TestMirror): Promise<Record<string, string[]>> {
  const content: Record<string, string[]> = {
    changes: await rowsOf(mirror, 'changes', CHANGES, ''),
    conversation_tags: await rowsOf(
      mirror,
      'conversation_tags',
      ['inbox_id', 'conversation_id', 'tag_id'],
      '',
    ),
    rejects: await rowsOf(mirror, 'rejects', ['list', 'inbox_id', 'reason'], ', CAST(raw AS TEXT) AS raw'),
  };
  for (const list of LIST_NAMES) {
    const key = list === 'inboxes' ? ['id'] : ['inbox_id', 'id'];
    const columns = [...key, ...Object.keys(COLUMNS[list]), ...KEPT];
    content[list] = await rowsOf(mirror, TABLES[list], columns, ', CAST(raw AS TEXT) AS raw');
  }
  return content;
}

/** All rows of every view, with their columns in order. The ids of changes depend on which list ends first. */
async function viewsOf(mirror: TestMirror, zone: string): Promise<Record<string, string[]>> {
  const views: Record<string, string[]> = {};
  for (const view of VIEW_NAMES)
    views[view] = (await ask(mirror, `SELECT * FROM ${view}`, zone))
      .map(({ id: _id, ...row }) => JSON.stringify(Object.fromEntries(Object.entries(row).map(plain))))
      .sort();
  return views;
}

test(
  'the same history gives the same tables, `changes` and view rows on SQLite and PostgreSQL',
  async () => {
    const filled = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1000),
        fc.constantFrom('string' as const, 'number' as const, 'mixed' as const),
        fc.constantFrom(...(Object.keys(ZONES) as (keyof typeof ZONES)[])),
        fc.array(
          fc.record({
            hours: fc.integer({ min: 1, max: 30 }),
            events: fc.nat(20),
            happenings: fc.array(happening, { minLength: 5, maxLength: 40 }),
          }),
          { minLength: 2, maxLength: 4 },
        ),
        async (seed, idType, zone, history) => {
          const sandbox = {
            seed,
            idType,
            conversations: [20, 9],
            usersPerInbox: 4,
            tagsPerInbox: 5,
            sharedShare: 0.3,
          };
          const mirrors = await twins({ pageSize: 10, sandbox }, Date.parse(ZONES[zone]));
          const lives = mirrors.map((mirror) => new Happenings(mirror.sandbox.world, WORDS));
          for (const { hours, events, happenings } of [{ hours: 1, events: 0, happenings: [] }, ...history]) {
            for (const [nth, { sandbox: service, clock }] of mirrors.entries()) {
              for (const one of happenings) lives[nth]?.make(one);
              service.applyEvents(events);
              clock.advance(hours * HOUR - (clock.monotonic() % HOUR));
            }
            // A history may replace every inbox, as another account would.
            for (const { stopped } of await Promise.all(
              mirrors.map(({ sync }) => sync({ acceptAccount: true })),
            ))
              expect(stopped).toBeNull();
            expect(await contentOf(mirrors[1])).toEqual(await contentOf(mirrors[0]));
          }
          for (const { clock } of mirrors) clock.advance(HOUR - (clock.monotonic() % HOUR));
          const views = await viewsOf(mirrors[0], zone);
          expect(await viewsOf(mirrors[1], zone)).toEqual(views);
          for (const view of VIEW_NAMES) if (views[view]?.length !== 0) filled.add(view);
          for (const { database } of mirrors) await database.close();
        },
      ),
      // Fast-check reports a failure with its seed and does not shrink it, which would take far longer.
      { ...HISTORIES.parameters, endOnFailure: true, examples: [[1, 'mixed', 'Europe/Berlin', EVENTFUL]] },
    );
    expect(
      VIEW_NAMES.filter((view) => !filled.has(view)),
      'views that were never asked about anything',
    ).toEqual([]);
  },
  HISTORIES.timeoutMs,
);

test('texts and numbers at PostgreSQL’s limits are the same on both and harm no other row', async () => {
  const numbers = '[1e99999,123456789012345678901234567890.000000000012345678901,9007199254740993]';
  const withNumbers = (http: Http): Http => {
    const inner = tampered((page, path) => {
      if (path.endsWith('/conversations')) for (const row of page.results) row['numbers'] = 'NUMBERS';
    })(http);
    return {
      close: inner.close,
      async get(path, query) {
        const answer = await inner.get(path, query);
        return { ...answer, body: answer.body.replaceAll('"NUMBERS"', numbers) };
      },
    };
  };
  const mirrors = await twins({ sandbox: { conversations: [5], idType: 'string' }, wrapHttp: withNumbers });
  for (const mirror of mirrors) {
    const inbox = firstInbox(mirror.sandbox);
    const [first, second, third] = firstIds(inbox.conversations, 3);
    mirror.sandbox.world.setStatus(inbox.id, first!, 'a\0b');
    mirror.sandbox.world.setStatus(inbox.id, second!, 'half \ud83d of a pair, a whole \ud83d\ude00, \\u0000');
    (inbox.conversations.get(third!) as { status: unknown }).status = ['\0'];
    expect((await mirror.sync()).stopped).toBeNull();
    const rows = await mirror.database.query<{ status: string }>(
      'SELECT status FROM conversations ORDER BY id',
    );
    expect(rows.map(({ status }) => status)).toEqual(
      expect.arrayContaining(['a\uFFFDb', 'half \uFFFD of a pair, a whole \u{1F600}, \\u0000']),
    );
    expect(rows.length).toBe(4);
    const raw = await mirror.database.query<{ text: string }>(
      'SELECT CAST(raw AS TEXT) AS text FROM conversations',
    );
    for (const { text } of raw)
      expect(text.replaceAll(' ', '')).toContain(numbers.replace('1e99999', '"1e99999"'));
  }
  expect(await contentOf(mirrors[1])).toEqual(await contentOf(mirrors[0]));
});
