import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import type { TestClock } from '../support/clock.ts';
import { datedService } from '../support/dated-service.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import { conversationsDownAfter, downFrom } from '../support/outage.ts';
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
import { quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const synced = (options: MirrorOptions = {}): Promise<TestMirror> => syncedMirror(100, options);

const ACCEPTED = { kind: 'resync', acceptDeletes: true } as const;

describe('a pass that would delete more than a tenth of the rows of a kind, and more than 20', () => {
  test('holds them, reports them, asks no more, and lets a person carry it out', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 30));
    const report = await syncTwice(mirror);
    expect(reportOn(report, 'conversations')).toMatchObject({
      outcome: 'complete',
      deleted: 0,
      held: 30,
      suspects: 30,
    });
    mirror.clock.advance(HOUR);
    const before = mirror.sandbox.arrivals.length;
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 0, held: 30 });
    expect(single(askedSince(mirror.sandbox, before))).toEqual([]);
    expect(await changesIn(mirror.database)).toEqual([]);
    expect(mirror.events).toContainEqual(expect.objectContaining({ kind: 'held', rows: 30 }));
    const { lists } = await mirror.writer.status(mirror.clock.now());
    expect(lists.map(({ list, held }) => [list, held])).toContainEqual(['conversations', 30]);

    expect(reportOn(await mirror.sync(ACCEPTED), 'conversations')).toMatchObject({ deleted: 30, held: 0 });
    await expectEqualToService(mirror);
    const after = await mirror.writer.status(mirror.clock.now());
    expect(after.lists.every(({ held }) => held === 0)).toBe(true);
  });

  test.each([
    [21, 0],
    [22, 22],
  ])('of 210 rows deletes 21, and holds 22: %i are gone', async (gone, held) => {
    const mirror = await syncedMirror(210);
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, gone));
    const report = await syncTwice(mirror);
    expect(reportOn(report, 'conversations')).toMatchObject({ held, deleted: gone - held });
  });

  test('carries it out with a consent that was interrupted, although another pass has read the list since', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 30));
    await syncTwice(mirror);
    downFrom(mirror, (path) => path.includes('/inboxes?'));
    expect((await mirror.sync(ACCEPTED)).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
    mirror.sandbox.script(undefined);
    await mirror.sync({ lists: ['conversations'] });
    const report = await mirror.sync(ACCEPTED);
    expect(report.pass.resumed).toBe(true);
    expect(reportOn(report, 'conversations')).toMatchObject({ outcome: 'complete', deleted: 30, held: 0 });
  });

  test.each([30, 1])(
    'deletes none of %i rows that the service has again when it resumes a consent',
    async (back) => {
      const mirror = await synced({ pageSize: 10 });
      const inbox = firstInbox(mirror.sandbox);
      const { world } = mirror.sandbox;
      const hidden = firstIds(inbox.conversations, 30);
      removeConversations(mirror, inbox.id, hidden);
      await syncTwice(mirror);
      conversationsDownAfter(3, mirror);
      expect(reportOn(await mirror.sync(ACCEPTED), 'conversations')).toMatchObject({ outcome: 'paused' });
      mirror.sandbox.script(undefined);
      for (const id of hidden.slice(0, back)) world.restoreConversation(inbox.id, id);
      const report = await mirror.sync(ACCEPTED);
      expect(report.pass.resumed).toBe(true);
      expect(reportOn(report, 'conversations')).toMatchObject({ outcome: 'complete', deleted: 0 });
      expect(await changesIn(mirror.database)).toEqual([]);
      // The consent is given again, and the list is read from its first page.
      const again = await mirror.sync(ACCEPTED);
      expect(reportOn(again, 'conversations')).toMatchObject({ deleted: 30 - back });
      await expectEqualToService(mirror);
    },
  );

  test('carries a consent out, although each of its runs has four requests only', async () => {
    const budget = { perSecond: 1000, perDay: 1_000_000, reserved: 0 };
    const mirror = await synced({ pageSize: 10, gate: { budget } });
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 30));
    await syncTwice(mirror);
    for (let run = 0; run < 8; run += 1) {
      budget.perDay = mirror.sandbox.arrivals.length + 4;
      await mirror.sync({ ...ACCEPTED, lists: ['conversations'] });
    }
    expect(await count(mirror.database, 'conversations WHERE deleted_at IS NOT NULL')).toBe(30);
  });

  test('asks for no row when an interrupted consent begins its list again at the first page', async () => {
    const mirror = await synced({ pageSize: 10 });
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 30));
    await syncTwice(mirror);
    conversationsDownAfter(3, mirror);
    await mirror.sync(ACCEPTED);
    let isRefused = false;
    mirror.sandbox.script(({ path }) => {
      if (isRefused || !path.includes('next_page')) return undefined;
      isRefused = true;
      return { status: 410 };
    });
    const before = mirror.sandbox.arrivals.length;
    expect(reportOn(await mirror.sync(ACCEPTED), 'conversations')).toMatchObject({ deleted: 30 });
    expect(single(askedSince(mirror.sandbox, before))).toEqual([]);
  });

  test('is one of all lists of the kind together', async () => {
    const mirror = await synced({ sandbox: { conversations: Array(6).fill(0), usersPerInbox: 9 } });
    // No list is empty, and none alone exceeds the brake.
    for (const inbox of mirror.sandbox.world.inboxes.values())
      for (const id of firstIds(inbox.users, 5)) mirror.sandbox.world.removeUser(inbox.id, id);
    const { lists } = await syncTwice(mirror);
    const users = lists.filter(({ key }) => key.list === 'users');
    expect(users.map(({ deleted, held }) => [deleted, held])).toEqual(Array.from(users, () => [0, 5]));
  });

  test('counts the rows that the same day has deleted already, but not those that a person accepted', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    const remove = async (many: number): Promise<unknown> => {
      removeConversations(mirror, inbox.id, firstIds(inbox.conversations, many));
      const { deleted, held } = reportOn(await mirror.sync(), 'conversations');
      mirror.clock.advance(HOUR);
      return { deleted, held };
    };
    expect(await remove(20)).toEqual({ deleted: 20, held: 0 });
    expect(await remove(5)).toEqual({ deleted: 0, held: 5 });
    mirror.clock.advance(24 * HOUR);
    expect(await remove(0)).toEqual({ deleted: 5, held: 0 });
    mirror.clock.advance(24 * HOUR);
    expect(await remove(30)).toEqual({ deleted: 0, held: 0 });
    await mirror.sync(ACCEPTED);
    expect(await remove(6)).toEqual({ deleted: 6, held: 0 });
    await expectEqualToService(mirror);
  });

  test.each<[string, (clock: TestClock) => void]>([
    ['is set by 30 hours', (clock) => clock.setWall(30 * HOUR)],
    ['is set back by 30 hours', (clock) => clock.setWall(-30 * HOUR)],
    ['is set by 400 days', (clock) => clock.setWall(9600 * HOUR)],
    ['boots 30 hours ahead', (clock) => clock.reboot(MINUTE, 30 * HOUR)],
  ])('counts the last 24 hours although the clock %s', async (_, change) => {
    const mirror = await synced({ ...datedService(), sandbox: { conversations: [60, 10] } });
    const { clock, sandbox } = mirror;
    const inbox = firstInbox(sandbox);
    const remove = async (many: number): Promise<unknown> => {
      removeConversations(mirror, inbox.id, firstIds(inbox.conversations, many));
      const { lists } = await mirror.sync();
      const report = lists.find(({ key }) => key.list === 'conversations' && key.inboxId === inbox.id);
      return { deleted: report?.deleted, held: report?.held };
    };
    const removeInbox = async (): Promise<unknown> => {
      sandbox.world.removeInbox(nthInbox(sandbox, 1).id);
      return { deleted: reportOn(await syncTwice(mirror), 'inboxes').deleted };
    };
    expect(await removeInbox()).toEqual({ deleted: 1 });
    expect(await remove(10)).toEqual({ deleted: 10, held: 0 });
    change(clock);
    expect(await remove(5)).toEqual({ deleted: 0, held: 5 });
    clock.advance(24 * HOUR);
    expect(await remove(0)).toEqual({ deleted: 5, held: 0 });
    await expectEqualToService(mirror);
  });

  test('counts those of a round of single pages that is under way when the clock boots 30 hours ahead', async () => {
    const twoInboxes = { conversations: [60, 60] };
    const mirror = await synced({ ...datedService(), pageSize: 20, sandbox: twoInboxes });
    const { clock, database, sandbox, writer } = mirror;
    const remove = async (nth: number, places: readonly number[]): Promise<number> => {
      const inbox = nthInbox(sandbox, nth);
      // Five rows of a page, and not its first one.
      const gone = places.flatMap((from) => firstIds(inbox.conversations, 5, from));
      removeConversations(mirror, inbox.id, gone);
      for (const page of (await writer.bookmarks.all(inbox.id)).get(inbox.id) ?? [])
        await mirror.readPage(page);
      return await count(database, `conversations WHERE deleted_at IS NOT NULL`);
    };
    expect(await remove(0, [5, 25, 45])).toBe(15);
    clock.reboot(MINUTE, 30 * HOUR);
    expect(await remove(1, [5, 25])).toBeLessThanOrEqual(20);
    const { lists } = await writer.status(clock.now());
    expect(lists.some(({ held }) => held > 0)).toBe(true);
  });

  test('counts those of the last 24 hours of a round of single pages, which takes days', async () => {
    const mirror = await synced();
    const { clock, database } = mirror;
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 15));
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 15 });
    clock.advance(30 * HOUR);
    // A round is still active; a pass ends within hours.
    const active = new Date(clock.now()).toISOString();
    await database.execute(`UPDATE sweeps SET heartbeat_at = $1 WHERE deleted > 0`, active);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 15));
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 15, held: 0 });
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 10));
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 0, held: 10 });
  });

  test('counts all deletions of a day, although a person accepted some in the second sweep of the list', async () => {
    const mirror = await quickMirror({ goneAfterMs: 0, pageSize: 50, sandbox: { conversations: [300] } });
    const { sandbox } = mirror;
    const inbox = firstInbox(sandbox);
    const stop = new AbortController();
    sandbox.script(({ path }) => {
      if (path.includes('/conversations?') && path.includes('next_page')) stop.abort();
      return undefined;
    });
    await mirror.sync({}, stop.signal);
    sandbox.script(undefined);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 30));
    await mirror.sync(ACCEPTED);
    await mirror.sync(ACCEPTED);
    expect(await count(mirror.database, 'conversations WHERE deleted_at IS NOT NULL')).toBe(30);
    for (const [many, held] of [
      [20, 0],
      [10, 10],
    ] as const) {
      mirror.clock.advance(HOUR);
      removeConversations(mirror, inbox.id, firstIds(inbox.conversations, many));
      expect(reportOn(await syncTwice(mirror), 'conversations')).toMatchObject({ held });
    }
  });

  test('is one that deletes an inbox with so many rows', async () => {
    const mirror = await synced({ sandbox: { conversations: [30, 30] } });
    mirror.sandbox.world.removeInbox(nthInbox(mirror.sandbox, 1).id);
    expect(reportOn(await syncTwice(mirror), 'inboxes')).toMatchObject({ deleted: 0, held: 1 });
    expect(await count(mirror.database, `conversations WHERE deleted_at IS NOT NULL`)).toBe(0);
    await mirror.sync(ACCEPTED);
    await expectEqualToService(mirror);
  });

  test('is one that deletes inbox after inbox, but not those that returned or that a person accepted', async () => {
    const small = { conversations: Array(11).fill(12), usersPerInbox: 1, tagsPerInbox: 1 };
    const mirror = await synced({ sandbox: small });
    const { world } = mirror.sandbox;
    const ids = [...world.inboxes.keys()];
    const remove = async (nth: number | null): Promise<unknown> => {
      if (nth !== null) world.removeInbox(ids[nth] ?? '');
      const first = reportOn(await mirror.sync(), 'inboxes');
      mirror.clock.advance(HOUR);
      const { deleted, held } = reportOn(await mirror.sync(), 'inboxes');
      mirror.clock.advance(HOUR);
      return { deleted: first.deleted + deleted, held };
    };
    expect(await remove(0)).toEqual({ deleted: 1, held: 0 });
    expect(await remove(1)).toEqual({ deleted: 0, held: 1 });
    // The rows of the first inbox are live again, so that only those of the second are missing.
    world.restoreInbox(ids[0] ?? '');
    expect(await remove(null)).toEqual({ deleted: 1, held: 0 });
    expect(await remove(2)).toEqual({ deleted: 0, held: 1 });
    expect(reportOn(await mirror.sync(ACCEPTED), 'inboxes')).toMatchObject({ deleted: 1 });
    mirror.clock.advance(HOUR);
    // Conversations count with the covered ones: 12 of the second inbox, and these 9.
    const { id, conversations } = firstInbox(mirror.sandbox);
    removeConversations(mirror, id, firstIds(conversations, 9));
    const { lists } = await mirror.sync();
    expect(lists.map(({ deleted, held }) => [deleted, held])).toContainEqual([0, 9]);
    mirror.clock.advance(24 * HOUR);
    expect(await remove(4)).toEqual({ deleted: 0, held: 1 });
    mirror.clock.advance(24 * HOUR);
    expect(await remove(null)).toEqual({ deleted: 1, held: 0 });
    await expectEqualToService(mirror);
  });

  test('is one that reads another account', async () => {
    let other = false;
    const mirror = await synced({
      sandbox: { conversations: Array(4).fill(10) },
      wrapHttp: (http) => ({
        close: http.close,
        get: async (path, query) => {
          const answer = await http.get(path, query);
          if (!other) return answer;
          const body = { data: { results: [], pagination: { next_page: null } } };
          return path === '/inboxes'
            ? { ...answer, body: JSON.stringify(body) }
            : { ...answer, status: 404, body: '{"Message":"not found"}' };
        },
      }),
    });
    other = true;
    for (let nth = 0; nth < 4; nth++) {
      expect(reportOn(await syncTwice(mirror), 'inboxes')).toMatchObject({ deleted: 0 });
      mirror.clock.advance(HOUR);
    }
    expect(await count(mirror.database, `inboxes WHERE deleted_at IS NOT NULL`)).toBe(0);
    expect(await changesIn(mirror.database)).toEqual([]);
  });

  test('holds nothing if the service still has the rows', async () => {
    let hidden = false;
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (hidden && path.endsWith('/conversations')) page.results = page.results.slice(0, 50);
      }),
    });
    hidden = true;
    expect(reportOn(await syncTwice(mirror), 'conversations')).toMatchObject({ held: 0, suspects: 0 });
    await expectEqualToService(mirror);
  });
});

test('up to 20 rows are deleted even if they are more than a tenth', async () => {
  const mirror = await synced();
  const inbox = firstInbox(mirror.sandbox);
  removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 20));
  expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ deleted: 20, held: 0 });
});
