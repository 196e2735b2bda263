import { describe, expect, test } from 'vitest';
import type { Http } from '../../src/service/http.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import {
  askedSince,
  changesIn,
  count,
  firstIds,
  firstInbox,
  nthInbox,
  rawText,
  reportOn,
  single,
  tampered,
} from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const HOUR = 3_600_000;

/** A mirror that has been synced once, of one inbox with 60 conversations unless told otherwise. */
async function synced(options: MirrorOptions = {}): Promise<TestMirror> {
  const mirror = await quickMirror({
    ...options,
    sandbox: { idType: 'string', conversations: [60], usersPerInbox: 5, tagsPerInbox: 4, ...options.sandbox },
  });
  await mirror.sync();
  mirror.clock.advance(HOUR);
  return mirror;
}

function remove({ sandbox: { world } }: TestMirror, inboxId: string, ids: readonly string[]): void {
  for (const id of ids) world.removeConversation(inboxId, id);
}

/** The conversation lists leave these ids out while `hidden` has them. */
function hiding(hidden: ReadonlySet<string>): (http: Http) => Http {
  return tampered((page, path) => {
    if (path.endsWith('/conversations'))
      page.results = page.results.filter(({ id }) => !hidden.has(String(id)));
  });
}

describe('up to 20 suspects are asked for singly', () => {
  test('what the service does not know any more gets its tombstone at once, for one request each', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    const gone = firstIds(inbox.conversations, 20, 10);
    remove(mirror, inbox.id, gone);
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync();
    expect(single(askedSince(mirror.sandbox, before)).sort()).toEqual(
      gone.map((id) => `/inboxes/${inbox.id}/conversations/${id}`),
    );
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

  test('a conversation that is still there is cleared; neither this sync nor the next one sees a change', async () => {
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

  test('what changed on a conversation found in that way is told, and it counts as seen then', async () => {
    const hidden = new Set<string>();
    const mirror = await synced({ wrapHttp: hiding(hidden) });
    const inbox = firstInbox(mirror.sandbox);
    const [id] = firstIds(inbox.conversations, 1, 7);
    hidden.add(id!);
    mirror.sandbox.world.setStatus(inbox.id, id!, 'status two');
    const asking = await mirror.sync();
    expect(reportOn(asking, 'conversations').changed).toBe(1);
    mirror.clock.advance(HOUR);
    // Asked for again and found as it was: a sighting that leaves no other trace.
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

  test('users are searched by e-mail, tags by name, inboxes got by id', async () => {
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
    await expectEqualToService(mirror);
  });

  test('a user and a tag that are still found keep their rows', async () => {
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

  test('a search with further pages leaves it open: the row waits, and goes when the next complete sweep lacks it too', async () => {
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
    const before = mirror.sandbox.arrivals.length;
    expect(reportOn(await mirror.sync(), 'users')).toMatchObject({ deleted: 1, suspects: 0 });
    expect(single(askedSince(mirror.sandbox, before))).toEqual([]);
    await expectEqualToService(mirror);
  });

  test('an answer about another conversation is no answer: the row waits', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    const [gone, other] = firstIds(inbox.conversations, 2);
    remove(mirror, inbox.id, [gone!]);
    // A thread id may be passed where the conversation id goes (spec §2.4), so the service may well answer with another row.
    inbox.conversations.get(other!)!.gmail_thread_id = gone!;
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 0, suspects: 1 });
  });

  for (const [name, answer] of [
    ['400', { status: 400, body: '{"errors":[{"message":"no"}]}' }],
    ['an unknown shape', { status: 200, body: '{"conversation":{}}' }],
    ['a row that cannot be read', { status: 200, body: '{"data":[{"id":"not digits"}]}' }],
  ] as const) {
    test(`where the service answers such a question with ${name}, the sweep completes, says so, and the rows wait`, async () => {
      const mirror = await synced();
      const inbox = firstInbox(mirror.sandbox);
      remove(mirror, inbox.id, firstIds(inbox.conversations, 3));
      mirror.sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? answer : undefined));
      const before = mirror.sandbox.arrivals.length;
      const report = await mirror.sync();
      expect(reportOn(report, 'conversations')).toMatchObject({
        outcome: 'complete',
        deleted: 0,
        suspects: 3,
      });
      expect(single(askedSince(mirror.sandbox, before)).length).toBe(1);
      expect(mirror.events).toContainEqual(expect.objectContaining({ kind: 'asking-ended' }));
      await mirror.sync();
      await expectEqualToService(mirror);
    });
  }

  test('an item that breaks the service each time it is asked for does not keep its list from completing for ever', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    remove(mirror, inbox.id, firstIds(inbox.conversations, 1));
    mirror.sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? { status: 500 } : undefined));
    // It might be an outage, so first the sweep pauses and nothing is read again.
    expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync();
    expect(reportOn(report, 'conversations')).toMatchObject({ outcome: 'complete', suspects: 1 });
    expect(single(askedSince(mirror.sandbox, before))).toEqual(askedSince(mirror.sandbox, before));
    await mirror.sync();
    await expectEqualToService(mirror);
  });

  test('an outage while suspects are asked: the next pass reads no page again and asks only for those that are left', async () => {
    const hidden = new Set<string>();
    const mirror = await synced({ wrapHttp: hiding(hidden) });
    const inbox = firstInbox(mirror.sandbox);
    const ids = firstIds(inbox.conversations, 6, 20);
    // Three gone, three only hidden, in turns.
    remove(
      mirror,
      inbox.id,
      ids.filter((_, nth) => nth % 2 === 0),
    );
    for (const id of ids.filter((_, nth) => nth % 2 === 1)) hidden.add(id);
    mirror.sandbox.script(({ path }) => (path.endsWith(ids[4]!) ? 'reset' : undefined));
    expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    mirror.sandbox.script(undefined);
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync();
    expect(report.stopped).toBeNull();
    expect(askedSince(mirror.sandbox, before)).toEqual(
      ids.slice(4).map((id) => `/inboxes/${inbox.id}/conversations/${id}`),
    );
    await expectEqualToService(mirror);
    expect((await changesIn(mirror.database)).length).toBe(3);
  });
});

describe('absence takes a second witness', () => {
  test('more than 20 missing rows are not asked for; they go when the second complete sweep lacks them too, and no earlier', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    const gone = firstIds(inbox.conversations, 21);
    remove(mirror, inbox.id, gone);
    const before = mirror.sandbox.arrivals.length;
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({
      outcome: 'complete',
      deleted: 0,
      suspects: 21,
    });
    expect(await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL`)).toBe(0);
    expect(await changesIn(mirror.database)).toEqual([]);
    // One comes back before the second look, one more goes and is asked for.
    mirror.sandbox.world.restoreConversation(inbox.id, gone[0]!);
    const [late] = firstIds(inbox.conversations, 1, 5);
    remove(mirror, inbox.id, [late!]);
    mirror.clock.advance(HOUR);
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 21, suspects: 0 });
    expect(single(askedSince(mirror.sandbox, before))).toEqual([
      `/inboxes/${inbox.id}/conversations/${late}`,
    ]);
    await expectEqualToService(mirror);
    expect((await changesIn(mirror.database)).map(({ item_id: id }) => id).sort()).toEqual(
      [...gone.slice(1), late!].sort(),
    );
  });

  test('a sweep that stopped half-way is no witness', async () => {
    const mirror = await synced({ pageSize: 10 });
    const inbox = firstInbox(mirror.sandbox);
    remove(mirror, inbox.id, firstIds(inbox.conversations, 21));
    mirror.sandbox.script(({ path }) => (path.includes('next_page') ? { status: 404 } : undefined));
    expect(reportOn(await mirror.sync(), 'conversations').outcome).toBe('failed');
    mirror.sandbox.script(undefined);
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({
      outcome: 'complete',
      deleted: 0,
      suspects: 21,
    });
  });

  test('a sweep that is resumed after the clock was set back is not its own second witness', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    remove(mirror, inbox.id, firstIds(inbox.conversations, 2));
    // The clock goes back after the sweep's start and before its pages are in.
    mirror.sandbox.script(({ path }) => {
      if (path.includes('/conversations?')) mirror.clock.setWall(-2 * HOUR);
      return /conversations\/\d+$/.test(path) ? 'reset' : undefined;
    });
    expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    const report = await mirror.sync();
    expect(reportOn(report, 'conversations')).toMatchObject({ deleted: 0, suspects: 2 });
  });

  test('`acceptDeletes` takes one complete sweep for it, however many, and asks for none', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    remove(mirror, inbox.id, firstIds(inbox.conversations, 50));
    const before = mirror.sandbox.arrivals.length;
    const report = await mirror.sync({ kind: 'resync', acceptDeletes: true });
    expect(reportOn(report, 'conversations')).toMatchObject({ deleted: 50, suspects: 0 });
    expect(single(askedSince(mirror.sandbox, before))).toEqual([]);
    await expectEqualToService(mirror);
  });

  test('an empty answer with 200, half a page, a row that slipped between two pages: nothing is deleted, nothing told', async () => {
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

  test('a sweep with a rejected row suspects nobody; the row is kept with the reason, less the public permalink, until it can be read', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    const [broken, gone] = firstIds(inbox.conversations, 2);
    remove(mirror, inbox.id, [gone!]);
    const row = inbox.conversations.get(broken!)!;
    const { status } = row;
    (row as { status: unknown }).status = 7;
    const before = mirror.sandbox.arrivals.length;
    const report = reportOn(await mirror.sync(), 'conversations');
    expect(report).toMatchObject({ outcome: 'complete', rejected: 1, deleted: 0, suspects: 0, items: 58 });
    expect(single(askedSince(mirror.sandbox, before))).toEqual([]);
    const rejects = await mirror.database.query<{ reason: string; id: string; status: string; raw: string }>(
      `SELECT reason, ${rawText('id')} AS id, CAST(${rawText('status')} AS TEXT) AS status, CAST(raw AS TEXT) AS raw FROM rejects`,
    );
    expect(rejects).toEqual([
      expect.objectContaining({ reason: 'status is not text', id: broken, status: '7' }),
    ]);
    expect(rejects[0]!.raw).not.toContain('public_permalink');
    expect(rejects[0]!.raw).toContain('private_permalink');
    row.status = status;
    await mirror.sync();
    expect(await count(mirror.database, 'rejects')).toBe(0);
    await expectEqualToService(mirror);
  });

  test('after a sweep with rejected rows, no earlier sweep is mistaken for a witness', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    remove(mirror, inbox.id, firstIds(inbox.conversations, 21));
    const row = inbox.conversations.get(inbox.conversations.order[0]!)!;
    (row as { status: unknown }).status = 7;
    await mirror.sync();
    await mirror.sync();
    row.status = 'open';
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 0, suspects: 21 });
  });
});

test('a conversation that comes back tells that, and what is different from before it went, each with when it was last seen', async () => {
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
  const told = (await changesIn(mirror.database)).slice(before);
  expect(told.map((change) => [change.item_id, change.field, change.old_value, change.new_value])).toEqual([
    [id, 'presence', 'missing', 'present'],
    [id, 'status', 'open', 'closed'],
    [id, 'tags', dropped, null],
    [id, 'tags', null, added],
  ]);
  for (const { previously_seen_at: seen } of told) {
    expect(seen!.getTime()).toBeGreaterThanOrEqual(from);
    expect(seen!.getTime()).toBeLessThanOrEqual(to);
  }
});

describe('an inbox that is gone', () => {
  test('covers its rows, tells itself only, and brings back exactly what went with it', async () => {
    const mirror = await synced({ sandbox: { conversations: [30, 30] } });
    const { world } = mirror.sandbox;
    const inbox = nthInbox(mirror.sandbox, 1);
    const [earlier, meanwhile] = firstIds(inbox.conversations, 2);
    remove(mirror, inbox.id, [earlier!]);
    await mirror.sync();
    mirror.clock.advance(HOUR);
    const told = (await changesIn(mirror.database)).length;

    world.removeInbox(inbox.id);
    await mirror.sync();
    mirror.clock.advance(HOUR);
    await expectEqualToService(mirror);
    expect((await changesIn(mirror.database)).slice(told)).toEqual([
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
    const after = (await changesIn(mirror.database)).slice(told + 1);
    expect(after.map(({ item_id, field, new_value }) => [item_id, field, new_value])).toEqual([
      [inbox.id, 'presence', 'present'],
      [inbox.id, 'display_name', 'Back again'],
      [meanwhile, 'presence', 'missing'],
    ]);
  });

  test('what was half-read of it is abandoned, and its rows are swept again when it is back', async () => {
    const mirror = await synced({ pageSize: 10, sandbox: { conversations: [5, 30] } });
    const { world } = mirror.sandbox;
    const inbox = nthInbox(mirror.sandbox, 1);
    mirror.sandbox.script(({ path }) => (path.includes('next_page') ? 'reset' : undefined));
    expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    mirror.sandbox.script(undefined);
    world.removeInbox(inbox.id);
    await mirror.sync({ lists: ['inboxes'] });
    expect(await count(mirror.database, `sweeps WHERE state IN ('running', 'paused')`)).toBe(0);
    expect((await mirror.sync({ kind: 'resync' })).stopped).toBeNull();
    world.restoreInbox(inbox.id);
    await mirror.sync({ kind: 'resync' });
    await expectEqualToService(mirror);
  });

  test('while it is only a suspect, its lists are skipped and its rows stay', async () => {
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
