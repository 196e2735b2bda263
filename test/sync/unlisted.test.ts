import { describe, expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import {
  changesIn,
  count,
  firstIds,
  firstInbox,
  removeConversations,
  reportOn,
  tampered,
} from '../support/rows.ts';
import { syncedMirror } from '../support/settle.ts';
import { expectEqualToService, wrongTombstones } from '../support/truth.ts';

/** A mirror whose service leaves `hidden` rows out of its lists, and still finds them. */
async function mirrorWith(hidden: ReadonlySet<string>): Promise<TestMirror> {
  return await syncedMirror(20, {
    sandbox: { usersPerInbox: 12, tagsPerInbox: 12 },
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
    const remove = async (many: number): Promise<void> => {
      removeConversations(mirror, inbox.id, firstIds(inbox.conversations, many, 100));
      mirror.clock.advance(HOUR);
      await mirror.sync();
    };
    await remove(18);
    begin(firstIds(inbox.conversations, 300));
    await remove(12);
    await remove(0);
    await remove(0);
    expect(await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL`)).toBe(18);
    const { lists } = await mirror.writer.status(mirror.clock.now());
    expect(lists.map(({ list, held }) => [list, held])).toContainEqual(['conversations', 12]);
  });
});
