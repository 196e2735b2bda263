import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import type { Http } from '../../src/service/http.ts';
import {
  count,
  firstIds,
  firstInbox,
  nthInbox,
  removeConversations,
  reportOn,
  tampered,
} from '../support/rows.ts';
import { syncedMirror, syncTwice } from '../support/settle.ts';
import { quickMirror } from '../support/template.ts';
import type { TestMirror } from '../support/mirror.ts';

const SINGLE = /\/conversations\/\d+$/;
const FORBIDDEN = { status: 403, body: '{"errors":[{"message":"no access to this inbox"}]}' };
const NOT_FOUND = { status: 404, body: '{"errors":[{"message":"not found"}]}' };

const tombstones = async ({ database }: TestMirror, table = 'conversations'): Promise<number> =>
  await count(database, `${table} WHERE deleted_at IS NOT NULL`);

/** Lists of conversations lack these rows, which the service has. */
function lacking(ids: { now: readonly string[] | 'all' }): (http: Http) => Http {
  return tampered((page, path) => {
    if (!path.endsWith('/conversations')) return;
    page.results = page.results.filter(({ id }) => ids.now !== 'all' && !ids.now.includes(String(id)));
    if (ids.now === 'all') page.pagination.next_page = null;
  });
}

test.each([
  ['a text of maintenance', { status: 200, body: '{"message":"maintenance"}' }],
  ['a web page', { status: 200, body: '<html>', headers: { 'content-type': 'text/html' } }],
])('%s with 200 does not show that the service returns rows by their id', async (_what, answer) => {
  const ids = { now: [] as string[] };
  const mirror = await syncedMirror(300, { wrapHttp: lacking(ids) });
  ids.now = firstIds(firstInbox(mirror.sandbox).conversations, 3);
  mirror.sandbox.script(({ path }) => (SINGLE.test(path) ? answer : undefined));
  await mirror.sync();
  mirror.clock.advance(20 * MINUTE);
  mirror.sandbox.script(({ path }) => (SINGLE.test(path) ? NOT_FOUND : undefined));
  await mirror.sync();
  expect(await tombstones(mirror)).toBe(0);
});

const OTHER_ROW = {
  status: 200,
  body: JSON.stringify({ data: { id: '999999', status: 'open', tag_ids: [], assignee: null } }),
};

test.each([
  ['another conversation for a suspect', OTHER_ROW, (_isSuspect: boolean, asked: number) => asked === 1],
  ['other conversations for the control questions', OTHER_ROW, (isSuspect: boolean) => !isSuspect],
  ['403 for the control questions', FORBIDDEN, (isSuspect: boolean) => !isSuspect],
])('%s: no answer for a suspect counts, and no other row is written', async (_what, answer, isWrong) => {
  const ids = { now: [] as string[] };
  const mirror = await syncedMirror(300, { wrapHttp: lacking(ids) });
  ids.now = firstIds(firstInbox(mirror.sandbox).conversations, 2);
  let asked = 0;
  mirror.sandbox.script(({ path }) => {
    if (!SINGLE.test(path)) return undefined;
    asked += 1;
    const isSuspect = ids.now.some((id) => path.endsWith(`/${id}`));
    return isWrong(isSuspect, asked) ? answer : NOT_FOUND;
  });
  await mirror.sync();
  expect(asked).toBeGreaterThan(1);
  expect(await tombstones(mirror)).toBe(0);
  expect(await count(mirror.database, 'conversations WHERE missing_since IS NOT NULL')).toBe(2);
  expect(await count(mirror.database, 'conversations')).toBe(300);
});

test('where a list shows no row any more, none is deleted, and the reason is reported', async () => {
  const ids: { now: readonly string[] | 'all' } = { now: [] };
  const mirror = await quickMirror({ sandbox: { conversations: [12, 8] }, wrapHttp: lacking(ids) });
  await mirror.sync();
  ids.now = 'all';
  mirror.sandbox.script(({ path }) => (SINGLE.test(path) ? NOT_FOUND : undefined));
  for (let nth = 0; nth < 3; nth += 1) {
    mirror.clock.advance(HOUR);
    await mirror.sync();
  }
  expect(await tombstones(mirror)).toBe(0);
  const cause = expect.stringMatching(/the list shows no other row.*--accept-deletes/) as unknown;
  expect(mirror.events).toContainEqual(expect.objectContaining({ kind: 'withheld', cause }));
  await mirror.sync({ acceptDeletes: true });
  expect(await tombstones(mirror)).toBe(20);
});

test('where one inbox shows no conversation any more, those of another one are no proof', async () => {
  const empty = { path: 'none yet' };
  const wrapHttp = tampered((page, path) => {
    if (path.endsWith(empty.path)) Object.assign(page, { results: [] });
  });
  const mirror = await quickMirror({ sandbox: { conversations: [12, 8] }, wrapHttp });
  await mirror.sync();
  empty.path = `/inboxes/${nthInbox(mirror.sandbox, 1).id}/conversations`;
  mirror.sandbox.script(({ path }) =>
    SINGLE.test(path) && path.includes(empty.path) ? NOT_FOUND : undefined,
  );
  for (let nth = 0; nth < 3; nth += 1) {
    mirror.clock.advance(HOUR);
    await mirror.sync();
  }
  expect(await tombstones(mirror)).toBe(0);
  await mirror.sync({ acceptDeletes: true });
  expect(await tombstones(mirror)).toBe(8);
});

test('the only inbox is not deleted by empty lists and a 404', async () => {
  const on = { now: false };
  const wrapHttp = tampered((page, path) => {
    if (on.now && path.endsWith('/inboxes')) Object.assign(page, { results: [] });
  });
  const mirror = await quickMirror({ sandbox: { conversations: [18] }, wrapHttp });
  await mirror.sync();
  on.now = true;
  mirror.sandbox.script(({ path }) => (/\/inboxes\/\d+$/.test(path) ? NOT_FOUND : undefined));
  for (let nth = 0; nth < 3; nth += 1) {
    mirror.clock.advance(HOUR);
    await mirror.sync();
  }
  expect(await tombstones(mirror, 'inboxes')).toBe(0);
});

test('a withdrawn inbox is no obstacle to the deletion of another one', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [5, 5, 5] } });
  await mirror.sync();
  const withdrawn = firstInbox(mirror.sandbox);
  mirror.sandbox.world.removeInbox(nthInbox(mirror.sandbox, 2).id);
  const ofWithdrawn = `/v1/inboxes/${withdrawn.id}`;
  mirror.sandbox.script(({ path }) => (path.startsWith(ofWithdrawn) ? FORBIDDEN : undefined));
  for (let nth = 0; nth < 3; nth += 1) {
    mirror.clock.advance(HOUR);
    const report = await mirror.sync();
    expect(reportOn(report, 'inboxes')).toMatchObject({ outcome: 'complete' });
  }
  expect(await tombstones(mirror, 'inboxes')).toBe(1);
});

test('a withdrawn inbox fails no list of another one', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [5, 1] } });
  await mirror.sync();
  const withdrawn = firstInbox(mirror.sandbox);
  const other = nthInbox(mirror.sandbox, 1);
  removeConversations(mirror, other.id, firstIds(other.conversations, 1));
  const ofWithdrawn = `/v1/inboxes/${withdrawn.id}/conversations`;
  mirror.sandbox.script(({ path }) => (path.startsWith(ofWithdrawn) ? FORBIDDEN : undefined));
  mirror.clock.advance(HOUR);
  const report = await mirror.sync();
  const list = report.lists.find(({ key }) => key.list === 'conversations' && key.inboxId === other.id);
  expect(list).toMatchObject({ outcome: 'complete' });
});

test('one listed row that the service does not return by its id is no obstacle to other deletions', async () => {
  const mirror = await syncedMirror(300);
  const inbox = firstInbox(mirror.sandbox);
  const [ghost, ...gone] = firstIds(inbox.conversations, 4);
  mirror.sandbox.script(({ path }) => (path.endsWith(`/${ghost}`) ? NOT_FOUND : undefined));
  removeConversations(mirror, inbox.id, gone);
  await syncTwice(mirror);
  expect(await tombstones(mirror)).toBe(3);
});

const UNREADABLE = {
  '400': { status: 400 },
  '403': FORBIDDEN,
  '500': { status: 500 },
  'a body that ends early': { status: 200, body: '{"data":{"id":"1"' },
  'a closed connection': 'reset',
} as const;

test.each(Object.keys(UNREADABLE) as (keyof typeof UNREADABLE)[])(
  'a listed conversation that cannot be returned is no obstacle to the deletion of its neighbours: %s',
  async (kind) => {
    const mirror = await syncedMirror(300);
    const inbox = firstInbox(mirror.sandbox);
    const ids = firstIds(inbox.conversations, 300).toSorted();
    const [before, gone, after] = ids.slice(100);
    mirror.sandbox.script(({ path }) =>
      path.endsWith(`/${before}`) || path.endsWith(`/${after}`) ? UNREADABLE[kind] : undefined,
    );
    removeConversations(mirror, inbox.id, [gone!, ...ids.slice(200, 203)]);
    // A question that fails pauses a sweep once.
    for (let nth = 0; nth < 2; nth += 1) {
      await mirror.sync();
      mirror.clock.advance(HOUR);
    }
    expect(await tombstones(mirror)).toBe(4);
  },
);

test('where no listed conversation can be returned, a missing one is asked for ever more seldom', async () => {
  const mirror = await syncedMirror(100);
  const inbox = firstInbox(mirror.sandbox);
  const [gone] = firstIds(inbox.conversations, 1, 50);
  removeConversations(mirror, inbox.id, [gone!]);
  let questions = 0;
  mirror.sandbox.script(({ path }) => {
    if (!SINGLE.test(path)) return undefined;
    questions += 1;
    return path.endsWith(`/${gone}`) ? NOT_FOUND : UNREADABLE['400'];
  });
  for (let minute = 0; minute < 180; minute += 1) {
    const [bookmarks] = [...(await mirror.writer.bookmarks.all()).values()];
    await mirror.readPage(bookmarks![0]!);
    mirror.clock.advance(MINUTE);
  }
  // Nine questions, and up to three control questions after those that are ten minutes apart.
  expect(questions).toBeLessThanOrEqual(9 * 4);
  expect(await tombstones(mirror)).toBe(0);
});
