import { expect, test } from 'vitest';
import { DAY, MINUTE } from '../../../src/core/clock.ts';
import { expectChain, pageMirror, type PageMirror } from '../../support/page-mirror.ts';
import { type PageBody, tampered } from '../../support/rows.ts';
import { rule } from '../../support/rule.ts';

/** Reads pages in turn for `days`, while conversations are removed, added and changed. */
async function livelyDays(mirror: PageMirror, days: number): Promise<{ lookups: number; refused: number }> {
  const { sandbox, clock } = mirror;
  const inbox = [...sandbox.world.inboxes.keys()][0] ?? '';
  for (let turn = 0; turn < days * 24; turn += 1) {
    clock.advance(60 * MINUTE);
    const { order } = sandbox.world.inboxes.get(inbox)!.conversations;
    if (turn % 3 === 0) sandbox.world.removeConversation(inbox, order[(turn * 7) % order.length] ?? '');
    if (turn % 2 === 0) sandbox.world.addConversation(inbox);
    const bookmarks = await mirror.bookmarks();
    const next = bookmarks[turn % Math.max(1, bookmarks.length)];
    if (next !== undefined) await mirror.readPage(next);
    else {
      await mirror.sync();
      const lost = await mirror.writer.bookmarks.lost();
      // The list has been walked and has no bookmarks all the same: it is read whole from now on.
      if (lost.some(({ cause }) => cause === 'positions' || cause === 'expiry')) break;
    }
  }
  const lookups = await mirror.database.query<{ status: number; n: number }>(
    `SELECT status, count(*) AS n FROM requests WHERE reason = 'probe' GROUP BY status`,
  );
  const refused = await mirror.database.query<{ n: number }>(
    `SELECT count(*) AS n FROM requests WHERE status = 400`,
  );
  return { lookups: lookups.find(({ status }) => status === 200)?.n ?? 0, refused: refused[0]?.n ?? 0 };
}

rule('tokens that are positions are noticed within 20 lookups, and the list is then read whole', async () => {
  for (const listOrder of ['asc', 'desc'] as const) {
    const mirror = await pageMirror({ pageTokens: 'positions', listOrder }, [60]);
    const { lookups } = await livelyDays(mirror, 3);
    expect(lookups).toBeLessThanOrEqual(20);
    expect(await mirror.writer.bookmarks.lost()).toMatchObject([{ cause: 'positions' }]);
    expect(await mirror.bookmarks()).toEqual([]);
  }
});

rule('tokens that expire are noticed after five refusals, and tried again after a week', async () => {
  const mirror = await pageMirror({ tokenLifeMs: 30 * MINUTE }, [60]);
  const { refused } = await livelyDays(mirror, 3);
  expect(refused).toBe(5);
  expect(await mirror.writer.bookmarks.lost()).toMatchObject([{ cause: 'expiry' }]);
  mirror.clock.advance(7 * DAY);
  await mirror.sync();
  expect(await mirror.writer.bookmarks.lost()).toEqual([]);
});

rule('a service that refuses every page of a list for a while costs it no bookmark', async () => {
  const mirror = await pageMirror({}, [60]);
  const { sandbox, clock } = mirror;
  const before = await mirror.bookmarks();
  sandbox.script(({ path }) =>
    path.includes('/conversations?') ? { status: 404, body: '{"message":"no such path"}' } : undefined,
  );
  for (const bookmark of [...before, ...before]) {
    clock.advance(MINUTE);
    await expect(mirror.readPage(bookmark)).rejects.toMatchObject({ code: 'REQUEST_REFUSED' });
  }
  sandbox.script(undefined);
  expect(await mirror.bookmarks()).toEqual(before);
  await mirror.readAll();
  expect(await mirror.writer.bookmarks.lost()).toEqual([]);
});

test('a sweep knows the newer sighting of a page whose neighbour lost its token', async () => {
  const mirror = await pageMirror({ tokenLifeMs: 20 * MINUTE });
  const { clock, sandbox } = mirror;
  const { id, conversations } = [...sandbox.world.inboxes.values()][0]!;
  const third = (await mirror.bookmarks()).filter(({ inboxId }) => inboxId === id)[2]!;
  clock.advance(15 * MINUTE);
  await mirror.readPage(third);
  clock.advance(10 * MINUTE);
  const fourth = (await mirror.bookmarks()).filter(({ inboxId }) => inboxId === id)[3]!;
  expect(await mirror.readPage(fourth)).toMatchObject({ page: null, lost: null, cut: null });
  sandbox.world.setStatus(id, conversations.order[25]!, 'changed meanwhile');
  clock.advance(MINUTE);
  await mirror.sync();
  await expectChain(mirror);
});

rule('a list whose ids are in no order gets no bookmarks', async () => {
  const mirror = await pageMirror({ listOrder: 'mixed' });
  expect(await mirror.bookmarks()).toEqual([]);
  expect((await mirror.writer.bookmarks.lost()).map(({ cause }) => cause)).toEqual(['order', 'order']);
});

rule.each(['round', 'walk'])(
  'a complete %s without a mistake clears the suspicion of the tokens',
  async (kind) => {
    let harmful = false;
    let slid: PageBody['results'] = [];
    // As with tokens that are positions: the first row of the page is the last one of the page before.
    const shift = tampered((page, path) => {
      if (!harmful || !path.endsWith('/conversations')) return;
      if (slid.length === 0) slid = page.results.splice(0, 1);
      else page.results.push(...slid);
    });
    const mirror = await pageMirror({}, [60], shift);
    const { clock, writer } = mirror;
    const misread = async (): Promise<unknown> => {
      clock.advance(DAY);
      harmful = true;
      slid = [];
      const { lost } = await mirror.readPage((await mirror.bookmarks())[2]!);
      harmful = false;
      return lost;
    };
    expect(await misread()).toBe('doubt');
    await mirror.sync();
    clock.advance(DAY);
    if (kind === 'walk') await mirror.sync();
    else {
      const slot = new Date(clock.now());
      await mirror.readAll();
      expect(await writer.bookmarks.completeRound([...(await writer.bookmarks.all()).keys()][0]!, slot)).toBe(
        true,
      );
    }
    expect(await misread(), 'days later').toBe('doubt');
    await mirror.sync();
    expect(await misread(), 'after a walk that the mistake itself has caused').toBe('positions');
  },
);

rule(
  'pages that lack more than ten rows count as mistakes too: positions cost at most 20 lookups',
  async () => {
    const mirror = await pageMirror({ pageTokens: 'positions' }, [80]);
    const { sandbox, clock, database } = mirror;
    const inbox = [...sandbox.world.inboxes.keys()][0]!;
    for (let day = 0; day < 6; day += 1) {
      const { order } = sandbox.world.inboxes.get(inbox)!.conversations;
      // More rows than a single page may lack move all later pages.
      for (const id of order.slice(0, day % 2 === 0 ? 9 : 14)) sandbox.world.removeConversation(inbox, id);
      for (let left = 0; left < 14; left += 1) sandbox.world.addConversation(inbox);
      clock.advance(DAY / 2);
      const bookmark = (await mirror.bookmarks()).at(3);
      if (bookmark === undefined) await mirror.sync();
      else await mirror.readPage(bookmark);
    }
    expect(await mirror.writer.bookmarks.lost()).toMatchObject([{ cause: 'positions' }]);
    const [{ n } = { n: 99 }] = await database.query<{ n: number }>(
      `SELECT count(*) AS n FROM requests WHERE reason = 'probe' AND status = 200`,
    );
    expect(n).toBeLessThanOrEqual(20);
  },
);
