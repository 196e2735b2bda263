import { describe, expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import type { Http } from '../../src/service/http.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import { downFrom } from '../support/outage.ts';
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
import { syncedMirror, syncTwice } from '../support/settle.ts';
import { expectEqualToService } from '../support/truth.ts';

/** A mirror after its first sync, by default of one inbox with 60 conversations. */
const synced = (options: MirrorOptions = {}): Promise<TestMirror> => syncedMirror(60, options);

/** Leaves the ids in `hidden` out of the conversations lists. */
function hiding(hidden: ReadonlySet<string>): (http: Http) => Http {
  return tampered((page, path) => {
    if (path.endsWith('/conversations'))
      page.results = page.results.filter(({ id }) => !hidden.has(String(id)));
  });
}

describe('a sweep with up to 20 suspects', () => {
  test('asks for each one, and sets the tombstones of those that the service does not know', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    const gone = firstIds(inbox.conversations, 20, 10);
    removeConversations(mirror, inbox.id, gone);
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync();
    // The control questions are for rows that the list shows.
    const asked = single(askedSince(mirror.sandbox, before));
    const ofGone = gone.map((id) => `/inboxes/${inbox.id}/conversations/${id}`);
    expect(Array.from(new Set(asked)).filter((path) => ofGone.includes(path))).toEqual(ofGone);
    expect(asked).toHaveLength(20 + 7);
    expect(reportOn(report, 'conversations')).toMatchObject({
      outcome: 'complete',
      deleted: 20,
      suspects: 0,
    });
    await expectEqualToService(mirror);
    expect(await changesIn(mirror.database)).toEqual(
      gone.map((id) =>
        expect.objectContaining({
          item_id: id,
          field: 'presence',
          old_value: 'present',
          new_value: 'missing',
        }),
      ),
    );
  });

  test('clears a conversation that is still there, without a change in this or the next sync', async () => {
    const hidden = new Set<string>();
    const mirror = await synced({ wrapHttp: hiding(hidden) });
    const inbox = firstInbox(mirror.sandbox);
    const [id] = firstIds(inbox.conversations, 1, 7);
    hidden.add(id!);
    const before = mirror.sandbox.arrivals.length;
    await mirror.sync();
    expect(single(askedSince(mirror.sandbox, before))).toEqual([`/inboxes/${inbox.id}/conversations/${id}`]);
    hidden.clear();
    const report = await mirror.sync();
    expect(reportOn(report, 'conversations')).toMatchObject({
      changed: 0,
      inserted: 0,
      deleted: 0,
      suspects: 0,
    });
    expect(await changesIn(mirror.database)).toEqual([]);
    expect(await count(mirror.database, `conversations WHERE missing_since IS NOT NULL`)).toBe(0);
    await expectEqualToService(mirror);
  });

  test('records the changes of a conversation that is still there, and counts it as seen', async () => {
    const hidden = new Set<string>();
    const mirror = await synced({ wrapHttp: hiding(hidden) });
    const inbox = firstInbox(mirror.sandbox);
    const [id] = firstIds(inbox.conversations, 1, 7);
    hidden.add(id!);
    mirror.sandbox.world.setStatus(inbox.id, id!, 'status two');
    const asking = await mirror.sync();
    expect(reportOn(asking, 'conversations').changed).toBe(1);
    mirror.clock.advance(13 * HOUR);
    // The sweep asks again and finds it unchanged: a sighting that leaves no other trace.
    const from = mirror.clock.now();
    await mirror.sync();
    const to = mirror.clock.now();
    mirror.clock.advance(HOUR);
    hidden.clear();
    mirror.sandbox.world.setStatus(inbox.id, id!, 'status three');
    await mirror.sync();
    const [first, second, ...more] = await changesIn(mirror.database);
    expect(more).toEqual([]);
    expect(first).toMatchObject({ field: 'status', new_value: 'status two' });
    expect(second).toMatchObject({ field: 'status', old_value: 'status two', new_value: 'status three' });
    expect(second!.previously_seen_at!.getTime()).toBeGreaterThanOrEqual(from);
    expect(second!.previously_seen_at!.getTime()).toBeLessThanOrEqual(to);
  });

  test('searches users by e-mail and tags by name, and gets inboxes by id', async () => {
    const mirror = await synced({ sandbox: { conversations: [3, 3] } });
    const { world } = mirror.sandbox;
    const [inbox, other] = [firstInbox(mirror.sandbox), nthInbox(mirror.sandbox, 1)];
    const user = world.removeUser(inbox.id, inbox.users.order[0]!);
    const tag = world.removeTag(inbox.id, inbox.tags.order[0]!);
    world.removeInbox(other.id);
    const before = mirror.sandbox.arrivals.length;
    await mirror.sync();
    expect(
      single(askedSince(mirror.sandbox, before))
        .map((path) => decodeURIComponent(path).replaceAll('+', ' '))
        .sort(),
    ).toEqual(
      [
        `/inboxes/${inbox.id}/tags/search?name=${tag.name}`,
        `/inboxes/${inbox.id}/users/search?email=${user.email}`,
        `/inboxes/${other.id}`,
      ].sort(),
    );
    mirror.clock.advance(HOUR);
    await mirror.sync();
    await expectEqualToService(mirror);
  });

  test('keeps the rows of a user and a tag that the searches find', async () => {
    let hide = false;
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (hide && /\/(users|tags)$/.test(path)) page.results = page.results.slice(1);
      }),
    });
    hide = true;
    const before = mirror.sandbox.arrivals.length;
    await mirror.sync();
    expect(single(askedSince(mirror.sandbox, before)).length).toBe(2);
    await expectEqualToService(mirror);
    expect(await changesIn(mirror.database)).toEqual([]);
  });

  test('deletes a user whose search is empty, although it names a further page, with the next complete sweep', async () => {
    let gone = '';
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (path.endsWith('/users/search')) page.pagination.next_page = 'more';
      }),
    });
    const inbox = firstInbox(mirror.sandbox);
    gone = inbox.users.order[2]!;
    mirror.sandbox.world.removeUser(inbox.id, gone);
    expect(reportOn(await mirror.sync(), 'users')).toMatchObject({
      outcome: 'complete',
      deleted: 0,
      suspects: 1,
    });
    expect(await count(mirror.database, `inbox_users WHERE deleted_at IS NULL AND id = $1`, gone)).toBe(1);
    mirror.clock.advance(HOUR);
    expect(reportOn(await mirror.sync(), 'users')).toMatchObject({ deleted: 1, suspects: 0 });
    await expectEqualToService(mirror);
  });

  test('ignores an answer about another conversation, and the suspect waits', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    const [gone, other] = firstIds(inbox.conversations, 2);
    removeConversations(mirror, inbox.id, [gone!]);
    // The service accepts a thread id in place of a conversation id (spec §2.4), and so it can answer
    // with another row.
    inbox.conversations.get(other!)!.gmail_thread_id = gone!;
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 0, suspects: 1 });
  });

  for (const [name, answer] of [
    ['a 400', { status: 400, body: '{"errors":[{"message":"no"}]}' }],
    ['an unknown shape', { status: 200, body: '{"conversation":{}}' }],
    ['a row that cannot be read', { status: 200, body: '{"data":[{"id":"not digits"}]}' }],
  ] as const) {
    test(`completes with a report and lets all suspects wait if an answer is ${name}`, async () => {
      const mirror = await synced();
      const inbox = firstInbox(mirror.sandbox);
      removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 3));
      mirror.sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? answer : undefined));
      const before = mirror.sandbox.arrivals.length;
      const report = await mirror.sync();
      expect(reportOn(report, 'conversations')).toMatchObject({
        outcome: 'complete',
        deleted: 0,
        suspects: 3,
      });
      // The third and the fourth one are for rows that the list shows.
      expect(single(askedSince(mirror.sandbox, before)).length).toBe(4);
      expect(mirror.events).toContainEqual(expect.objectContaining({ kind: 'asking-ended' }));
      mirror.sandbox.script(undefined);
      await mirror.sync();
      await expectEqualToService(mirror);
    });
  }

  for (const [place, nth] of [
    ['first', 0],
    ['last', 3],
  ] as const)
    test(`deletes the others if the answer for the ${place} suspect cannot be used`, async () => {
      const mirror = await synced();
      const inbox = firstInbox(mirror.sandbox);
      const ids = firstIds(inbox.conversations, 4);
      removeConversations(mirror, inbox.id, ids);
      mirror.sandbox.script(({ path }) =>
        path.endsWith(`/conversations/${ids[nth]}`) ? { status: 410, body: '{}' } : undefined,
      );
      expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 3, suspects: 1 });
      const told = { kind: 'withheld', cause: expect.stringContaining('410') as string };
      expect(mirror.events).toContainEqual(expect.objectContaining(told));
    });

  test('pauses once, and then completes, if one suspect breaks the service each time', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 1));
    mirror.sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? { status: 500 } : undefined));
    // The questions may fail for a while: the sweep pauses first, and the next pass reads no page again.
    const error = { code: 'ANSWER_FAILED' };
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ outcome: 'paused', error });
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync();
    expect(reportOn(report, 'conversations')).toMatchObject({ outcome: 'complete', suspects: 1 });
    const asked = askedSince(mirror.sandbox, before).filter((path) => path.includes('conversations'));
    expect(asked).toEqual(single(asked));
    mirror.sandbox.script(undefined);
    mirror.clock.advance(HOUR);
    await mirror.sync();
    await expectEqualToService(mirror);
  });

  test('asks after an outage only for the suspects that are left, and reads no page again', async () => {
    const hidden = new Set<string>();
    const mirror = await synced({ wrapHttp: hiding(hidden) });
    const inbox = firstInbox(mirror.sandbox);
    const ids = firstIds(inbox.conversations, 6, 20);
    // Three are removed and three only hidden, alternately.
    removeConversations(
      mirror,
      inbox.id,
      ids.filter((_, nth) => nth % 2 === 0),
    );
    for (const id of ids.filter((_, nth) => nth % 2 === 1)) hidden.add(id);
    downFrom(mirror, (path) => path.endsWith(ids[4]!));
    expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    mirror.sandbox.script(undefined);
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync();
    expect(report.stopped).toBeNull();
    // The 404s before the outage lacked their second control question.
    const asked = askedSince(mirror.sandbox, before);
    const open = [ids[0], ids[2], ids[4], ids[5]].map((id) => `/inboxes/${inbox.id}/conversations/${id}`);
    expect(asked).toEqual(single(asked));
    expect(Array.from(new Set(asked)).filter((path) => path !== asked[1] && path !== asked.at(-1))).toEqual(
      open,
    );
    await expectEqualToService(mirror);
    expect((await changesIn(mirror.database)).length).toBe(3);
  });
});

describe('the second witness of an absence', () => {
  test('is never a sweep that stopped half-way', async () => {
    const mirror = await synced({ pageSize: 10 });
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 21));
    mirror.sandbox.script(({ path }) => (path.includes('next_page') ? { status: 404 } : undefined));
    expect(reportOn(await mirror.sync(), 'conversations').outcome).toBe('failed');
    mirror.sandbox.script(undefined);
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({
      outcome: 'complete',
      deleted: 0,
      suspects: 21,
    });
  });

  test('is never the same sweep, resumed after the clock was set back', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 2));
    // Sets the clock back between the sweep's start and its pages.
    downFrom(mirror, (path) => {
      if (path.includes('/conversations?')) mirror.clock.setWall(-2 * HOUR);
      return /conversations\/\d+$/.test(path);
    });
    expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    const report = await mirror.sync();
    expect(reportOn(report, 'conversations')).toMatchObject({ deleted: 0, suspects: 2 });
  });

  test('is not asked for with `acceptDeletes`: a second complete sweep deletes, however soon it comes', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 50));
    await mirror.sync();
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync({ kind: 'resync', acceptDeletes: true });
    expect(reportOn(report, 'conversations')).toMatchObject({ deleted: 50, suspects: 0 });
    expect(single(askedSince(mirror.sandbox, before))).toEqual([]);
    await expectEqualToService(mirror);
  });

  test('saves the rows that an empty answer, half a page or a shift between pages leaves out', async () => {
    for (const harm of ['empty', 'half', 'slipped'] as const) {
      let harmful = false;
      const mirror = await synced({
        pageSize: 10,
        wrapHttp: tampered((page, path, query) => {
          if (!harmful || !/\/(users|tags|conversations)$/.test(path)) return;
          if (harm === 'empty') Object.assign(page, { results: [], pagination: { next_page: null } });
          if (harm === 'half' && query['next_page'] === undefined) page.results = page.results.slice(0, 5);
          if (harm === 'slipped' && query['next_page'] !== undefined) page.results = page.results.slice(1);
        }),
      });
      harmful = true;
      const report = await mirror.sync();
      expect(report.lists.every(({ outcome }) => outcome === 'complete')).toBe(true);
      await expectEqualToService(mirror);
      harmful = false;
      await mirror.sync();
      await expectEqualToService(mirror);
      expect(await changesIn(mirror.database)).toEqual([]);
      expect(await count(mirror.database, `conversations WHERE missing_since IS NOT NULL`)).toBe(0);
    }
  });
});

test('a returned conversation records its return and each difference with its last sighting', async () => {
  const mirror = await synced();
  const { world } = mirror.sandbox;
  const inbox = firstInbox(mirror.sandbox);
  const id = inbox.conversations.order[4]!;
  const row = inbox.conversations.get(id)!;
  const [kept, dropped, added] = firstIds(inbox.tags, 3);
  row.status = 'open';
  row.tag_ids = [kept!, dropped!];
  const from = mirror.clock.now();
  await mirror.sync();
  const to = mirror.clock.now();
  mirror.clock.advance(HOUR);
  world.removeConversation(inbox.id, id);
  await mirror.sync();
  mirror.clock.advance(HOUR);
  await mirror.sync();
  const before = (await changesIn(mirror.database)).length;
  world.restoreConversation(inbox.id, id);
  row.status = 'closed';
  row.tag_ids = [added!, kept!];
  mirror.clock.advance(HOUR);
  await mirror.sync();
  await expectEqualToService(mirror);
  const changes = (await changesIn(mirror.database)).slice(before);
  expect(changes.map((change) => [change.item_id, change.field, change.old_value, change.new_value])).toEqual(
    [
      [id, 'presence', 'missing', 'present'],
      [id, 'status', 'open', 'closed'],
      [id, 'tags', dropped, null],
      [id, 'tags', null, added],
    ],
  );
  for (const { previously_seen_at: seen } of changes) {
    expect(seen!.getTime()).toBeGreaterThanOrEqual(from);
    expect(seen!.getTime()).toBeLessThanOrEqual(to);
  }
});

describe('an inbox that is gone', () => {
  test('covers its rows, records one change, and brings back exactly the rows that it covered', async () => {
    const mirror = await synced({ sandbox: { conversations: [20, 20] } });
    const { world } = mirror.sandbox;
    const inbox = nthInbox(mirror.sandbox, 1);
    const [earlier, meanwhile] = firstIds(inbox.conversations, 2);
    removeConversations(mirror, inbox.id, [earlier!]);
    await mirror.sync();
    mirror.clock.advance(HOUR);
    const recorded = (await changesIn(mirror.database)).length;

    world.removeInbox(inbox.id);
    await syncTwice(mirror);
    mirror.clock.advance(HOUR);
    await expectEqualToService(mirror);
    expect((await changesIn(mirror.database)).slice(recorded)).toEqual([
      expect.objectContaining({
        list: 'inboxes',
        item_id: inbox.id,
        field: 'presence',
        new_value: 'missing',
      }),
    ]);

    world.restoreInbox(inbox.id);
    inbox.display_name = 'Back again';
    world.removeConversation(inbox.id, meanwhile!);
    await mirror.sync();
    await expectEqualToService(mirror);
    const after = (await changesIn(mirror.database)).slice(recorded + 1);
    expect(after.map(({ item_id, field, new_value }) => [item_id, field, new_value])).toEqual([
      [inbox.id, 'presence', 'present'],
      [inbox.id, 'display_name', 'Back again'],
      [meanwhile, 'presence', 'missing'],
    ]);
  });

  test('loses its open sweeps, and its lists are swept again after its return', async () => {
    const mirror = await synced({ pageSize: 10, sandbox: { conversations: [5, 20] } });
    const { world } = mirror.sandbox;
    const inbox = nthInbox(mirror.sandbox, 1);
    downFrom(mirror, (path) => path.includes('next_page'));
    expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    mirror.sandbox.script(undefined);
    world.removeInbox(inbox.id);
    for (let nth = 0; nth < 2; nth++) {
      await mirror.sync({ lists: ['inboxes'] });
      mirror.clock.advance(HOUR);
    }
    expect(await count(mirror.database, `sweeps WHERE state IN ('running', 'paused')`)).toBe(0);
    expect((await mirror.sync({ kind: 'resync' })).stopped).toBeNull();
    world.restoreInbox(inbox.id);
    await mirror.sync({ kind: 'resync' });
    await expectEqualToService(mirror);
  });

  test('keeps its rows, and its lists are skipped, while it is only a suspect', async () => {
    const mirror = await synced({ sandbox: { conversations: [5, 5] } });
    const { world } = mirror.sandbox;
    const inbox = nthInbox(mirror.sandbox, 1);
    world.removeInbox(inbox.id);
    mirror.sandbox.script(({ path }) => (path === `/v1/inboxes/${inbox.id}` ? { status: 400 } : undefined));
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync();
    expect(report.lists.filter(({ outcome }) => outcome === 'skipped').map(({ key }) => key)).toEqual([
      { list: 'users', inboxId: inbox.id },
      { list: 'tags', inboxId: inbox.id },
      { list: 'conversations', inboxId: inbox.id },
    ]);
    expect(
      askedSince(mirror.sandbox, before).filter((path) => path.startsWith(`/inboxes/${inbox.id}/`)),
    ).toEqual([]);
    expect(
      await count(mirror.database, `conversations WHERE inbox_id = $1 AND deleted_at IS NULL`, inbox.id),
    ).toBe(5);
  });
});
