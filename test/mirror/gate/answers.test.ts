import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/core/clock.ts';
import { iso } from '../../../src/database/instants.ts';
import { throttledAloneSince } from '../../../src/mirror/gate/answers/throttling.ts';
import { mirrorOn } from '../../../src/mirror/mirror.ts';
import type { TestMirror } from '../../support/mirror.ts';
import { firstInbox } from '../../support/rows.ts';
import { quickMirror } from '../../support/template.ts';

/** A request of the ledger: for a list of inbox 1, or for `path`; so many ms ago. */
interface Asked {
  readonly agoMs: number;
  readonly list?: 'users' | 'tags' | 'conversations';
  readonly status: number | null;
  readonly error?: string;
  readonly reason?: string;
}

async function ledgerOf(asked: readonly Asked[]): Promise<TestMirror> {
  const mirror = await quickMirror();
  await write(mirror, '1', asked);
  return mirror;
}

async function write(
  { database, clock }: TestMirror,
  inboxId: string,
  asked: readonly Asked[],
): Promise<void> {
  for (const { agoMs, list, status, error = null, reason = 'manual' } of asked)
    await database.execute(
      `INSERT INTO requests (sent_at, method, path, list, inbox_id, reason, status, error)
       VALUES ($1, 'GET', $2, $3, $4, $5, $6, $7)`,
      iso(clock.now() - agoMs),
      list === undefined ? '/inboxes' : `/inboxes/${inboxId}/${list}`,
      list ?? 'inboxes',
      list === undefined ? null : inboxId,
      reason,
      status,
      error ?? (status === 200 || status === null ? null : `HTTP ${status}`),
    );
}

describe('a list that fails', () => {
  const FAILED = { list: 'users', status: 500 } as const;

  test.each<[string, boolean, Asked[]]>([
    ['right after the first failure', true, [{ agoMs: 4 * HOUR - MINUTE, status: 200 }]],
    ['just before the second failure', true, [{ agoMs: HOUR + MINUTE, status: 200 }]],
    ['an hour from both', false, [{ agoMs: 2.5 * HOUR, status: 200 }]],
    ['as a web page', false, [{ agoMs: HOUR + MINUTE, status: 200, error: 'is not JSON' }]],
    ['before the first failure', false, []],
  ])('fails alone if another request is answered %s: %s', async (_, alone, between) => {
    const mirror = await ledgerOf([
      { agoMs: 4 * HOUR + MINUTE, status: 200 },
      { ...FAILED, agoMs: 4 * HOUR },
      ...between,
      { ...FAILED, agoMs: HOUR },
    ]);
    const { lists, kinds } = await mirrorOn(mirror.database).failing(mirror.clock.now());
    expect(lists.get('users/1')).toMatchObject({ requests: 2, spanMs: 3 * HOUR, alone });
    expect(kinds.get('users')).toMatchObject({ requests: 2, alone });
  });

  test('fails no more once it was answered, if only with a 404', async () => {
    const mirror = await ledgerOf([
      { ...FAILED, agoMs: HOUR },
      { ...FAILED, agoMs: MINUTE, status: 404 },
    ]);
    const { lists } = await mirrorOn(mirror.database).failing(mirror.clock.now());
    expect(lists.size).toBe(0);
  });
  test('is refused if its last answer was a 403', async () => {
    const mirror = await ledgerOf([
      { list: 'users', agoMs: 2 * HOUR, status: 403 },
      { list: 'users', agoMs: MINUTE, status: 429 },
      { list: 'tags', agoMs: HOUR, status: 403 },
      { list: 'tags', agoMs: MINUTE, status: 200 },
    ]);
    const { refused } = await mirrorOn(mirror.database).failing(mirror.clock.now());
    expect([...refused]).toEqual(['users/1']);
  });
});

test('lists of an inbox draw 429s alone if the list of inboxes is served, and not if it is refused too', async () => {
  for (const refused of [false, true]) {
    const served = Array.from({ length: 12 }, (_, nth) => ({
      agoMs: 50 * MINUTE - nth * MINUTE,
      status: 200,
    }));
    const mirror = await ledgerOf([
      { list: 'users', agoMs: HOUR, status: 429 },
      ...served,
      ...(refused ? [{ agoMs: 20 * MINUTE, status: 429 }] : []),
      { list: 'tags', agoMs: 10 * MINUTE, status: 429 },
    ]);
    const sent = { path: '/inboxes/1/conversations', reason: 'manual', list: 'conversations', inbox_id: '1' };
    const since = await throttledAloneSince(mirror.database, sent, mirror.clock.now());
    expect(since?.getTime() ?? null).toBe(refused ? null : mirror.clock.now() - HOUR);
  }
});

test('pages fail from the first failure after the last one that was served, and after 429s for two hours', async () => {
  const page = { list: 'conversations', reason: 'page' } as const;
  const mirror = await ledgerOf([
    { ...page, agoMs: 5 * HOUR, status: 500 },
    { ...page, agoMs: 4 * HOUR, status: 200 },
    { ...page, agoMs: 3 * HOUR, status: 429 },
    { ...page, agoMs: 2 * HOUR, status: null, error: 'no answer' },
    { ...page, agoMs: HOUR, status: 503 },
    { ...page, agoMs: 0, status: null },
  ]);
  await write(mirror, '2', [{ ...page, agoMs: MINUTE, status: 500 }]);
  await write(mirror, '3', [{ ...page, agoMs: 5 * HOUR, status: 429 }]);
  await write(mirror, '4', [
    { ...page, agoMs: 3 * HOUR, status: 429 },
    { ...page, agoMs: HOUR, status: 429 },
  ]);
  const now = mirror.clock.now();
  const failing = await mirrorOn(mirror.database).failingPages(now);
  expect([...failing].toSorted(([a], [b]) => Number(a) - Number(b))).toEqual([
    ['1', { since: new Date(now - 2 * HOUR), requests: 2, cause: 'HTTP 503' }],
    ['4', { since: new Date(now - 3 * HOUR), requests: 2, cause: 'HTTP 429' }],
  ]);
});

test.each([
  ['the question itself has begun', false, true],
  ['another list has begun since', true, false],
])('questions rest an hour beyond a pause that %s', async (_, isOther, rests) => {
  const question = { list: 'conversations', reason: 'probe', status: 429 } as const;
  const mirror = await ledgerOf([
    { ...question, agoMs: 3 * HOUR },
    ...(isOther ? [{ list: 'users', agoMs: HOUR, status: 429 } as const] : []),
  ]);
  await mirror.database.execute(
    `INSERT INTO gate_state (id, strikes, paused_until) VALUES (1, 1, $1)`,
    iso(mirror.clock.now() - MINUTE),
  );
  const key = { list: 'conversations', inboxId: '1' } as const;
  expect(await mirrorOn(mirror.database).questionsRest(key, mirror.clock.now())).toBe(rests);
});

test('pages fail no more once a walk of their list was served', async () => {
  const mirror = await ledgerOf([
    { list: 'conversations', reason: 'page', agoMs: 2 * HOUR, status: 500 },
    { list: 'conversations', reason: 'resync', agoMs: HOUR, status: 200 },
  ]);
  expect((await mirrorOn(mirror.database).failingPages(mirror.clock.now())).size).toBe(0);
});

test.each<[string, { hours: number; tries: number; answered: boolean }, boolean]>([
  ['for a day, beside answers,', { hours: 24, tries: 24, answered: true }, true],
  ['for less than a day', { hours: 23, tries: 23, answered: true }, false],
  ['only twice, two days apart,', { hours: 48, tries: 2, answered: true }, false],
  ['in an outage', { hours: 24, tries: 24, answered: false }, false],
])('a walk of which no page is read %s is stuck: %j %s', async (_, { hours, tries, answered }, isStuck) => {
  const mirror = await quickMirror({ sandbox: { conversations: [60] }, pageSize: 10 });
  const { sandbox, clock, writer, database } = mirror;
  const { id } = firstInbox(sandbox);
  let pages = 0;
  sandbox.script(({ path }) => {
    const isPage = path.includes('/conversations?');
    if (isPage) pages += 1;
    return pages > 3 && (isPage || !answered) ? { status: 500 } : undefined;
  });
  await mirror.sync();
  for (let nth = 1; nth <= tries; nth += 1) {
    clock.advance((hours * HOUR) / tries);
    const others = answered ? [{ agoMs: 0, status: 200 }] : [];
    await write(mirror, id, [...others, { agoMs: 0, list: 'conversations', status: 500 }]);
  }
  const [open] = await database.query<{ id: number; pages: number }>(
    `SELECT id, pages FROM sweeps WHERE state = 'paused'`,
  );
  expect(open!.pages).toBe(3);
  expect(await writer.sweeps.isStuck({ id: open!.id, list: 'conversations', inboxId: id })).toBe(isStuck);
});
