import { describe, expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import type { ScriptedOutcome } from '../../src/sandbox/sandbox.ts';
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
import { syncedMirror, syncTwice } from '../support/settle.ts';
import { expectEqualToService, wrongTombstones } from '../support/truth.ts';

const NO_HIT = { status: 200, body: '{"results":[],"pagination":{"next_page":null}}' };

const UNREADABLE = { status: 200, body: '{"results":[{"id":[]}],"pagination":{"next_page":null}}' };

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

test('a user that waits for a person was last seen when the search last found it', async () => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden);
  const { sandbox, clock, database } = mirror;
  const inbox = firstInbox(sandbox);
  const [found, gone] = firstIds(inbox.users, 2, 6);
  hidden.add(found!).add(gone!);
  await mirror.sync();
  clock.advance(HOUR / 2);
  await mirror.sync();
  const foundBy = clock.now();
  sandbox.world.removeUser(inbox.id, gone!);
  for (let nth = 0; nth < 6; nth += 1) {
    clock.advance(HOUR);
    await mirror.sync();
  }
  const { lists } = await mirror.writer.status(clock.now());
  expect(lists.find(({ list }) => list === 'users')).toMatchObject({ unlisted: 1, suspects: 1, held: 1 });
  await mirror.sync({ kind: 'resync', acceptDeletes: true });
  const [change] = await changesIn(database);
  expect(change).toMatchObject({ item_id: gone, new_value: 'missing' });
  expect(change!.previously_seen_at!.getTime()).toBeLessThanOrEqual(foundBy);
  expect(await count(database, 'unlisted')).toBe(1);
});

test('users of whom no run can send all searches are deleted by their own search only', async () => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden, { usersPerInbox: 200 });
  const { sandbox, clock, database } = mirror;
  const inbox = firstInbox(sandbox);
  const missing = firstIds(inbox.users, 15);
  // No run asks for this one before others are deleted.
  const there = missing[8]!;
  hidden.add(there);
  for (const id of missing.filter((one) => one !== there)) sandbox.world.removeUser(inbox.id, id);
  for (let run = 0; run < 12; run += 1) {
    let searches = 0;
    sandbox.script(({ path }) => {
      if (path.includes('/users/search')) searches += 1;
      return searches > 6 ? 'reset' : undefined;
    });
    clock.advance(2 * HOUR);
    await mirror.sync({ lists: ['users'] });
    expect(await wrongTombstones(mirror)).toEqual([]);
  }
  expect(await count(database, 'inbox_users WHERE deleted_at IS NOT NULL')).toBeGreaterThan(4);
});

test.each(['users', 'tags'] as const)(
  'one of the %s that its list leaves out is not deleted with more than 20 others that are gone',
  async (list) => {
    const hidden = new Set<string>();
    const mirror = await mirrorWith(hidden, { usersPerInbox: 300, tagsPerInbox: 300 });
    const { sandbox, clock } = mirror;
    const inbox = firstInbox(sandbox);
    const missing = firstIds(inbox[list], 24);
    const there = missing[9]!;
    const remove = removerOf(mirror, list);
    for (const id of missing.filter((one) => one !== there)) remove(id);
    hidden.add(there);
    await syncTwice(mirror);
    clock.advance(2 * HOUR);
    await mirror.sync();
    expect(await wrongTombstones(mirror)).toEqual([]);
  },
);

describe('users whose own searches alone are refused', () => {
  /** A mirror with `missing` users in no list: searches for the first ones answer `status`. */
  async function refusing(
    missing: number,
    refused: number,
    status: number,
    hidden: Set<string>,
    onSearch: () => void = () => undefined,
  ) {
    const mirror = await mirrorWith(hidden, { usersPerInbox: 700 });
    const inbox = firstInbox(mirror.sandbox);
    const ids = firstIds(inbox.users, missing);
    const addresses = ids.slice(0, refused).map((id) => encodeURIComponent(inbox.users.get(id)!.email));
    mirror.sandbox.script(({ path }) => {
      if (!path.includes('/search')) return undefined;
      onSearch();
      return addresses.some((address) => path.includes(address)) ? { status, body: '{}' } : undefined;
    });
    return { mirror, ids };
  }

  // After five pairs of 400s no further question is asked: the others wait for the next sweep.
  test.each([
    [6, 403, 6],
    [15, 400, 10],
    [25, 403, 25],
    [25, 400, 25],
  ])('wait for a person if they are more than three: %i with %i', async (many, status, held) => {
    const hidden = new Set<string>();
    const { mirror, ids } = await refusing(many, many, status, hidden);
    for (const id of ids) hidden.add(id);
    for (let nth = 0; nth < 4; nth += 1) {
      await mirror.sync();
      mirror.clock.advance(2 * HOUR);
    }
    expect(await wrongTombstones(mirror)).toEqual([]);
    const { lists } = await mirror.writer.status(mirror.clock.now());
    expect(lists.find(({ list }) => list === 'users')).toMatchObject({ suspects: many, held });
  });

  test.each([
    [5, 5],
    [8, 3],
  ])(
    'wait for a person also where each run ends amid the searches: %i beside %i that are gone',
    async (many, gone) => {
      const hidden = new Set<string>();
      let stop = new AbortController();
      let searches = 0;
      const { mirror, ids } = await refusing(many + gone, many, 403, hidden, () => {
        searches += 1;
        if (searches === 3) stop.abort(new Error('its time is over'));
      });
      const { sandbox, clock, database } = mirror;
      for (const id of ids.slice(0, many)) hidden.add(id);
      for (const id of ids.slice(many)) sandbox.world.removeUser(firstInbox(sandbox).id, id);
      for (let day = 0; day < 6; day += 1) {
        [stop, searches] = [new AbortController(), 0];
        await mirror.sync({}, stop.signal).catch(() => undefined);
        await mirror.sync();
        clock.advance(12 * HOUR);
      }
      expect(await wrongTombstones(mirror)).toEqual([]);
      expect(await count(database, 'inbox_users WHERE deleted_at IS NOT NULL')).toBe(gone);
    },
  );

  test('let no other one be deleted unasked beside 60 that are gone', async () => {
    const gone = 60;
    const hidden = new Set<string>();
    const { mirror, ids } = await refusing(gone + 1, 2, 400, hidden);
    const { sandbox, clock, database } = mirror;
    const there = ids[gone / 2]!;
    for (const id of ids.filter((one) => one !== there)) sandbox.world.removeUser(firstInbox(sandbox).id, id);
    hidden.add(there);
    for (let nth = 0; nth < 4; nth += 1) {
      await mirror.sync();
      clock.advance(2 * HOUR);
    }
    expect(await wrongTombstones(mirror)).toEqual([]);
    expect(sandbox.arrivals.filter(({ status }) => status === 400)).not.toEqual([]);
    expect(await count(database, `unlisted WHERE item_id = '${there}'`)).toBe(1);
  });
});

/** Removes a user or tag of the first inbox from the service. */
function removerOf({ sandbox }: TestMirror, list: 'users' | 'tags'): (id: string) => void {
  const { id: inboxId } = firstInbox(sandbox);
  return (id) => {
    if (list === 'users') sandbox.world.removeUser(inboxId, id);
    else sandbox.world.removeTag(inboxId, id);
  };
}

test.each(['users', 'tags'] as const)(
  'one of the %s that its search still finds for a moment waits for a person, and those removed later are deleted',
  async (list) => {
    const hidden = new Set<string>();
    const mirror = await mirrorWith(hidden);
    const { sandbox, clock, database } = mirror;
    const inbox = firstInbox(sandbox);
    const [late, next, last] = firstIds(inbox[list], 3, 3);
    const remove = removerOf(mirror, list);
    hidden.add(late!);
    await mirror.sync();
    remove(late!);
    hidden.clear();
    for (let hours = 0; hours < 60; hours += 1) {
      if (hours === 30) remove(next!);
      if (hours === 40) remove(last!);
      clock.advance(HOUR);
      await mirror.sync();
    }
    const deleted = await database.query<{ id: string }>(
      `SELECT id FROM inbox_${list} WHERE deleted_at IS NOT NULL ORDER BY id`,
    );
    expect(deleted.map(({ id }) => id).toSorted()).toEqual([next!, last!].toSorted());
    const { lists } = await mirror.writer.status(clock.now());
    expect(lists.find((one) => one.list === list)).toMatchObject({ suspects: 1, held: 1 });
  },
);

test.each(['users', 'tags'] as const)(
  'one of the %s that is gone waits for a day after its list left out another that was returned',
  async (list) => {
    const hidden = new Set<string>();
    const mirror = await mirrorWith(hidden);
    const { sandbox, clock, database } = mirror;
    const inbox = firstInbox(sandbox);
    const [late, next] = firstIds(inbox[list], 2, 3);
    const remove = removerOf(mirror, list);
    hidden.add(late!);
    await mirror.sync();
    remove(late!);
    hidden.clear();
    let deletedAfter: number | null = null;
    for (let hours = 1; hours <= 26; hours += 1) {
      if (hours === 3) remove(next!);
      clock.advance(HOUR);
      await mirror.sync();
      if ((await count(database, `inbox_${list} WHERE deleted_at IS NOT NULL`)) > 0) deletedAfter ??= hours;
    }
    expect(deletedAfter).toBe(24);
  },
);

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

test('the only user that its list leaves out is not deleted because it was renamed', async () => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden);
  const { users } = firstInbox(mirror.sandbox);
  const [id] = firstIds(users, 1, 6);
  hidden.add(id!);
  await mirror.sync();
  mirror.clock.advance(HOUR);
  users.get(id!)!.email = 'renamed@example.com';
  for (let nth = 0; nth < 3; nth += 1) {
    await mirror.sync();
    mirror.clock.advance(HOUR);
  }
  expect(await count(mirror.database, `inbox_users WHERE deleted_at IS NOT NULL`)).toBe(0);
  const { lists } = await mirror.writer.status(mirror.clock.now());
  expect(lists.find(({ list }) => list === 'users')).toMatchObject({ held: 1, suspects: 1 });
  hidden.clear();
  await mirror.sync();
  await expectEqualToService(mirror);
});

test.each(['users', 'tags'] as const)(
  '%s that their list leaves out do not wait for a person because the search fails for a while',
  async (list) => {
    const hidden = new Set<string>();
    const mirror = await mirrorWith(hidden);
    for (const id of firstIds(firstInbox(mirror.sandbox)[list], 2, 6)) hidden.add(id);
    for (let nth = 0; nth < 12; nth += 1) {
      const isDown = nth >= 5 && nth < 8;
      mirror.sandbox.script(({ path }) => (isDown && path.includes('/search') ? { status: 500 } : undefined));
      await mirror.sync();
      mirror.clock.advance(6 * HOUR);
    }
    const { lists } = await mirror.writer.status(mirror.clock.now());
    expect(lists.find((each) => each.list === list)).toMatchObject({ unlisted: 2, suspects: 0, held: 0 });
  },
);

test('one failed search between two that find nothing deletes no user, until it is answered', async () => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden);
  const { sandbox, clock, database } = mirror;
  const inbox = firstInbox(sandbox);
  const [gone, failing, alsoGone] = firstIds(inbox.users, 3, 6);
  hidden.add(failing!);
  const { email } = inbox.users.get(failing!)!;
  for (const id of [gone!, alsoGone!]) sandbox.world.removeUser(inbox.id, id);
  sandbox.script(({ path }) =>
    decodeURIComponent(path).includes(`search?email=${email}`) ? { status: 500 } : undefined,
  );
  for (let nth = 0; nth < 4; nth += 1) {
    const { stopped } = await mirror.sync();
    expect(stopped).toBeNull();
    clock.advance(6 * HOUR);
  }
  expect(await count(database, `inbox_users WHERE deleted_at IS NOT NULL`)).toBe(0);
  sandbox.world.removeUser(inbox.id, failing!);
  sandbox.script(undefined);
  await mirror.sync();
  expect(await count(database, `inbox_users WHERE deleted_at IS NOT NULL`)).toBe(3);
  await expectEqualToService(mirror);
});

test('a sweep of users that fails between its questions deletes none that was renamed while the list was cut', async () => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden);
  const { users } = firstInbox(mirror.sandbox);
  const [plain, renamed, failing] = firstIds(users, 3, 6);
  hidden.add(plain!).add(renamed!);
  users.get(renamed!)!.email = 'renamed@example.com';
  for (let nth = 0; nth < 4; nth += 1) {
    await mirror.sync();
    mirror.clock.advance(HOUR);
  }
  mirror.clock.advance(12 * HOUR);
  hidden.add(failing!);
  const { email } = users.get(failing!)!;
  mirror.sandbox.script(({ path }) =>
    decodeURIComponent(path).includes(`search?email=${email}`) ? { status: 500 } : undefined,
  );
  expect(reportOn(await mirror.sync(), 'users')).toMatchObject({ outcome: 'paused' });
  expect(reportOn(await mirror.sync(), 'users')).toMatchObject({ outcome: 'complete', deleted: 0, held: 1 });
  expect(await wrongTombstones(mirror)).toEqual([]);
});

test('searches that answer 404 keep no deletion of a conversation waiting', async () => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden);
  const { sandbox, clock, database } = mirror;
  const inbox = firstInbox(sandbox);
  const [found, gone] = firstIds(inbox.users, 2, 6);
  hidden.add(found!);
  const { email } = sandbox.world.removeUser(inbox.id, gone!);
  sandbox.script(({ path }) => {
    const isSearch = path.includes('/users/search?');
    return isSearch && path.includes(encodeURIComponent(email)) ? { status: 404 } : undefined;
  });
  await mirror.sync();
  removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 1, 4));
  clock.advance(HOUR);
  await mirror.sync();
  const searches = sandbox.arrivals.filter(({ path }) => path.includes('/users/search?'));
  expect(new Set(searches.map(({ status }) => status))).toEqual(new Set([200, 404]));
  expect(await count(database, 'conversations WHERE deleted_at IS NOT NULL')).toBe(1);
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

test.each<[string, ScriptedOutcome]>([
  ['are refused with 404', { status: 404, body: '{}' }],
  ['are refused with 403', { status: 403, body: '{}' }],
  ['are redirected', { status: 302, headers: { location: '/login' } }],
  ['have another shape', { status: 200, body: '{}' }],
  ['find nothing', NO_HIT],
])('users and tags that their lists lack for hours are not deleted if searches %s', async (_, answer) => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden);
  const { sandbox, clock } = mirror;
  const inbox = firstInbox(sandbox);
  for (const id of [...firstIds(inbox.users, 8, 2), ...firstIds(inbox.tags, 8, 2)]) hidden.add(id);
  sandbox.script(({ path }) => (path.includes('/search') ? answer : undefined));
  for (let hour = 0; hour < 6; hour += 1) {
    await mirror.sync();
    clock.advance(HOUR);
  }
  expect(await wrongTombstones(mirror)).toEqual([]);
  const { lists } = await mirror.writer.status(clock.now());
  expect(lists.find(({ list }) => list === 'users')).toMatchObject({ suspects: 8, held: 8 });
  hidden.clear();
  await mirror.sync();
  await expectEqualToService(mirror);
});

// Of more than twenty, only a sample is searched for, and none is deleted.
test.each([
  [5, { held: 5, deleted: 1 }],
  [22, { held: 23, deleted: 0 }],
])(
  '%i tags that their list lacks are not deleted because their search has further pages',
  async (size, { held, deleted }) => {
    const hidden = new Set<string>();
    const mirror = await mirrorWith(hidden, { tagsPerInbox: 0, tagSearch: 'partial' });
    const { sandbox, clock } = mirror;
    const { world } = sandbox;
    const { id } = firstInbox(sandbox);
    const words = Array.from({ length: size }, (_, nth) => `topic${String.fromCodePoint(97 + nth)}`);
    for (const word of words)
      for (let nth = 0; nth < 11; nth += 1) world.addTag(id, { name: `${word} ${nth}` });
    const tags = words.map((word) => world.addTag(id, { name: word }).id);
    await mirror.sync();
    const other = world.addTag(id, { name: 'other' }).id;
    await mirror.sync();
    for (const tag of tags) hidden.add(tag);
    world.removeTag(id, other);
    for (let hour = 0; hour < 6; hour += 1) {
      clock.advance(HOUR);
      await mirror.sync();
    }
    expect(await wrongTombstones(mirror)).toEqual([]);
    const { lists } = await mirror.writer.status(clock.now());
    expect(lists.find(({ list, inboxId }) => list === 'tags' && inboxId === id)).toMatchObject({ held });
    expect(await count(mirror.database, `inbox_tags WHERE id = '${other}' AND deleted_at IS NOT NULL`)).toBe(
      deleted,
    );
  },
);

test.each(['users', 'tags'] as const)(
  'one of the %s that its list lacks is not deleted because its row in the search cannot be read',
  async (list) => {
    const hidden = new Set<string>();
    const mirror = await mirrorWith(hidden);
    const { sandbox, clock } = mirror;
    hidden.add(firstIds(firstInbox(sandbox)[list], 1, 6)[0]!);
    sandbox.script(({ path }) => (path.includes('/search') ? UNREADABLE : undefined));
    for (let hour = 0; hour < 3; hour += 1) {
      await mirror.sync();
      clock.advance(HOUR);
    }
    expect(await wrongTombstones(mirror)).toEqual([]);
    const { lists } = await mirror.writer.status(clock.now());
    expect(lists.find((each) => each.list === list)).toMatchObject({ suspects: 1, held: 1 });
  },
);

test('more than three users without an address, for whom no search can ask, wait for a person', async () => {
  const hidden = new Set<string>();
  const mirror = await mirrorWith(hidden, { usersPerInbox: 40 });
  const { sandbox, clock } = mirror;
  const { id } = firstInbox(sandbox);
  const users = Array.from({ length: 4 }, () => sandbox.world.addUser(id, { email: '' }).id);
  await mirror.sync();
  for (const user of users) hidden.add(user);
  for (let hour = 0; hour < 6; hour += 1) {
    clock.advance(HOUR);
    await mirror.sync();
  }
  expect(await wrongTombstones(mirror)).toEqual([]);
  const { lists } = await mirror.writer.status(clock.now());
  expect(lists.find(({ list, inboxId }) => list === 'users' && inboxId === id)).toMatchObject({ held: 4 });
});

test.each([
  { gone: 3, end: 'are deleted', deleted: 3, held: 0 },
  { gone: 4, end: 'wait for a person', deleted: 0, held: 4 },
])('$gone users and $gone tags that are gone $end if no search works', async (example) => {
  const mirror = await mirrorWith(new Set());
  const { sandbox, clock, database } = mirror;
  const { id, users, tags } = firstInbox(sandbox);
  for (const user of firstIds(users, example.gone, 2)) sandbox.world.removeUser(id, user);
  for (const tag of firstIds(tags, example.gone, 2)) sandbox.world.removeTag(id, tag);
  sandbox.script(({ path }) => (path.includes('/search') ? NO_HIT : undefined));
  await syncTwice(mirror);
  const { lists } = await mirror.writer.status(clock.now());
  for (const list of ['users', 'tags']) {
    expect(await count(database, `inbox_${list} WHERE deleted_at IS NOT NULL`)).toBe(example.deleted);
    expect(lists.find((one) => one.list === list)).toMatchObject({ held: example.held });
  }
});

test.each<[string, ScriptedOutcome | undefined]>([
  ['finds one of the others', undefined],
  ['fails for the first of the others', { status: 500 }],
  ['finds nothing for the first of the others', NO_HIT],
])('users that are gone are deleted if the search %s', async (_, answer) => {
  const mirror = await mirrorWith(new Set());
  const { sandbox, clock, database } = mirror;
  const inbox = firstInbox(sandbox);
  const gone = firstIds(inbox.users, 8, 2);
  const [first] = await database.query<{ email: string }>(
    `SELECT email FROM inbox_users WHERE inbox_id = $1 AND id NOT IN ('${gone.join("', '")}') ORDER BY id LIMIT 1`,
    inbox.id,
  );
  sandbox.script(({ path }) => (path.includes(encodeURIComponent(first!.email)) ? answer : undefined));
  for (const id of gone) sandbox.world.removeUser(inbox.id, id);
  for (let hour = 0; hour < 5; hour += 1) {
    await mirror.sync();
    clock.advance(HOUR);
  }
  expect(await count(database, 'inbox_users WHERE deleted_at IS NOT NULL')).toBe(8);
});
