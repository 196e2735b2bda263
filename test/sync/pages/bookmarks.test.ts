import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/core/clock.ts';
import { AGES } from '../../../src/mirror/bookmarks/kinds.ts';
import type { PassSpec } from '../../../src/mirror/passes/passes.ts';
import { type TestMirror } from '../../support/mirror.ts';
import { expectChain, type PageMirror, pageMirror } from '../../support/page-mirror.ts';
import {
  askedSince,
  changesIn,
  count,
  firstInbox,
  removeConversations,
  reportOn,
  single,
  tampered,
} from '../../support/rows.ts';
import { expectEqualToService } from '../../support/truth.ts';

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

test.each(['asc', 'desc'] as const)('pages hold ids of up to 64 digits, in order: %s', async (listOrder) => {
  const mirror = await pageMirror({ listOrder }, [15]);
  const { world } = mirror.sandbox;
  const { id: inboxId, conversations } = firstInbox(mirror.sandbox);
  for (const digits of [19, 20, 21, 30, 63, 64])
    for (let nth = 1; nth < 8; nth += 1)
      world.addConversation(inboxId, { id: `${nth}${'0'.repeat(digits - 1)}` });
  await mirror.sync();
  expect(await mirror.bookmarks()).toHaveLength(6);
  const away = conversations.order.filter((_, nth) => nth % 9 === 4);
  removeConversations(mirror, inboxId, away);
  for (const id of conversations.order) world.setStatus(inboxId, id, 'another');
  await mirror.readAll();
  await mirror.readAll();
  await expectEqualToService(mirror);
  expect(await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL`)).toBe(away.length);
  await expectChain(mirror);
});

describe('a deletion that the service confirms only after later sweeps', () => {
  /** Reads every page once, as a round of the schedule does. */
  async function readRound(mirror: PageMirror, afterFirst?: () => void): Promise<void> {
    mirror.clock.advance(HOUR);
    const slot = new Date(mirror.clock.now());
    for (const [nth, page] of (await mirror.bookmarks()).entries()) {
      mirror.clock.advance(MINUTE);
      await mirror.readPage(page);
      if (nth === 0) afterFirst?.();
    }
    expect(await mirror.writer.bookmarks.completeRound(firstInbox(mirror.sandbox).id, slot)).toBe(true);
  }

  async function walk(mirror: PageMirror): Promise<void> {
    mirror.clock.advance(HOUR);
    await mirror.sync();
  }

  /** Walks the list up to the first question, which fails. The next pass ends the sweep. */
  const walkTwice = (next: Partial<PassSpec>) => async (mirror: PageMirror, remove: () => void) => {
    remove();
    expect(reportOn(await mirror.sync(), 'conversations').outcome).toBe('paused');
    mirror.clock.advance(MINUTE);
    await mirror.sync(next);
  };

  test.each([
    ['a round', readRound, readRound],
    ['a sweep that was resumed', walkTwice({}), walk],
    ['a sweep that was abandoned', walkTwice({ acceptAccount: true }), walk],
  ])('is of a row that was last seen before the page of %s that lacked it', async (_, withoutRow, later) => {
    const mirror = await pageMirror({}, [25]);
    const { clock, database, sandbox } = mirror;
    const inbox = firstInbox(sandbox);
    const id = inbox.conversations.order[13]!;
    await readRound(mirror);
    clock.advance(HOUR);
    const lastSeen = mirror.sightings.get(`${inbox.id}/${id}`)!.at(-1)!;
    sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? { status: 500 } : undefined));
    await withoutRow(mirror, () => sandbox.world.removeConversation(inbox.id, id));
    for (let nth = 0; nth < 3; nth += 1) await later(mirror);
    expect(await changesIn(database)).toEqual([]);
    sandbox.script(undefined);
    clock.advance(DAY);

    await later(mirror);

    const [deletion, ...others] = await changesIn(database);
    expect([deletion, others]).toEqual([expect.objectContaining({ item_id: id, new_value: 'missing' }), []]);
    const previous = deletion!.previously_seen_at!.getTime();
    expect(previous).toBeLessThanOrEqual(lastSeen);
    expect(previous).toBeGreaterThan(lastSeen - HOUR);
  });
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

test('a row that cannot be read, but its id can, is no suspect of its page and costs no question', async () => {
  const mirror = await pageMirror({}, [25]);
  const { conversations } = firstInbox(mirror.sandbox);
  Object.assign(conversations.get(conversations.order[3]!)!, { status: 7 });
  const before = mirror.sandbox.arrivals.length;
  await mirror.readAll();
  expect(single(askedSince(mirror.sandbox, before))).toEqual([]);
  expect(await count(mirror.database, 'conversations WHERE missing_since IS NOT NULL')).toBe(0);
});

describe('a round counts', () => {
  /** A mirror whose service lists the conversations at `positions` without ids until `nameless` is empty. */
  async function mirrorOf(...positions: number[]): Promise<PageMirror & { nameless: Set<string> }> {
    const nameless = new Set<string>();
    const wrapHttp = tampered((page, path) => {
      if (!path.endsWith('/conversations')) return;
      for (const row of page.results) if (nameless.has(String(row['id']))) delete row['id'];
    });
    const mirror = await pageMirror({}, [25], wrapHttp);
    const { order } = firstInbox(mirror.sandbox).conversations;
    for (const position of positions) nameless.add(order[position]!);
    mirror.clock.advance(DAY);
    return { ...mirror, nameless };
  }

  /** Completes a round. @returns the rows that the status says cannot be read */
  async function endRound({ writer, clock, sandbox }: PageMirror, slot: number) {
    expect(await writer.bookmarks.completeRound(firstInbox(sandbox).id, new Date(slot))).toBe(true);
    const { lists } = await writer.status(clock.now());
    const { rejected, withoutId } = lists.find(({ list }) => list === 'conversations')!;
    return { rejected, withoutId };
  }

  test('the rows that the list shows, not those that it leaves out or that wait for a person', async () => {
    const mirror = await pageMirror({}, [200]);
    const { sandbox, writer, clock } = mirror;
    const { id: inbox, conversations } = firstInbox(sandbox);
    const order = [...conversations.order];
    for (const id of order.filter((_, index) => index % 3 === 0)) sandbox.world.removeConversation(inbox, id);
    sandbox.world.unlistConversation(inbox, order[1]!);
    clock.advance(HOUR);
    const slot = clock.now();
    await mirror.readAll();
    await mirror.readAll();
    await endRound(mirror, slot);
    const list = (await writer.status(clock.now())).lists.find(({ list: kind }) => kind === 'conversations')!;
    expect(list.held).toBeGreaterThan(0);
    expect(list).toMatchObject({ rows: 132, unlisted: 1 });
  });

  test('the rows without a readable id of every page, until their pages show their ids', async () => {
    const mirror = await mirrorOf(3, 14);
    const slot = mirror.clock.now();
    for (let reading = 0; reading < 2; reading += 1) await mirror.readAll();
    expect(await endRound(mirror, slot)).toEqual({ rejected: 2, withoutId: 2 });
    mirror.clock.advance(DAY);
    const next = mirror.clock.now();
    await mirror.readAll();
    mirror.nameless.clear();
    await mirror.readAll();
    expect(await endRound(mirror, next)).toEqual({ rejected: 0, withoutId: 0 });
    expect(await count(mirror.database, 'rejects')).toBe(0);
  });

  test('a row without a readable id, although another page with such a row is read again', async () => {
    const mirror = await mirrorOf(3, 14);
    const slot = mirror.clock.now();
    const [first, second] = await mirror.bookmarks();
    for (const page of [second!, first!]) {
      mirror.clock.advance(MINUTE);
      await mirror.readPage(page);
    }
    // The next reading of the first page drops that page's row, not the older one of the second page.
    mirror.clock.advance(MINUTE);
    await mirror.readPage((await mirror.bookmarks())[0]!);
    mirror.clock.advance(MINUTE);
    await mirror.readPage((await mirror.bookmarks())[2]!);
    expect(await endRound(mirror, slot)).toEqual({ rejected: 2, withoutId: 2 });
  });

  test('a row that cannot be read until it is gone', async () => {
    const mirror = await mirrorOf();
    const { id: inboxId, conversations } = firstInbox(mirror.sandbox);
    const id = conversations.order[3]!;
    Object.assign(conversations.get(id)!, { status: 7 });
    const slot = mirror.clock.now();
    await mirror.readAll();
    expect(await endRound(mirror, slot)).toEqual({ rejected: 1, withoutId: 0 });
    removeConversations(mirror, inboxId, [id]);
    mirror.clock.advance(DAY);
    const next = mirror.clock.now();
    await mirror.readAll();
    expect(await endRound(mirror, next)).toEqual({ rejected: 0, withoutId: 0 });
    expect(await count(mirror.database, 'rejects')).toBe(0);
  });

  test('a row without a readable id once, although the clock is set back', async () => {
    const mirror = await mirrorOf(3);
    const { clock, writer } = mirror;
    await mirror.readAll();
    clock.setWall(-2 * HOUR);
    await writer.ledger.followClock(await clock.ledgerTime());
    const slot = clock.now();
    await mirror.readAll();
    expect(await endRound(mirror, slot)).toEqual({ rejected: 1, withoutId: 1 });
  });
});

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
    hour: 23,
    requests: 4,
  });
});
