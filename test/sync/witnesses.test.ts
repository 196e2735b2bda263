import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import type { Http } from '../../src/service/http.ts';
import { datedService } from '../support/dated-service.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import {
  askedSince,
  changesIn,
  count,
  firstIds,
  firstInbox,
  nthInbox,
  removeConversations,
  reportOn,
  single,
  tampered,
} from '../support/rows.ts';
import { syncedMirror } from '../support/settle.ts';
import { expectEqualToService, wrongTombstones } from '../support/truth.ts';

/** A mirror after its first sync, by default of one inbox with 300 conversations. */
const synced = (options: MirrorOptions = {}): Promise<TestMirror> => syncedMirror(300, options);

/** While `on.now` is true, the lists whose path ends in `list` are answered with 200 and no row. */
function emptied(list: string, on: { now: boolean }): (http: Http) => Http {
  return tampered((page, path) => {
    if (on.now && path.endsWith(list)) Object.assign(page, { results: [], pagination: { next_page: null } });
  });
}

const tombstones = async ({ database }: TestMirror, table: string): Promise<number> =>
  await count(database, `${table} WHERE deleted_at IS NOT NULL`);
const suspicions = async ({ database }: TestMirror, table: string): Promise<number> =>
  await count(database, `${table} WHERE missing_since IS NOT NULL AND deleted_at IS NULL`);

describe('an empty answer for a list of conversations', () => {
  test('is refuted by one conversation that the service still has, however often it comes', async () => {
    const on = { now: true };
    const mirror = await synced({ wrapHttp: emptied('/conversations', on), sandbox: { conversations: [0] } });
    on.now = false;
    const inbox = firstInbox(mirror.sandbox);
    for (let nth = 0; nth < 60; nth++) mirror.sandbox.world.addConversation(inbox.id);
    await mirror.sync();
    on.now = true;
    for (let nth = 0; nth < 3; nth++) {
      mirror.clock.advance(HOUR);
      const before = mirror.sandbox.arrivals.length;
      const report = await mirror.sync();
      expect(reportOn(report, 'conversations')).toMatchObject({ deleted: 0, suspects: 0 });
      // From the second sweep on 5 of those that the last one lacked too are asked for, and 5 unlisted ones at most.
      const asked = [1, 1 + 5 + 1, 1 + 5 + 5][nth]!;
      expect(single(askedSince(mirror.sandbox, before))).toHaveLength(asked);
    }
    await expectEqualToService(mirror);
    expect(mirror.events).toContainEqual(expect.objectContaining({ kind: 'acquitted', suspects: 60 }));
  });
});

describe('more than 20 missing conversations', () => {
  test('need two sweeps 10 minutes apart, and are each asked for after a sample of 5', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    const gone = firstIds(inbox.conversations, 21, 10);
    removeConversations(mirror, inbox.id, gone);
    const run = async (): Promise<{ asked: number; deleted: number; suspects: number }> => {
      const before = mirror.sandbox.arrivals.length;
      const { deleted, suspects } = reportOn(await mirror.sync(), 'conversations');
      return { asked: single(askedSince(mirror.sandbox, before)).length, deleted, suspects };
    };
    expect(await run()).toEqual({ asked: 5, deleted: 0, suspects: 21 });
    mirror.clock.advance(9 * MINUTE);
    expect(await run()).toEqual({ asked: 0, deleted: 0, suspects: 21 });
    mirror.clock.advance(2 * MINUTE);
    // One comes back before the third sweep, and two more go, which then wait for their second sweep.
    mirror.sandbox.world.restoreConversation(inbox.id, gone[0]!);
    const late = firstIds(inbox.conversations, 2, 200);
    removeConversations(mirror, inbox.id, late);
    // The sample and the others in three parts: one control question after each, and one that opens each of
    // the two hearings, with its first suspect twice more.
    expect(await run()).toEqual({ asked: 20 + 4 + 2 * 3, deleted: 20, suspects: 2 });
    expect(await run()).toEqual({ asked: 2 + 4, deleted: 2, suspects: 0 });
    await expectEqualToService(mirror);
    expect((await changesIn(mirror.database)).map(({ item_id: id }) => id).sort()).toEqual(
      [...gone.slice(1), ...late].sort(),
    );
  });

  test('of which the list leaves out a few, and the service has others no more, are told apart', async () => {
    const mirror = await synced({ sandbox: { conversations: [900] } });
    const inbox = firstInbox(mirror.sandbox);
    const ids = firstIds(inbox.conversations, 70, 100);
    const lacked = [20, 41, 63].map((nth) => ids[nth]!);
    for (const id of lacked) mirror.sandbox.world.unlistConversation(inbox.id, id);
    removeConversations(
      mirror,
      inbox.id,
      ids.filter((id) => !lacked.includes(id)),
    );
    for (let nth = 0; nth < 8; nth += 1) {
      await mirror.sync();
      mirror.clock.advance(11 * MINUTE);
    }
    expect(await wrongTombstones(mirror)).toEqual([]);
    expect(await tombstones(mirror, 'conversations')).toBe(67);
  });

  test('are deleted after the sample alone if they are more than 100 others', async () => {
    const mirror = await synced({ sandbox: { conversations: [1200] } });
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 106, 10));
    await mirror.sync();
    mirror.clock.advance(11 * MINUTE);
    const before = mirror.sandbox.arrivals.length;
    await mirror.sync();
    expect(single(askedSince(mirror.sandbox, before))).toHaveLength(5 + 4);
    await expectEqualToService(mirror);
  });

  test('are acquitted together if one of the sample is still there', async () => {
    const hidden = new Set<string>();
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (path.endsWith('/conversations'))
          page.results = page.results.filter(({ id }) => !hidden.has(String(id)));
      }),
    });
    const inbox = firstInbox(mirror.sandbox);
    for (const id of firstIds(inbox.conversations, 25)) hidden.add(id);
    for (let nth = 0; nth < 2; nth++) {
      expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 0, suspects: 0 });
      mirror.clock.advance(HOUR);
    }
    expect(await suspicions(mirror, 'conversations')).toBe(0);
    await expectEqualToService(mirror);
  });

  test('wait if the service cannot be asked for one of the sample', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 21));
    mirror.sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? { status: 400 } : undefined));
    for (let nth = 0; nth < 2; nth++) {
      expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 0, suspects: 21 });
      mirror.clock.advance(HOUR);
    }
  });

  test('are sampled at other places in each sweep', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    const gone = firstIds(inbox.conversations, 25);
    removeConversations(mirror, inbox.id, gone);
    const sampled = async (): Promise<string[]> => {
      const before = mirror.sandbox.arrivals.length;
      await mirror.sync();
      mirror.clock.advance(HOUR);
      return single(askedSince(mirror.sandbox, before));
    };
    const [first, second] = [await sampled(), await sampled()];
    const samples = [first, second].map((paths) =>
      [...new Set(paths)].filter((path) => gone.some((id) => path.endsWith(`/${id}`))).slice(0, 5),
    );
    expect(new Set(samples.flat()).size).toBe(10);
  });
});

test('a route that worked a moment ago is no witness if it does not work now', async () => {
  const mirror = await synced();
  const inbox = firstInbox(mirror.sandbox);
  const take = (nth: number): void =>
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 1, nth));
  take(5);
  await mirror.sync();
  expect(await tombstones(mirror, 'conversations')).toBe(1);
  take(50);
  mirror.sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? { status: 404 } : undefined));
  await mirror.sync();
  expect(await tombstones(mirror, 'conversations')).toBe(1);
  expect(await suspicions(mirror, 'conversations')).toBe(1);
});

test('no conversation is deleted while the service returns none by its id', async () => {
  const mirror = await synced({ sandbox: { conversations: [60, 300] } });
  const [inbox, other] = [firstInbox(mirror.sandbox), nthInbox(mirror.sandbox, 1)];
  removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 3));
  removeConversations(mirror, other.id, firstIds(other.conversations, 25));
  const noRoute = { status: 404, body: '<html>nginx', headers: { 'content-type': 'text/html' } };
  mirror.sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? noRoute : undefined));
  for (let nth = 0; nth < 3; nth++) {
    await mirror.sync();
    expect(await tombstones(mirror, 'conversations')).toBe(0);
    expect(await suspicions(mirror, 'conversations')).toBe(28);
    mirror.clock.advance(HOUR);
  }
  const cause = 'the service does not return a row by its id that its list shows';
  expect(mirror.events).toContainEqual(expect.objectContaining({ kind: 'withheld', cause }));
  mirror.sandbox.script(undefined);
  mirror.clock.advance(DAY);
  await mirror.sync();
  await expectEqualToService(mirror);
});

test('up to 20 missing conversations are never deleted while the service cannot be asked', async () => {
  const mirror = await synced();
  const inbox = firstInbox(mirror.sandbox);
  removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 3));
  mirror.sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? { status: 400 } : undefined));
  for (let nth = 0; nth < 3; nth++) {
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 0, suspects: 3 });
    mirror.clock.advance(HOUR);
  }
  mirror.sandbox.script(undefined);
  expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 3, suspects: 0 });
});

describe('a user or a tag that a sweep does not list', () => {
  test('is not deleted because the search for its old name or address finds nothing', async () => {
    let slipped = false;
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (slipped && /\/(users|tags)$/.test(path)) page.results = page.results.slice(1);
      }),
    });
    const inbox = firstInbox(mirror.sandbox);
    inbox.users.get(inbox.users.order[0]!)!.email = 'renamed@example.com';
    inbox.tags.get(inbox.tags.order[0]!)!.name = 'Renamed';
    slipped = true;
    await mirror.sync();
    slipped = false;
    mirror.clock.advance(HOUR);
    await mirror.sync();
    await expectEqualToService(mirror);
    expect((await changesIn(mirror.database)).map(({ field }) => field).sort()).toEqual(['email', 'name']);
  });

  test('is deleted by the second complete sweep, 10 minutes later', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    mirror.sandbox.world.removeUser(inbox.id, inbox.users.order[0]!);
    mirror.sandbox.world.removeTag(inbox.id, inbox.tags.order[0]!);
    const deleted = async (): Promise<number[]> => {
      const report = await mirror.sync();
      return [reportOn(report, 'users').deleted, reportOn(report, 'tags').deleted];
    };
    expect(await deleted()).toEqual([0, 0]);
    mirror.clock.advance(9 * MINUTE);
    expect(await deleted()).toEqual([0, 0]);
    mirror.clock.advance(MINUTE);
    expect(await deleted()).toEqual([1, 1]);
    await expectEqualToService(mirror);
  });

  test('is deleted by two sweeps even if the search is refused: it is no witness', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    mirror.sandbox.world.removeTag(inbox.id, inbox.tags.order[0]!);
    mirror.sandbox.script(({ path }) => (path.includes('/tags/search') ? { status: 400 } : undefined));
    expect(reportOn(await mirror.sync(), 'tags')).toMatchObject({ deleted: 0, suspects: 1 });
    mirror.clock.advance(HOUR);
    expect(reportOn(await mirror.sync(), 'tags')).toMatchObject({ deleted: 1, suspects: 0 });
  });

  test('is searched for while it waits, and acquitted if it is found', async () => {
    let slipped = false;
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (slipped && path.endsWith('/users')) page.results = [];
      }),
    });
    slipped = true;
    for (let nth = 0; nth < 2; nth++) {
      expect(reportOn(await mirror.sync(), 'users')).toMatchObject({ deleted: 0, suspects: 0 });
      mirror.clock.advance(HOUR);
    }
    await expectEqualToService(mirror);
  });
});

describe.each(['users', 'tags'] as const)(
  'an empty answer for a list of %s, and for its searches',
  (list) => {
    test('deletes nothing without a person, however often it comes', async () => {
      const on = { now: true };
      const all = (http: Http): Http => emptied(`/${list}/search`, on)(emptied(`/${list}`, on)(http));
      on.now = false;
      const mirror = await synced({ wrapHttp: all });
      on.now = true;
      const live = reportOn(await mirror.sync(), list).suspects;
      expect(live).toBeGreaterThan(2);
      for (let nth = 0; nth < 2; nth++) {
        mirror.clock.advance(HOUR);
        const report = reportOn(await mirror.sync(), list);
        expect(report).toMatchObject({ deleted: 0, suspects: live, held: live });
      }
      on.now = false;
      mirror.clock.advance(HOUR);
      expect(reportOn(await mirror.sync(), list)).toMatchObject({ deleted: 0, suspects: 0, held: 0 });
      expect(await changesIn(mirror.database)).toEqual([]);
      await expectEqualToService(mirror);
    });
  },
);

test('the last tag of an inbox is deleted once a person accepts it', async () => {
  const mirror = await synced({ sandbox: { tagsPerInbox: 1 } });
  const inbox = firstInbox(mirror.sandbox);
  mirror.sandbox.world.removeTag(inbox.id, inbox.tags.order[0]!);
  await mirror.sync();
  mirror.clock.advance(HOUR);
  expect(reportOn(await mirror.sync(), 'tags')).toMatchObject({ deleted: 0, held: 1 });
  await mirror.sync({ kind: 'resync', acceptDeletes: true });
  await expectEqualToService(mirror);
});

describe('a sweep of users that a search refutes', () => {
  test('is no witness for another user, whom the service still has under a new address', async () => {
    const on = { now: false };
    const missing = new Set<string>();
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (!/\/users\?|\/users$/.test(path)) return;
        const results = page.results.filter(({ id }) => !on.now && !missing.has(String(id)));
        Object.assign(page, { results, pagination: { next_page: null } });
      }),
    });
    const { users } = firstInbox(mirror.sandbox);
    const [id = ''] = firstIds(users, 1);
    // Renamed while a sweep reads the list: it is on no page, and the search knows only the old address.
    Object.assign(users.get(id) ?? {}, { email: 'new.address@example.com' });
    missing.add(id);
    await mirror.sync();
    expect(await suspicions(mirror, 'inbox_users')).toBe(1);
    // An empty answer later: the searches find the other users.
    mirror.clock.advance(HOUR);
    on.now = true;
    await mirror.sync();

    expect(await tombstones(mirror, 'inbox_users')).toBe(0);
    [on.now] = [false];
    missing.clear();
    await mirror.sync();
    await expectEqualToService(mirror);
  });
});

describe('an inbox that a sweep does not list', () => {
  test('is deleted by a second complete sweep and a 404, and never by one sweep and a 404', async () => {
    const mirror = await synced({ sandbox: { conversations: [8, 8] } });
    const inbox = nthInbox(mirror.sandbox, 1);
    mirror.sandbox.world.removeInbox(inbox.id);
    const inboxes = async () => reportOn(await mirror.sync(), 'inboxes');
    expect(await inboxes()).toMatchObject({ deleted: 0, suspects: 1 });
    mirror.clock.advance(9 * MINUTE);
    expect(await inboxes()).toMatchObject({ deleted: 0, suspects: 1 });
    expect(await tombstones(mirror, 'conversations')).toBe(0);
    mirror.clock.advance(2 * MINUTE);
    const before = mirror.sandbox.arrivals.length;
    expect(await inboxes()).toMatchObject({ deleted: 1, suspects: 0 });
    const other = firstInbox(mirror.sandbox);
    expect(single(askedSince(mirror.sandbox, before))).toEqual(
      [inbox, other, inbox, inbox].map(({ id }) => `/inboxes/${id}`),
    );
    await expectEqualToService(mirror);
  });

  test('keeps its rows if it is listed again after a 404', async () => {
    const on = { now: false };
    const mirror = await synced({ wrapHttp: emptied('/inboxes', on), sandbox: { conversations: [8, 8] } });
    on.now = true;
    mirror.sandbox.script(({ path }) => (/\/inboxes\/\d+$/.test(path) ? { status: 404 } : undefined));
    expect(reportOn(await mirror.sync(), 'inboxes')).toMatchObject({ deleted: 0, suspects: 2 });
    on.now = false;
    mirror.clock.advance(HOUR);
    await mirror.sync();
    await expectEqualToService(mirror);
    expect(await changesIn(mirror.database)).toEqual([]);
  });

  test('is acquitted and its lists are swept in the same pass if the service has it by its id', async () => {
    const on = { now: false };
    const mirror = await synced({ wrapHttp: emptied('/inboxes', on) });
    on.now = true;
    const report = await mirror.sync();
    expect(report.lists.map(({ outcome }) => outcome)).toEqual(Array(4).fill('complete'));
    expect(await suspicions(mirror, 'inboxes')).toBe(0);
  });
});

describe.each([-2, 2])('a clock that is set by %i h makes no two witnesses of sweeps', (hours) => {
  test.each([1, 2])('minutes apart, if it is set while page %i is on its way', async (page) => {
    const mirror = await missingTag();
    mirror.clock.advance(MINUTE);
    let pages = 0;
    mirror.sandbox.script(({ path }) => {
      if (path.includes('/tags?') && ++pages === page) mirror.clock.setWall(hours * HOUR);
      return undefined;
    });
    expect(reportOn(await mirror.sync(), 'tags')).toMatchObject({ deleted: 0, suspects: 1 });
    await expectGoneAfter(mirror, 8);
  });

  test('minutes apart, if it is set while the page that lacks the row is on its way', async () => {
    const mirror = await synced({ sandbox: { tagsPerInbox: 14 } });
    removeFirstTag(mirror);
    let pages = 0;
    mirror.sandbox.script(({ path }) => {
      if (path.includes('/tags?') && ++pages === 1) mirror.clock.setWall(hours * HOUR);
      return undefined;
    });
    expect(reportOn(await mirror.sync(), 'tags')).toMatchObject({ deleted: 0, suspects: 1 });
    await expectGoneAfter(mirror, 9);
  });

  test('minutes apart, if it is set between the two', async () => {
    const mirror = await missingTag();
    mirror.clock.setWall(hours * HOUR);
    await expectGoneAfter(mirror, 9);
  });
});

test('a clock that boots a day ahead makes no two witnesses of sweeps minutes apart', async () => {
  // The dates of the service tell how long the machine was off.
  const mirror = await missingTag(datedService());
  mirror.clock.reboot(MINUTE, DAY);
  await expectGoneAfter(mirror, 9);
});

/** A mirror of which a sweep has just missed a tag. */
async function missingTag(options: MirrorOptions = {}): Promise<TestMirror> {
  const mirror = await synced({ ...options, pageSize: 10, sandbox: { tagsPerInbox: 14 } });
  removeFirstTag(mirror);
  expect(reportOn(await mirror.sync(), 'tags')).toMatchObject({ deleted: 0, suspects: 1 });
  return mirror;
}

function removeFirstTag({ sandbox }: TestMirror): void {
  const inbox = firstInbox(sandbox);
  sandbox.world.removeTag(inbox.id, inbox.tags.order[0]!);
}

/** Expects the missing tag to wait for another minute, and to be deleted `minutes` after that. */
async function expectGoneAfter(mirror: TestMirror, minutes: number): Promise<void> {
  mirror.clock.advance(MINUTE);
  expect(reportOn(await mirror.sync(), 'tags')).toMatchObject({ deleted: 0, suspects: 1 });
  mirror.clock.advance(minutes * MINUTE);
  expect(reportOn(await mirror.sync(), 'tags')).toMatchObject({ deleted: 1, suspects: 0 });
}

test('with 0 for GONE_AFTER, the next complete sweep is independent, and never the same one', async () => {
  const mirror = await synced({ goneAfterMs: 0 });
  const inbox = firstInbox(mirror.sandbox);
  mirror.sandbox.world.removeUser(inbox.id, inbox.users.order[0]!);
  expect(reportOn(await mirror.sync(), 'users')).toMatchObject({ deleted: 0, suspects: 1 });
  mirror.clock.advance(1);
  expect(reportOn(await mirror.sync(), 'users')).toMatchObject({ deleted: 1, suspects: 0 });
});
