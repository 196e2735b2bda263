import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY, MINUTE } from '../../src/core/clock.ts';
import type { StoredBookmark } from '../../src/mirror/bookmarks/bookmarks.ts';
import { AGES } from '../../src/mirror/bookmarks/kinds.ts';
import { isBeyond } from '../../src/mirror/bookmarks/order.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { Http } from '../../src/service/http.ts';
import { TestClock } from '../support/clock.ts';
import { happening, type Happening, Happenings } from '../support/happenings.ts';
import { histories } from '../support/histories.ts';
import { rule } from '../support/rule.ts';
import { GONE_AFTER_MS, memoryService, type TestMirror } from '../support/mirror.ts';
import { count, firstInbox, type PageBody, tampered } from '../support/rows.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { syncSettled } from '../support/settle.ts';
import { quickMirror } from '../support/template.ts';
import { expectEqualToService, wrongTombstones } from '../support/truth.ts';

/** Six properties: together 2,000 histories on each database in the soak. */
const HISTORIES = ON_SQLITE ? histories(6, 500) : histories(1, 340);
const UNFIT_HISTORIES = ON_SQLITE ? histories(2, 250) : histories(1, 340);
const SMALL = { idType: 'string', usersPerInbox: 2, tagsPerInbox: 3, sharedShare: 0 } as const;

/** When each conversation was seen, by inbox and id: epoch ms, in order. */
type Sightings = Map<string, number[]>;

interface PageMirror extends TestMirror {
  readonly sightings: Sightings;
  readonly bookmarks: () => Promise<StoredBookmark[]>;
  /** Reads every page until each was read after this moment. */
  readonly readAll: () => Promise<void>;
}

/** A mirror after its first sync, whose lists have pages of ten rows. */
async function pageMirror(
  sandbox: Partial<SandboxOptions> = {},
  conversations: number[] = [43, 12],
  wrapHttp?: (http: Http) => Http,
): Promise<PageMirror> {
  const clock = new TestClock();
  const service = memoryService({ ...SMALL, conversations, ...sandbox }, clock);
  const mirror = await quickMirror({
    pageSize: 10,
    clock,
    service,
    ...(wrapHttp === undefined ? {} : { wrapHttp }),
  });
  const { writer } = mirror;
  const sightings = watchSightings(mirror);
  await mirror.sync();
  const bookmarks = async (): Promise<StoredBookmark[]> =>
    [...(await writer.bookmarks.all()).values()].flat();
  const readAll = async (): Promise<void> => {
    clock.advance(MINUTE);
    const since = clock.now();
    for (let left = 100; left > 0; left -= 1) {
      const oldest = (await bookmarks()).toSorted((a, b) => a.readAt - b.readAt)[0];
      if (oldest === undefined || oldest.readAt >= since) return;
      await mirror.readPage(oldest);
    }
    throw new Error('the pages are never all read');
  };
  return { ...mirror, sightings, bookmarks, readAll };
}

/** Notes each row that a page or an answer for a suspect brings. */
function watchSightings({ writer, clock }: TestMirror): Sightings {
  const seen: Sightings = new Map();
  const note = (inboxId: string | null, ids: readonly string[]): void => {
    for (const id of ids)
      seen.set(`${inboxId}/${id}`, [...(seen.get(`${inboxId}/${id}`) ?? []), clock.now()]);
  };
  const applyPage = writer.applyPage.bind(writer);
  writer.applyPage = async (sweep, page, now) => {
    if (sweep.list === 'conversations')
      note(
        sweep.inboxId,
        page.items.map(({ id }) => id),
      );
    return await applyPage(sweep, page, now);
  };
  const apply = writer.bookmarks.apply.bind(writer.bookmarks);
  writer.bookmarks.apply = async (bookmark, page, now) => {
    note(
      bookmark.inboxId,
      page.items.map(({ id }) => id),
    );
    return await apply(bookmark, page, now);
  };
  const settle = writer.suspects.settle.bind(writer.suspects);
  writer.suspects.settle = async (sweep, suspect, answer) => {
    if (answer.found !== null) note(sweep.inboxId, [answer.found.id]);
    return await settle(sweep, suspect, answer);
  };
  return seen;
}

/** The bookmarks of each list divide it without a gap: one at its start, then in order. */
function expectTiles(bookmarks: readonly StoredBookmark[]): void {
  for (const list of Map.groupBy(bookmarks, ({ inboxId }) => inboxId).values()) {
    expect(list[0]?.afterId).toBe('');
    for (const [index, { afterId, direction, token }] of list.entries()) {
      const before = list[index - 1]?.afterId;
      expect(token === null).toBe(index === 0);
      if (before !== undefined && before !== '') expect(isBeyond(direction, afterId, before)).toBe(true);
    }
  }
}

/** Every change names the row's last sighting before it, and continues from the value before. */
async function expectChain({ database, sightings }: PageMirror): Promise<void> {
  const changes = await database.query<{
    inbox_id: string;
    item_id: string;
    field: string;
    old_value: string | null;
    new_value: string | null;
    observed_at: Date;
    previously_seen_at: Date | null;
  }>(`SELECT * FROM changes WHERE list = 'conversations' ORDER BY id`);
  const last = new Map<string, string | null>();
  for (const change of changes) {
    const row = `${change.inbox_id}/${change.item_id}`;
    const column = `${row}/${change.field}`;
    const observed = change.observed_at.getTime();
    if (change.field === 'tags') continue;
    if (last.has(column))
      expect({ column, old: change.old_value }).toEqual({ column, old: last.get(column) });
    last.set(column, change.new_value);
    if (change.field === 'presence' && change.new_value === 'present') continue;
    const before = sightings.get(row)?.findLast((at) => at < observed);
    expect({ column, observed, seen: change.previously_seen_at?.getTime() }).toEqual({
      column,
      observed,
      seen: before,
    });
  }
}

const ROW_KINDS = new Set(['status', 'assign', 'unassign', 'add', 'remove', 'return', 'tag', 'untag']);

type Step =
  | { readonly kind: 'happen'; readonly happening: Happening }
  | { readonly kind: 'read'; readonly nth: number; readonly minutes: number }
  | { readonly kind: 'sync'; readonly minutes: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: happening
      .filter(({ kind }) => ROW_KINDS.has(kind))
      .map((one) => ({ kind: 'happen' as const, happening: one })),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      nth: fc.nat(20),
      minutes: fc.constantFrom(1, 3, 15, 90),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('sync' as const), minutes: fc.constantFrom(1, 15, 90) }),
  },
);

/** Takes each step, and checks after each that no row got a wrong tombstone. @returns suspects asked for */
async function live(mirror: PageMirror, steps: readonly Step[]): Promise<void> {
  const life = new Happenings(mirror.sandbox.world);
  let before: string[] = [];
  for (const one of steps) {
    if (one.kind === 'happen') life.make(one.happening);
    else {
      mirror.clock.advance(one.minutes * MINUTE);
      const bookmarks = await mirror.bookmarks();
      const bookmark = one.kind === 'read' ? bookmarks[one.nth % Math.max(1, bookmarks.length)] : undefined;
      if (bookmark === undefined) await mirror.sync();
      else await mirror.readPage(bookmark);
      expectTiles(await mirror.bookmarks());
    }
    const wrong = await wrongTombstones(mirror);
    // A row that returns after a rightful tombstone has it until it is read again.
    if (one.kind !== 'happen') expect(wrong.filter((row) => !before.includes(row))).toEqual([]);
    before = wrong;
  }
}

for (const listOrder of ['asc', 'desc'] as const)
  test(
    `pages read singly, in any order, keep the mirror equal to a service whose ids are in order (${listOrder})`,
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.nat(1000),
          fc.array(step, { minLength: 5, maxLength: 40 }),
          async (seed, steps) => {
            const mirror = await pageMirror({ seed, listOrder });
            await live(mirror, steps);
            await mirror.readAll();
            await mirror.readAll();
            if ((await mirror.writer.bookmarks.lost()).length > 0) await syncSettled(mirror);
            await expectEqualToService(mirror);
            await expectChain(mirror);
            await mirror.database.close();
          },
        ),
        HISTORIES.parameters,
      );
    },
    HISTORIES.timeoutMs,
  );

test('a conversation whose status FINAL_STATUSES lists is of a kind that rarely changes', async () => {
  const mirror = await pageMirror({}, [12]);
  const inbox = firstInbox(mirror.sandbox);
  for (const id of inbox.conversations.order) mirror.sandbox.world.setStatus(inbox.id, id, 'Resolved');
  await mirror.writer.keepViewSettings(
    {
      reportTimezone: 'UTC',
      budget: { perDay: 5000, reserved: 250 },
      statuses: { final: ['resolved'], waiting: [] },
    },
    mirror.clock.now(),
  );
  await mirror.sync();
  const finals = async (): Promise<number[]> =>
    (await mirror.bookmarks()).map(({ kinds }) => kinds.slice(0, AGES).reduce((sum, rows) => sum + rows, 0));
  expect(await finals()).toEqual([10, 2]);
  mirror.sandbox.world.setStatus(inbox.id, inbox.conversations.order[0]!, 'closed');
  await mirror.readAll();
  expect(await finals()).toEqual([9, 2]);
});

test('a page tells how many changes each of its rows shows', async () => {
  const mirror = await pageMirror({}, [12]);
  const { id: inboxId, conversations } = firstInbox(mirror.sandbox);
  const [once, often, assigned] = conversations.order as [string, string, string];
  const { world } = mirror.sandbox;
  world.setStatus(inboxId, once, world.conversation(inboxId, once).status === 'open' ? 'closed' : 'open');
  const { status, tag_ids: tags } = world.conversation(inboxId, often);
  world.setStatus(inboxId, often, status === 'open' ? 'closed' : 'open');
  world.assign(inboxId, often, otherUser(mirror, inboxId, often));
  const tag = world.inbox(inboxId).tags.order[0]!;
  if (tags.includes(tag)) world.untag(inboxId, often, tag);
  else world.tag(inboxId, often, tag);
  world.assign(inboxId, assigned, otherUser(mirror, inboxId, assigned));

  mirror.clock.advance(MINUTE);
  const { page } = await mirror.readPage((await mirror.bookmarks())[0]!);

  expect(page?.changes).toEqual(
    new Map([
      [once, 1],
      [often, 3],
      [assigned, 1],
    ]),
  );
});

/** A user of the inbox to whom the conversation does not belong. */
function otherUser({ sandbox: { world } }: TestMirror, inboxId: string, id: string): string {
  const { assignee } = world.conversation(inboxId, id);
  return world.inbox(inboxId).users.order.find((user) => user !== assignee?.assignee_id)!;
}

const UNFIT: readonly Partial<SandboxOptions>[] = [
  { pageTokens: 'positions' },
  { pageTokens: 'positions', listOrder: 'desc' },
  { listOrder: 'mixed' },
  { tokenLifeMs: 20 * MINUTE },
];

for (const options of UNFIT)
  test(
    `single pages delete nothing wrongly where pages cannot be read again: ${JSON.stringify(options)}`,
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.nat(1000),
          fc.array(step, { minLength: 5, maxLength: 40 }),
          async (seed, steps) => {
            const mirror = await pageMirror({ seed, ...options });
            await live(mirror, steps);
            await syncSettled(mirror);
            mirror.clock.advance(GONE_AFTER_MS);
            await syncSettled(mirror);
            await expectEqualToService(mirror);
            await expectChain(mirror);
            await mirror.database.close();
          },
        ),
        UNFIT_HISTORIES.parameters,
      );
    },
    UNFIT_HISTORIES.timeoutMs,
  );

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
  expect((await mirror.readPage(fourth)).refused).toBe(true);
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

describe('a page that lacks rows at its start', () => {
  /** A list of pages of ten rows, and a reading of the third one. */
  async function thirdPage(wrapHttp?: (http: Http) => Http) {
    const mirror = await pageMirror({}, [60], wrapHttp);
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

test('a page that grows beyond its range is divided, and small neighbours are joined', async () => {
  const mirror = await pageMirror({}, [25]);
  const inbox = [...mirror.sandbox.world.inboxes.keys()][0]!;
  expect(await mirror.bookmarks()).toHaveLength(3);
  for (let left = 0; left < 12; left += 1) mirror.sandbox.world.addConversation(inbox);
  await mirror.readAll();
  expect(await mirror.bookmarks()).toHaveLength(4);
  const { order } = mirror.sandbox.world.inboxes.get(inbox)!.conversations;
  for (const id of order.filter((_, index) => index % 2 === 0))
    mirror.sandbox.world.removeConversation(inbox, id);
  await mirror.readAll();
  await mirror.readAll();
  expect(await mirror.bookmarks()).toHaveLength(2);
  await expectEqualToService(mirror);
});

rule('more deletions than a tenth of the rows are held, also if single pages find a few each', async () => {
  const mirror = await pageMirror({}, [200]);
  const { database, sandbox, writer, clock } = mirror;
  const inbox = [...sandbox.world.inboxes.keys()][0]!;
  const { order } = sandbox.world.inboxes.get(inbox)!.conversations;
  for (const id of order.filter((_, index) => index % 3 === 0)) sandbox.world.removeConversation(inbox, id);
  await mirror.readAll();
  const deleted = async (): Promise<number> =>
    (await database.query(`SELECT id FROM conversations WHERE deleted_at IS NOT NULL`)).length;
  expect(await deleted()).toBeLessThanOrEqual(20);
  const held = async (): Promise<number> =>
    (await writer.status(clock.now())).lists.reduce((sum, list) => sum + list.held, 0);
  expect(await held()).toBe(67 - (await deleted()));
  await mirror.sync({ kind: 'resync', lists: ['conversations'], acceptDeletes: true });
  expect(await deleted()).toBe(67);
  expect(await held()).toBe(0);
  await expectEqualToService(mirror);
});

test('a row that cannot be read for a while keeps its last sighting, and one reject at a time', async () => {
  const mirror = await pageMirror({}, [25]);
  const { sandbox, database, clock } = mirror;
  const [inbox] = [...sandbox.world.inboxes.values()];
  const id = inbox!.conversations.order[3]!;
  await mirror.readAll();
  const seen = clock.now();
  sandbox.world.setStatus(inbox!.id, id, 'snoozed');
  const row = inbox!.conversations.get(id)!;
  const { status } = row;
  for (let nth = 0; nth < 3; nth += 1) {
    // No status of the service is a number.
    Object.assign(row, { status: 7 });
    await mirror.readAll();
  }
  const rejects = await database.query(`SELECT item_id FROM rejects WHERE list = 'conversations'`);
  expect(rejects).toEqual([{ item_id: id }]);
  Object.assign(row, { status });
  await mirror.readAll();
  const changes = await database.query<{ previously_seen_at: Date }>(
    `SELECT previously_seen_at FROM changes WHERE item_id = $1 AND field = 'status'`,
    id,
  );
  expect(changes.map(({ previously_seen_at: at }) => at.getTime() <= seen)).toEqual([true]);
  expect(await database.query(`SELECT item_id FROM rejects WHERE list = 'conversations'`)).toEqual([]);
  await expectChain(mirror);
});

rule('rows that the brake holds do not make their page be doubted again and again', async () => {
  const mirror = await pageMirror({}, [200]);
  const { sandbox, writer, clock } = mirror;
  const inbox = [...sandbox.world.inboxes.keys()][0]!;
  const { order } = sandbox.world.inboxes.get(inbox)!.conversations;
  for (const id of order.slice(40, 110)) sandbox.world.removeConversation(inbox, id);
  await mirror.readAll();
  expect(await writer.bookmarks.lost()).toMatchObject([{ cause: 'doubt' }]);
  for (let pass = 0; pass < 2; pass += 1) {
    clock.advance(GONE_AFTER_MS);
    await mirror.sync();
  }
  for (let nth = 0; nth < 3; nth += 1) await mirror.readAll();
  expect(await writer.bookmarks.lost()).toEqual([]);
  expect((await writer.status(clock.now())).lists.find(({ list }) => list === 'conversations')).toMatchObject(
    { held: 70 },
  );
});

rule('once rows that the brake held are listed again, one that waits for an answer is not held', async () => {
  const mirror = await pageMirror({}, [200]);
  const { sandbox, writer, clock } = mirror;
  const { id: inbox, conversations, unlisted } = firstInbox(sandbox);
  const [waiting, ...missing] = conversations.order.slice(20, 46);
  const hide = (id: string): void => sandbox.world.unlistConversation(inbox, id);
  const answers = new Map([[waiting!, 403], ...missing.map((id) => [id, 404] as const)]);
  sandbox.script(({ path }) => {
    const status = answers.get(path.replace(/.*\//, ''));
    return status === undefined ? undefined : { status, body: '{}' };
  });
  const held = async (): Promise<number> =>
    (await writer.status(clock.now())).lists.reduce((sum, list) => sum + list.held, 0);
  for (const id of missing) hide(id);
  await mirror.sync();
  clock.advance(GONE_AFTER_MS);
  await mirror.sync();
  expect(await held()).toBe(25);
  unlisted.clear();
  await mirror.readAll();
  hide(waiting!);
  await mirror.readAll();
  expect(await held()).toBe(0);
});

rule('the brake counts a day of deletions by single pages, however long their round lasts', async () => {
  const mirror = await pageMirror({}, [120]);
  const { sandbox, database, clock } = mirror;
  const inbox = [...sandbox.world.inboxes.keys()][0]!;
  for (let day = 0; day < 4; day += 1) {
    const { order } = sandbox.world.inboxes.get(inbox)!.conversations;
    const gone = order.filter((_, index) => index % 9 === day);
    for (const id of gone) sandbox.world.removeConversation(inbox, id);
    for (const _ of gone) sandbox.world.addConversation(inbox);
    await mirror.readAll();
    clock.advance(DAY);
  }
  await mirror.readAll();
  const held = await database.query(`SELECT id FROM conversations WHERE missing_since IS NOT NULL
    AND deleted_at IS NULL`);
  expect(held).toEqual([]);
  await expectEqualToService(mirror);
});

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

test('a round is complete once every page was read since the slot, as of the oldest reading', async () => {
  const mirror = await pageMirror({}, [25]);
  const { writer, clock, database } = mirror;
  const inbox = [...mirror.sandbox.world.inboxes.keys()][0]!;
  clock.advance(DAY);
  const slot = new Date(clock.now());
  const [first] = await mirror.bookmarks();
  clock.advance(MINUTE);
  await mirror.readPage(first!);
  expect(await writer.bookmarks.completeRound(inbox, slot)).toBe(false);
  const { order } = mirror.sandbox.world.inboxes.get(inbox)!.conversations;
  const seen = (await mirror.bookmarks()).at(-1)!.readAt;
  mirror.sandbox.world.setStatus(inbox, order.at(-1)!, 'another');
  await mirror.readAll();
  const readings = (await mirror.bookmarks()).map(({ readAt }) => readAt);
  expect(await writer.bookmarks.completeRound(inbox, slot)).toBe(true);
  const [round] = await database.query<{ finished_at: Date; pages: number; items: number }>(
    `SELECT finished_at, pages, items FROM sweeps WHERE list = 'conversations' ORDER BY id DESC LIMIT 1`,
  );
  expect({ ...round, finished_at: round!.finished_at.getTime() }).toEqual({
    finished_at: Math.min(...readings),
    pages: 3,
    items: 25,
  });
  // The change lies between the last page's two readings.
  expect((await writer.delays(clock.now())).map(({ ms }) => ms)).toEqual([readings.at(-1)! - seen]);
  expect(await writer.budget.byKind(clock.now())).toContainEqual({
    reason: 'page',
    list: 'conversations',
    requests: 4,
  });
});
