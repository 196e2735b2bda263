import { beforeEach, describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import type { Http } from '../../src/service/http.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import {
  askedSince,
  count,
  firstIds,
  firstInbox,
  nthInbox,
  removeConversations,
  single,
  tampered,
} from '../support/rows.ts';
import { syncedMirror, syncTwice } from '../support/settle.ts';
import { expectEqualToService } from '../support/truth.ts';

const SINGLE = /\/conversations\/\d+$/;
const NOT_FOUND = { status: 404, body: '{"errors":[{"message":"not found"}]}' };

const tombstones = async ({ database }: TestMirror, table = 'conversations'): Promise<number> =>
  await count(database, `${table} WHERE deleted_at IS NOT NULL`);
const suspects = async ({ database }: TestMirror): Promise<number> =>
  await count(database, 'conversations WHERE missing_since IS NOT NULL AND deleted_at IS NULL');

/** The rows that lists of conversations lack, although the service has them. */
const hidden: { now: readonly string[] | 'all' } = { now: [] };

beforeEach(() => {
  hidden.now = [];
});

function lacking(http: Http): Http {
  return tampered((page, path) => {
    if (!path.endsWith('/conversations')) return;
    page.results = page.results.filter(({ id }) => hidden.now !== 'all' && !hidden.now.includes(String(id)));
    if (hidden.now === 'all') page.pagination.next_page = null;
  })(http);
}

const synced = async (conversations: number[], options: MirrorOptions = {}): Promise<TestMirror> =>
  await syncedMirror(0, { wrapHttp: lacking, ...options, sandbox: { conversations } });

/** A mirror whose service has just returned a row that slipped from a list. */
async function afterASlip(conversations: number[]): Promise<TestMirror> {
  const mirror = await synced(conversations);
  hidden.now = firstIds(firstInbox(mirror.sandbox).conversations, 1, 2);
  await mirror.sync();
  hidden.now = [];
  return mirror;
}

/** The nth single question from now on is answered with 404 if `isOut` says so. */
function outage({ sandbox }: TestMirror, isOut: (nth: number) => boolean): void {
  let nth = 0;
  sandbox.script(({ path }) => (SINGLE.test(path) && isOut(++nth) ? NOT_FOUND : undefined));
}

describe('an outage in which the service knows no id', () => {
  test('and lists are empty deletes nothing, although the service returned a row minutes before', async () => {
    const mirror = await afterASlip([6, 6, 6]);
    hidden.now = 'all';
    outage(mirror, () => true);
    // The row that was returned is unlisted, and asked for again after 10 minutes.
    for (const missed of [17, 18]) {
      mirror.clock.advance(5 * MINUTE);
      await mirror.sync();
      expect([await tombstones(mirror), await suspects(mirror)]).toEqual([0, missed]);
    }
  });

  test('and rows slip from a list deletes nothing, although the service returned a row before', async () => {
    const mirror = await afterASlip([30, 30]);
    hidden.now = firstIds(firstInbox(mirror.sandbox).conversations, 3, 10);
    outage(mirror, () => true);
    await mirror.sync();
    expect([await tombstones(mirror), await suspects(mirror)]).toEqual([0, 3]);
  });

  test('deletes nothing if it ends at any of the questions', async () => {
    const mirror = await synced([30]);
    const { conversations } = firstInbox(mirror.sandbox);
    for (let last = 1; last <= 8; last += 1) {
      hidden.now = firstIds(conversations, 7, 10);
      outage(mirror, (nth) => nth <= last);
      await mirror.sync();
      expect(await tombstones(mirror), `after ${last} answers`).toBe(0);
      hidden.now = [];
      mirror.sandbox.script(undefined);
      await mirror.sync();
      mirror.clock.advance(HOUR);
    }
  });

  test('deletes nothing of a later answer if it begins at any of the questions', async () => {
    const mirror = await synced([30]);
    const { id, conversations } = firstInbox(mirror.sandbox);
    // The first one is gone, so that the control question precedes the outage.
    removeConversations(mirror, id, firstIds(conversations, 1, 10));
    for (let first = 1; first <= 8; first += 1) {
      hidden.now = firstIds(conversations, 7, 10);
      outage(mirror, (nth) => nth >= first);
      await mirror.sync();
      expect(await tombstones(mirror), `from answer ${first}`).toBeLessThanOrEqual(1);
      hidden.now = [];
      mirror.sandbox.script(undefined);
      mirror.clock.advance(HOUR);
    }
    // The first one has waited for hours, and is asked for seldom.
    mirror.clock.advance(DAY);
    await mirror.sync();
    await expectEqualToService(mirror);
  });

  test('deletes nothing of a later answer if it begins after the second proof, at the only suspect that is left', async () => {
    const mirror = await synced([30]);
    const { id, conversations } = firstInbox(mirror.sandbox);
    // Five suspects are asked for between two proofs, and the sixth one between the second proof and a third.
    const ids = firstIds(conversations, 6, 10);
    removeConversations(mirror, id, ids.slice(0, 5));
    hidden.now = ids.slice(5);
    let isOut = false;
    mirror.sandbox.script(({ path }) => {
      isOut ||= path.endsWith(`/${hidden.now[0]}`);
      return isOut && SINGLE.test(path) ? NOT_FOUND : undefined;
    });
    await mirror.sync();
    expect([await tombstones(mirror), await suspects(mirror)]).toEqual([5, 1]);
  });

  test('deletes nothing if only the questions for the suspects before were asked between two proofs', async () => {
    const mirror = await synced([40]);
    const { id, conversations } = firstInbox(mirror.sandbox);
    // Five suspects are asked for between two proofs: here a row that is gone, and four that are not.
    removeConversations(mirror, id, firstIds(conversations, 1, 10));
    hidden.now = firstIds(conversations, 6, 10);
    const sixth = hidden.now[4]!;
    let asked = 0;
    mirror.sandbox.script(({ path }) =>
      path.endsWith(`/${sixth}`) && ++asked === 1 ? NOT_FOUND : undefined,
    );
    await mirror.sync();
    expect(asked, 'the service is asked again after a proof').toBe(2);
    expect(await tombstones(mirror)).toBe(1);
  });

  test.each([
    { servers: 2, missing: 1 },
    { servers: 2, missing: 3 },
    { servers: 3, missing: 7 },
    { servers: 4, missing: 2 },
  ])('of one of $servers servers that answer by turns deletes none of $missing', async (example) => {
    for (let broken = 0; broken < example.servers; broken += 1) {
      const mirror = await synced([30, 30]);
      hidden.now = firstIds(firstInbox(mirror.sandbox).conversations, example.missing, 10);
      outage(mirror, (nth) => nth % example.servers === broken);
      for (let hour = 0; hour < 6; hour += 1) {
        await mirror.sync();
        mirror.clock.advance(HOUR);
      }
      expect(await tombstones(mirror), `server ${broken}`).toBe(0);
    }
  });

  test('ends the belief in every 404 for six hours if the service returns a row that it did not know', async () => {
    const mirror = await synced([30, 30]);
    const { id, conversations } = nthInbox(mirror.sandbox, 1);
    hidden.now = firstIds(firstInbox(mirror.sandbox).conversations, 1, 10);
    // The second answer for the row is the row.
    outage(mirror, (nth) => nth === 1);
    await mirror.sync();
    mirror.sandbox.script(undefined);
    removeConversations(mirror, id, firstIds(conversations, 2, 10));
    const gone = [];
    const before = mirror.sandbox.arrivals.length;
    for (let hours = 1; hours <= 8; hours += 1) {
      mirror.clock.advance(HOUR);
      await mirror.sync();
      gone.push(await tombstones(mirror));
    }
    // Rows on which nothing was decided are asked for again each time their wait has doubled.
    expect(gone).toEqual([0, 0, 0, 0, 0, 0, 0, 2]);
    expect(single(askedSince(mirror.sandbox, before)).length).toBeLessThan(20);
    const cause = expect.stringContaining('did not know a row by its id, and later returned it') as string;
    expect(mirror.events).toContainEqual(expect.objectContaining({ kind: 'withheld', cause }));
  });

  test('deletes nothing if a row that the list shows is unknown, and known when it is asked for again', async () => {
    const mirror = await synced([30]);
    const ids = firstIds(firstInbox(mirror.sandbox).conversations, 1, 10);
    hidden.now = ids;
    const isHidden = (path: string): boolean => ids.some((id) => path.endsWith(`/${id}`));
    let shown = 0;
    mirror.sandbox.script(({ path }) =>
      SINGLE.test(path) && (isHidden(path) || ++shown === 1) ? NOT_FOUND : undefined,
    );
    await mirror.sync();
    expect([await tombstones(mirror), await suspects(mirror)]).toEqual([0, 1]);
  });

  test('of one inbox deletes none of its conversations, although others are returned', async () => {
    const mirror = await synced([9, 9]);
    const { id, conversations } = firstInbox(mirror.sandbox);
    hidden.now = firstIds(conversations, 2);
    mirror.sandbox.script(({ path }) =>
      SINGLE.test(path) && path.includes(`/${id}/`) ? NOT_FOUND : undefined,
    );
    await mirror.sync();
    expect(await tombstones(mirror)).toBe(0);
  });

  test('deletes nothing by a page that is read singly', async () => {
    const mirror = await afterASlip([300]);
    const [bookmark] = [...(await mirror.writer.bookmarks.all()).values()].flat();
    hidden.now = firstIds(firstInbox(mirror.sandbox).conversations, 3, 10);
    outage(mirror, () => true);
    await mirror.readPage(bookmark!);
    expect([await tombstones(mirror), await suspects(mirror)]).toEqual([0, 3]);
  });

  test('deletes no inbox, although the service returned one minutes before', async () => {
    const lists = { now: [] as string[] };
    const wrapHttp = tampered((page, path) => {
      if (path === '/inboxes')
        page.results = page.results.filter(({ id }) => !lists.now.includes(String(id)));
    });
    const mirror = await synced([4, 4, 4, 4, 4], { wrapHttp });
    const ids = [...mirror.sandbox.world.inboxes.keys()];
    lists.now = [ids[3]!];
    await mirror.sync();
    lists.now = ids.slice(0, 2);
    mirror.sandbox.script(({ path }) => (/\/inboxes\/\d+$/.test(path) ? NOT_FOUND : undefined));
    await syncTwice(mirror);
    expect(await tombstones(mirror, 'inboxes')).toBe(0);
  });
});

test('one deletion costs four requests, and each further one of a list a little more than one', async () => {
  const mirror = await synced([300]);
  const { id, conversations } = firstInbox(mirror.sandbox);
  const asked = async (many: number): Promise<string[]> => {
    const before = mirror.sandbox.arrivals.length;
    removeConversations(mirror, id, firstIds(conversations, many, 50));
    await mirror.sync();
    return single(askedSince(mirror.sandbox, before));
  };
  const [first, control, ...again] = await asked(1);
  expect(again).toEqual([first, first]);
  expect(control).not.toBe(first);
  expect(await asked(5)).toHaveLength(5 + 4);
  expect(await asked(14)).toHaveLength(14 + 6);
  expect(await tombstones(mirror)).toBe(20);
});

test('control questions are for other rows each time: an answer from a cache would prove nothing', async () => {
  const mirror = await synced([300]);
  const { id, conversations } = firstInbox(mirror.sandbox);
  const before = mirror.sandbox.arrivals.length;
  const gone = [10, 100, 200].map((from) => firstIds(conversations, 2, from));
  for (const ids of gone) {
    removeConversations(mirror, id, ids);
    await mirror.sync();
  }
  const controls = single(askedSince(mirror.sandbox, before)).filter(
    (path) => !gone.flat().some((one) => path.endsWith(`/${one}`)),
  );
  expect(controls).toHaveLength(6);
  expect(new Set(controls).size).toBe(6);
});

test('suspects wait if the budget of the day is spent between their questions', async () => {
  const mirror = await synced([30], { budget: { perDay: 22 } });
  const { id, conversations } = firstInbox(mirror.sandbox);
  removeConversations(mirror, id, firstIds(conversations, 4, 3));
  const sent = mirror.sandbox.arrivals.length;
  expect(sent + 4, 'requests until the first question').toBeLessThan(22);
  for (let nth = 0; nth < 3; nth += 1) await mirror.sync();
  expect(mirror.sandbox.arrivals.length).toBe(22);
  mirror.clock.advance(25 * HOUR);
  await mirror.sync();
  await expectEqualToService(mirror);
});

test('suspects are decided one by one where each run has only a few requests', async () => {
  const budget = { perSecond: 1000, perDay: 1_000_000, reserved: 0 };
  const mirror = await synced([30], { gate: { budget } });
  const { id, conversations } = firstInbox(mirror.sandbox);
  removeConversations(mirror, id, firstIds(conversations, 4, 3));
  for (let runs = 0; runs < 12; runs += 1) {
    budget.perDay = mirror.sandbox.arrivals.length + 4;
    await mirror.sync({ lists: ['conversations'] });
  }
  expect(await tombstones(mirror)).toBe(4);
});
