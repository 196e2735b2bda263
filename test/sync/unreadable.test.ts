import { describe, expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import type { MirrorOptions, TestMirror } from '../support/mirror.ts';
import {
  askedSince,
  changesIn,
  count,
  firstIds,
  firstInbox,
  rawText,
  removeConversations,
  reportOn,
  single,
  tampered,
} from '../support/rows.ts';
import { syncedMirror } from '../support/settle.ts';
import { expectEqualToService } from '../support/truth.ts';

const synced = (options: MirrorOptions = {}): Promise<TestMirror> => syncedMirror(60, options);

/** Gives a conversation a status that cannot be read. @returns a function that gives it a readable one */
function breakRow({ sandbox }: TestMirror, id: string): () => void {
  const row = firstInbox(sandbox).conversations.get(id)!;
  const { status } = row;
  (row as { status: unknown }).status = 7;
  return () => void (row.status = status);
}

describe('a row that cannot be read, but its id can,', () => {
  test('is present, and its list still deletes rows', async () => {
    const mirror = await synced();
    const inbox = firstInbox(mirror.sandbox);
    const [broken, gone] = firstIds(inbox.conversations, 2);
    removeConversations(mirror, inbox.id, [gone!]);
    breakRow(mirror, broken!);
    const before = mirror.sandbox.arrivals.length;
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({
      outcome: 'complete',
      rejected: 1,
      withoutId: 0,
      deleted: 1,
      suspects: 0,
      items: 58,
    });
    // The control question is for a row that can be read.
    const [, control] = firstIds(inbox.conversations, 2);
    expect(single(askedSince(mirror.sandbox, before))).toEqual([
      `/inboxes/${inbox.id}/conversations/${gone}`,
      `/inboxes/${inbox.id}/conversations/${control}`,
      `/inboxes/${inbox.id}/conversations/${gone}`,
      `/inboxes/${inbox.id}/conversations/${gone}`,
    ]);
    expect((await changesIn(mirror.database)).map(({ item_id: id }) => id)).toEqual([gone]);
  });

  test('is kept in `rejects` with its id and without its public permalink, until it can be read', async () => {
    const mirror = await synced();
    const [broken] = firstIds(firstInbox(mirror.sandbox).conversations, 1);
    const repair = breakRow(mirror, broken!);
    await mirror.sync();
    const rejects = await mirror.database.query<{ reason: string; status: string; raw: string }>(
      `SELECT reason, item_id, CAST(${rawText('status')} AS TEXT) AS status, CAST(raw AS TEXT) AS raw FROM rejects`,
    );
    expect(rejects).toEqual([
      expect.objectContaining({ reason: 'status is not text', item_id: broken, status: '7' }),
    ]);
    expect(rejects[0]!.raw).not.toContain('public_permalink');
    expect(rejects[0]!.raw).toContain('private_permalink');
    repair();
    await mirror.sync();
    expect(await count(mirror.database, 'rejects')).toBe(0);
    await expectEqualToService(mirror);
  });

  test('is a suspect no longer, and does not count as a sighting of its content', async () => {
    const hidden = new Set<string>();
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (path.endsWith('/conversations'))
          page.results = page.results.filter(({ id }) => !hidden.has(String(id)));
      }),
    });
    const inbox = firstInbox(mirror.sandbox);
    const [id] = firstIds(inbox.conversations, 1);
    const lastRead = mirror.clock.now() - HOUR;
    hidden.add(id!);
    mirror.sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? { status: 400 } : undefined));
    expect(reportOn(await mirror.sync(), 'conversations').suspects).toBe(1);
    hidden.clear();
    mirror.clock.advance(HOUR);
    const repair = breakRow(mirror, id!);
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ suspects: 0, rejected: 1 });
    mirror.clock.advance(HOUR);
    repair();
    mirror.sandbox.world.setStatus(inbox.id, id!, 'another');
    await mirror.sync();
    const [change] = await changesIn(mirror.database);
    expect(change!.previously_seen_at!.getTime()).toBeLessThanOrEqual(lastRead);
  });
});

describe('a row without a readable id', () => {
  test('lets the deletions of its list wait, and the pass and the status say so', async () => {
    let nameless = true;
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (nameless && path.endsWith('/conversations')) delete page.results[0]?.['id'];
      }),
      sandbox: { conversations: [59] },
    });
    const inbox = firstInbox(mirror.sandbox);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 3, 5));
    const before = mirror.sandbox.arrivals.length;
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({
      outcome: 'complete',
      rejected: 1,
      withoutId: 1,
      deleted: 0,
      suspects: 0,
    });
    expect(single(askedSince(mirror.sandbox, before))).toEqual([]);
    const { lists } = await mirror.writer.status(mirror.clock.now());
    expect(lists.find(({ list }) => list === 'conversations')).toMatchObject({ withoutId: 1, rejected: 1 });
    nameless = false;
    mirror.clock.advance(HOUR);
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({ withoutId: 0, deleted: 3 });
    await expectEqualToService(mirror);
  });
});

describe('a page without a single readable row', () => {
  test('fails its list, which keeps its rows and is not healthy', async () => {
    let broken = false;
    const mirror = await synced({
      pageSize: 10,
      wrapHttp: tampered((page, path) => {
        if (broken && path.endsWith('/users')) for (const row of page.results) row['email'] = 7;
      }),
    });
    broken = true;
    const report = await mirror.sync();
    expect(reportOn(report, 'users')).toMatchObject({
      outcome: 'failed',
      error: { code: 'BAD_ANSWER', message: expect.stringContaining('none of the 5 rows of page 1') },
    });
    expect(await count(mirror.database, 'rejects')).toBe(5);
    expect(await count(mirror.database, 'inbox_users WHERE missing_since IS NULL')).toBe(5);
    expect(report.lists.filter(({ outcome }) => outcome === 'complete')).toHaveLength(3);
  });

  test('does not fail a list whose last page has one row', async () => {
    const mirror = await synced({ pageSize: 10, sandbox: { conversations: [21] } });
    breakRow(mirror, firstInbox(mirror.sandbox).conversations.order.at(-1)!);
    expect(reportOn(await mirror.sync(), 'conversations')).toMatchObject({
      outcome: 'complete',
      rejected: 1,
    });
  });
});
