import { describe, expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import {
  changesIn,
  count,
  firstIds,
  firstInbox,
  nthInbox,
  removeConversations,
  reportOn,
  tampered,
} from '../support/rows.ts';
import { syncedMirror } from '../support/settle.ts';
import { expectEqualToService, wrongTombstones } from '../support/truth.ts';

/** A mirror whose service leaves `hidden` rows out of its lists, and still finds them. */
async function mirrorWith(
  hidden: ReadonlySet<string>,
  sandbox: MirrorOptions['sandbox'] = {},
): Promise<TestMirror> {
  return await syncedMirror(20, {
    sandbox: { usersPerInbox: 12, tagsPerInbox: 12, ...sandbox },
    wrapHttp: tampered((page, path) => {
      if (!path.endsWith('/search')) page.results = page.results.filter(({ id }) => !hidden.has(String(id)));
    }),
  });
}

describe.each(['users', 'tags'] as const)('one of the %s that its list leaves out for good', (list) => {
  async function mirrorThatLacksOne(): Promise<{ mirror: TestMirror; remove(nth: number): void }> {
    const hidden = new Set<string>();
    const mirror = await mirrorWith(hidden);
    const { world } = mirror.sandbox;
    const inbox = firstInbox(mirror.sandbox);
    hidden.add(firstIds(inbox[list], 1)[0]!);
    return {
      mirror,
      remove: (nth) => {
        const [id] = firstIds(inbox[list], 1, nth);
        if (list === 'users') world.removeUser(inbox.id, id!);
        else world.removeTag(inbox.id, id!);
      },
    };
  }

  test('lets the others that are gone wait for a person, instead of acquitting them for ever', async () => {
    const { mirror, remove } = await mirrorThatLacksOne();
    await mirror.sync();
    mirror.clock.advance(HOUR);
    remove(5);
    await mirror.sync();
    mirror.clock.advance(HOUR);
    expect(reportOn(await mirror.sync(), list)).toMatchObject({ deleted: 0, held: 1, suspects: 1 });
    const { lists } = await mirror.writer.status(mirror.clock.now());
    expect(lists.map((each) => [each.list, each.held])).toContainEqual([list, 1]);
    const report = await mirror.sync({ kind: 'resync', acceptDeletes: true });
    expect(reportOn(report, list)).toMatchObject({ deleted: 1, held: 0, suspects: 0 });
    await expectEqualToService(mirror);
  });

  test('acquits the others while it is the first time', async () => {
    const { mirror, remove } = await mirrorThatLacksOne();
    remove(5);
    expect(reportOn(await mirror.sync(), list)).toMatchObject({ deleted: 0, held: 0, suspects: 0 });
  });
});

test('a list of users that stays cut deletes none that was renamed meanwhile', async () => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden);
  const { users } = firstInbox(mirror.sandbox);
  for (const id of firstIds(users, 6, 6)) hidden.add(id);
  users.get(firstIds(users, 1, 8)[0]!)!.email = 'renamed@example.com';
  for (let nth = 0; nth < 4; nth += 1) {
    await mirror.sync();
    mirror.clock.advance(HOUR);
  }
  expect(await count(mirror.database, `inbox_users WHERE deleted_at IS NOT NULL`)).toBe(0);
  hidden.clear();
  await mirror.sync();
  expect((await changesIn(mirror.database)).map(({ field }) => field)).toEqual(['email']);
  await expectEqualToService(mirror);
});

describe('conversations that their list leaves out, although the service returns them', () => {
  async function mirrorThatLacks30(): Promise<{ mirror: TestMirror; lacked: string[]; gone: string[] }> {
    const mirror = await syncedMirror(160);
    const inbox = firstInbox(mirror.sandbox);
    const gone = firstIds(inbox.conversations, 3, 110);
    const lacked = firstIds(inbox.conversations, 30, 50);
    for (const id of lacked) mirror.sandbox.world.unlistConversation(inbox.id, id);
    removeConversations(mirror, inbox.id, gone);
    return { mirror, lacked, gone };
  }

  const deleted = async ({ database }: TestMirror): Promise<string[]> =>
    (
      await database.query<{ id: string }>(
        `SELECT id FROM conversations WHERE deleted_at IS NOT NULL ORDER BY id`,
      )
    ).map(({ id }) => id);

  test('keep no other one from being deleted, and are deleted when they are gone', async () => {
    const { mirror, lacked, gone } = await mirrorThatLacks30();
    for (let nth = 0; nth < 4; nth += 1) {
      await mirror.sync();
      mirror.clock.advance(HOUR);
    }
    expect(await deleted(mirror)).toEqual(gone);
    expect(await count(mirror.database, 'unlisted')).toBe(30);
    const { lists } = await mirror.writer.status(mirror.clock.now());
    expect(lists.find(({ list }) => list === 'conversations')).toMatchObject({ unlisted: 30, suspects: 0 });
    removeConversations(mirror, firstInbox(mirror.sandbox).id, lacked);
    for (let nth = 0; nth < 7; nth += 1) {
      mirror.clock.advance(13 * HOUR);
      await mirror.sync();
    }
    expect(await deleted(mirror)).toEqual([...gone, ...lacked].toSorted());
    expect(await count(mirror.database, 'unlisted')).toBe(0);
  });

  test('are asked for twice a day, five at a time, and cost an unchanged sync nothing else', async () => {
    const { mirror } = await mirrorThatLacks30();
    for (let nth = 0; nth < 4; nth += 1) await mirror.sync();
    const { sandbox, clock } = mirror;
    const questions = (): number =>
      sandbox.arrivals.filter(({ path }) => /\/conversations\/\d+$/.test(path)).length;
    const before = questions();
    for (let hour = 0; hour < 11; hour += 1) {
      clock.advance(HOUR);
      await mirror.sync();
    }
    expect(questions()).toBe(before);
    clock.advance(2 * HOUR);
    await mirror.sync();
    expect(questions()).toBe(before + 5);
  });

  test('were last seen when the service last returned them, however many sweeps ago', async () => {
    const mirror = await syncedMirror(20);
    const { clock, database, sandbox } = mirror;
    const inbox = firstInbox(sandbox);
    const [changed, gone] = firstIds(inbox.conversations, 2, 5);
    for (const id of [changed!, gone!]) sandbox.world.unlistConversation(inbox.id, id);
    await mirror.sync();
    const returnedBy = clock.now();
    sandbox.world.setStatus(inbox.id, changed!, 'status two');
    removeConversations(mirror, inbox.id, [gone!]);
    for (let nth = 0; nth < 7; nth += 1) {
      clock.advance(2 * HOUR);
      await mirror.sync();
    }
    const changes = await changesIn(database);
    expect(new Map(changes.map(({ item_id, field }) => [item_id, field]))).toEqual(
      new Map([
        [changed, 'status'],
        [gone, 'presence'],
      ]),
    );
    for (const { previously_seen_at: seen } of changes) {
      expect(seen!.getTime()).toBeLessThanOrEqual(returnedBy);
      expect(seen!.getTime()).toBeGreaterThan(returnedBy - HOUR);
    }
  });

  test('are forgotten when the list shows them again', async () => {
    const mirror = await syncedMirror(20);
    const { conversations, id: inboxId, unlisted } = firstInbox(mirror.sandbox);
    mirror.sandbox.world.unlistConversation(inboxId, firstIds(conversations, 1, 5)[0]!);
    await mirror.sync();
    expect(await count(mirror.database, 'unlisted')).toBe(1);
    unlisted.clear();
    mirror.clock.advance(HOUR);
    await mirror.sync();
    expect(await count(mirror.database, 'unlisted')).toBe(0);
    await expectEqualToService(mirror);
  });
});

test('an inbox that its list leaves out is deleted by two sweeps once it is gone', async () => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden, { conversations: [20, 20] });
  const { sandbox, clock, database } = mirror;
  const { id } = nthInbox(sandbox, 1);
  hidden.add(id);
  await mirror.sync();
  // A user may have the same id.
  const unlisted = (): Promise<number> => count(database, `unlisted WHERE list = 'inboxes'`);
  expect(await unlisted()).toBe(1);
  sandbox.world.removeInbox(id);
  clock.advance(13 * HOUR);
  expect(reportOn(await mirror.sync(), 'inboxes')).toMatchObject({ deleted: 0, suspects: 1 });
  clock.advance(HOUR);
  expect(reportOn(await mirror.sync(), 'inboxes')).toMatchObject({ deleted: 1, suspects: 0 });
  expect(await unlisted()).toBe(0);
});

test('a row whose question always fails keeps none of the others from being deleted', async () => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden);
  const { sandbox } = mirror;
  const inbox = firstInbox(sandbox);
  const [failing, ...gone] = firstIds(inbox.conversations, 4, 5);
  hidden.add(failing!);
  removeConversations(mirror, inbox.id, gone);
  sandbox.script(({ path }) => (path.endsWith(`/conversations/${failing}`) ? { status: 500 } : undefined));
  for (let nth = 0; nth < 12; nth += 1) {
    await mirror.sync();
    mirror.clock.advance(HOUR);
  }
  const [left] = await mirror.database.query(
    `SELECT count(*) AS n FROM conversations WHERE deleted_at IS NULL`,
  );
  expect(left).toEqual({ n: 17 });
});

/** Leaves 25 other conversations out of each walk, as a list does whose rows move while it is read. */
function slipping(): Required<Pick<MirrorOptions, 'wrapHttp'>> & { begin(ids: readonly string[]): void } {
  let all: readonly string[] = [];
  let walks = 0;
  return {
    begin: (ids) => (all = ids),
    wrapHttp: tampered((page, path, query) => {
      if (!path.endsWith('/conversations')) return;
      if (query['next_page'] === undefined) walks += 1;
      const slipped = new Set(all.filter((_, nth) => (nth * 7 + walks * 11) % 12 === 0));
      page.results = page.results.filter(({ id }) => !slipped.has(String(id)));
    }),
  };
}

describe('a list of conversations of which more than 20 slip through each walk', () => {
  test('still has those deleted that are gone', async () => {
    const { begin, wrapHttp } = slipping();
    const mirror = await syncedMirror(300, { wrapHttp });
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 3, 100));
    begin(firstIds(inbox.conversations, 297));
    for (let nth = 0; nth < 4; nth += 1) {
      mirror.clock.advance(HOUR);
      await mirror.sync();
    }
    expect(await wrongTombstones(mirror)).toEqual([]);
    expect(await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL`)).toBe(3);
    begin([]);
    await mirror.sync();
    await expectEqualToService(mirror);
  });

  test('holds them if they are too many for a day', async () => {
    const { begin, wrapHttp } = slipping();
    const mirror = await syncedMirror(180, { wrapHttp });
    const inbox = firstInbox(mirror.sandbox);
    const remove = async (many: number): Promise<number> => {
      removeConversations(mirror, inbox.id, firstIds(inbox.conversations, many, 100));
      mirror.clock.advance(HOUR);
      return reportOn(await mirror.sync(), 'conversations').held;
    };
    await remove(18);
    begin(firstIds(inbox.conversations, 300));
    await remove(12);
    expect(await remove(0)).toBe(12);
    expect(await remove(0)).toBe(12);
    expect(await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL`)).toBe(18);
    const { lists } = await mirror.writer.status(mirror.clock.now());
    expect(lists.map(({ list, held }) => [list, held])).toContainEqual(['conversations', 12]);
  });
});
