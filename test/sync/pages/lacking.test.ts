import { describe, expect, test } from 'vitest';
import { DAY, MINUTE } from '../../../src/core/clock.ts';
import type { Http } from '../../../src/service/http.ts';
import { GONE_AFTER_MS } from '../../support/mirror.ts';
import { expectChain, pageMirror } from '../../support/page-mirror.ts';
import {
  askedSince,
  count,
  firstIds,
  firstInbox,
  type PageBody,
  single,
  tampered,
} from '../../support/rows.ts';
import { rule } from '../../support/rule.ts';
import { expectEqualToService, wrongTombstones } from '../../support/truth.ts';

rule.each([
  ['is empty', 0],
  ['is cut', 4],
])('a page that %s suspects no row and costs the list no bookmark', async (_flaw, rows) => {
  let harmful = false;
  const cut = tampered((page, path) => {
    if (!harmful || !path.endsWith('/conversations')) return;
    page.results.length = rows;
    page.pagination.next_page = null;
  });
  const mirror = await pageMirror({}, [60], cut);
  const bookmarks = async () => (await mirror.bookmarks()).map(({ afterId }) => afterId);
  const before = await bookmarks();
  for (let time = 0; time < 2; time += 1) {
    mirror.clock.advance(3 * DAY);
    harmful = true;
    for (const page of [(await mirror.bookmarks())[2]!, (await mirror.bookmarks())[5]!])
      expect(await mirror.readPage(page)).toMatchObject({ cut: expect.any(String), lost: null });
    harmful = false;
    expect(await bookmarks()).toEqual(before);
    await mirror.readAll();
  }
  expect(await mirror.writer.bookmarks.lost()).toEqual([]);
  expect(await mirror.database.query(`SELECT id FROM conversations WHERE missing_since IS NOT NULL`)).toEqual(
    [],
  );
  await expectEqualToService(mirror);
});

rule(
  'a row that the list leaves out, but that the service has, costs at most two requests a day after the first',
  async () => {
    let hidden = '';
    const hide = tampered((page, path) => {
      if (path.endsWith('/conversations'))
        page.results = page.results.filter(({ id }) => String(id) !== hidden);
    });
    const mirror = await pageMirror({}, [40], hide);
    const { sandbox, clock, database } = mirror;
    const [inbox] = [...sandbox.world.inboxes.values()];
    hidden = inbox!.conversations.order[15]!;
    const asked = async (hours: number): Promise<number> => {
      const from = sandbox.arrivals.length;
      for (let hour = 0; hour < hours; hour += 1) {
        clock.advance(60 * MINUTE);
        await mirror.readAll();
      }
      return sandbox.arrivals.slice(from).filter(({ path }) => path.endsWith(`/conversations/${hidden}`))
        .length;
    };
    expect(await asked(24)).toBeLessThanOrEqual(5);
    expect(await asked(48)).toBe(4);
    expect(await wrongTombstones(mirror)).toEqual([]);
    sandbox.world.removeConversation(inbox!.id, hidden);
    for (const waitMs of [DAY / 2, 11 * MINUTE]) {
      clock.advance(waitMs);
      await mirror.readAll();
    }
    expect(await database.query(`SELECT id FROM conversations WHERE deleted_at IS NOT NULL`)).toEqual([
      { id: hidden },
    ]);
  },
);

/** A list of pages of ten rows, and a reading of the third one. */
async function thirdPage(wrapHttp?: (http: Http) => Http, rows = 60) {
  const mirror = await pageMirror({}, [rows], wrapHttp);
  const { world } = mirror.sandbox;
  const { id: inboxId, conversations, unlisted } = firstInbox(mirror.sandbox);
  const unlist = (from: number, to: number): void => {
    for (const id of conversations.order.slice(from, to)) world.unlistConversation(inboxId, id);
  };
  const readThird = async () => {
    mirror.clock.advance(MINUTE);
    return await mirror.readPage((await mirror.bookmarks())[2]!);
  };
  const rowOf = (nth: number): string => conversations.order[nth]!;
  return { ...mirror, unlist, listAll: () => unlisted.clear(), rowOf, inboxId, readThird };
}

describe('a page that lacks rows at its start', () => {
  test('because the list leaves out many costs a walk each time, and does not show that tokens are positions', async () => {
    const { unlist, readThird, sync } = await thirdPage();
    for (const from of [20, 31, 42]) {
      unlist(from, from + 11);
      expect(await readThird()).toMatchObject({ lost: 'doubt' });
      await sync();
    }
  });

  test.each([403, 400])('many of which the key may not read by their id: HTTP %s', async (status) => {
    const { unlist, readThird, sandbox, rowOf } = await thirdPage();
    unlist(20, 31);
    sandbox.script(({ path }) => (path.endsWith(`/conversations/${rowOf(20)}`) ? { status } : undefined));
    expect(await readThird(), 'the list itself is read').toMatchObject({ lost: 'doubt' });
  });

  test('because the first is gone and the list leaves out the second keeps its bookmarks', async () => {
    const { unlist, readThird, sandbox, inboxId, rowOf } = await thirdPage();
    unlist(21, 22);
    sandbox.world.removeConversation(inboxId, rowOf(20));
    expect(await readThird()).toMatchObject({ lost: null, tally: { deleted: 1 } });
  });

  test('because the first is gone and the second is on the page before loses its bookmarks', async () => {
    let slid = '';
    let row: PageBody['results'] = [];
    const slide = tampered((page) => {
      const found = page.results.filter(({ id }) => id === slid);
      if (found.length > 0) page.results = page.results.filter(({ id }) => id !== slid);
      else if (row.length > 0) page.results.push(...row);
      row = found;
    });
    const { readThird, sandbox, inboxId, rowOf } = await thirdPage(slide);
    slid = rowOf(21);
    sandbox.world.removeConversation(inboxId, rowOf(20));
    expect(await readThird()).toMatchObject({ lost: 'doubt', tally: { deleted: 1 } });
  });

  test('loses its bookmarks if the token of the page before is refused', async () => {
    const { unlist, readThird, sandbox, bookmarks } = await thirdPage();
    unlist(20, 21);
    const { token } = (await bookmarks())[1]!;
    const isBefore = (path: string): boolean => path.includes(`next_page=${encodeURIComponent(token!)}`);
    sandbox.script(({ path }) => (isBefore(path) ? { status: 400 } : undefined));
    expect(await readThird()).toMatchObject({ lost: 'doubt' });
  });

  test('shows them again, and they are no longer unlisted', async () => {
    const { unlist, listAll, readThird, database } = await thirdPage();
    unlist(20, 22);
    await readThird();
    expect(await count(database, 'unlisted')).toBe(2);
    listAll();
    await readThird();
    expect(await count(database, 'unlisted')).toBe(0);
  });
});

describe('a page that lacks more than ten rows', () => {
  test('because they are gone keeps its bookmarks, and costs about two requests for each of them', async () => {
    const mirror = await thirdPage();
    const { readThird, sandbox, inboxId } = mirror;
    for (const id of firstIds(firstInbox(sandbox).conversations, 14, 22))
      sandbox.world.removeConversation(inboxId, id);
    const from = sandbox.arrivals.length;
    expect(await readThird()).toMatchObject({ lost: null, cut: null, tally: { deleted: 14 } });
    expect(sandbox.arrivals.length - from).toBeLessThanOrEqual(30);
    await mirror.readAll();
    await expectEqualToService(mirror);
    await expectChain(mirror);
  });

  test('of which more than twenty are gone has them deleted by its next reading', async () => {
    const mirror = await thirdPage(undefined, 400);
    const { readThird, sandbox, inboxId, clock } = mirror;
    for (const id of firstIds(firstInbox(sandbox).conversations, 35, 22))
      sandbox.world.removeConversation(inboxId, id);
    expect(await readThird()).toMatchObject({ lost: null });
    clock.advance(GONE_AFTER_MS);
    expect(await readThird()).toMatchObject({ lost: null });
    await mirror.readAll();
    await expectEqualToService(mirror);
  });

  test('of which the service still has one deletes only the others', async () => {
    const mirror = await thirdPage();
    const { unlist, readThird, sandbox, inboxId } = mirror;
    unlist(30, 31);
    for (const id of firstIds(firstInbox(sandbox).conversations, 14, 22))
      if (!firstInbox(sandbox).unlisted.has(id)) sandbox.world.removeConversation(inboxId, id);
    await readThird();
    await mirror.sync();
    expect(await wrongTombstones(mirror)).toEqual([]);
    expect(await count(mirror.database, 'conversations WHERE deleted_at IS NOT NULL')).toBe(13);
  });

  test('because the service answers no question about a row deletes none, and costs a walk', async () => {
    const mirror = await thirdPage();
    const { unlist, readThird, sandbox } = mirror;
    unlist(22, 36);
    sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? { status: 404 } : undefined));
    expect(await readThird()).toMatchObject({ lost: 'doubt', tally: { deleted: 0 } });
    expect(await wrongTombstones(mirror)).toEqual([]);
  });

  test('because the answer is wrong costs one question', async () => {
    const { unlist, readThird, sandbox } = await thirdPage();
    unlist(22, 36);
    const from = sandbox.arrivals.length;
    expect(await readThird()).toMatchObject({ lost: 'doubt' });
    expect(single(askedSince(sandbox, from))).toHaveLength(1);
  });

  test('at the end of the list is asked about after the second such answer', async () => {
    const mirror = await thirdPage();
    const { sandbox, inboxId, clock } = mirror;
    for (const id of firstInbox(sandbox).conversations.order.slice(-14))
      sandbox.world.removeConversation(inboxId, id);
    const readFifth = async (isSecondFault: boolean) =>
      await mirror.readPage((await mirror.bookmarks())[4]!, { isSecondFault });
    const from = sandbox.arrivals.length;
    expect(await readFifth(false)).toMatchObject({ cut: expect.any(String), tally: { deleted: 0 } });
    expect(sandbox.arrivals.length - from).toBe(1);
    clock.advance(10 * MINUTE);
    expect(await readFifth(true)).toMatchObject({ lost: null, cut: null, tally: { deleted: 14 } });
    await expectEqualToService(mirror);
  });
});

rule('a row that went before its page was joined to another is noticed when that is read', async () => {
  const mirror = await pageMirror({ listOrder: 'desc' }, [12]);
  const { world } = mirror.sandbox;
  const [inbox] = [...world.inboxes.values()];
  const gone = inbox!.conversations.order[0]!;
  world.addConversation(inbox!.id);
  world.removeConversation(inbox!.id, gone);
  mirror.clock.advance(MINUTE);
  await mirror.readPage((await mirror.bookmarks())[0]!);
  expect(await mirror.bookmarks()).toHaveLength(2);
  await mirror.readAll();
  await expectEqualToService(mirror);
});

test('a page that lacks 35 rows for five minutes deletes none of them', async () => {
  const mirror = await pageMirror({}, [400]);
  const { sandbox, clock, database } = mirror;
  const inbox = firstInbox(sandbox);
  const away = firstIds(inbox.conversations, 35, 22);
  clock.advance(MINUTE);
  for (const id of away) sandbox.world.removeConversation(inbox.id, id);
  expect((await mirror.readPage((await mirror.bookmarks())[2]!)).lost).toBeNull();
  clock.advance(5 * MINUTE);
  for (const id of away) sandbox.world.restoreConversation(inbox.id, id);
  expect(await count(database, 'conversations WHERE deleted_at IS NOT NULL')).toBe(0);
});
