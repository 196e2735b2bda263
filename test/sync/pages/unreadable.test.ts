import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/core/clock.ts';
import type { ListStatus } from '../../../src/mirror/status.ts';
import { OddRows } from '../../../src/sync/pages/odd.ts';
import { readOutlook } from '../../../src/sync/planning/pages/outlook.ts';
import { cronOf } from '../../../src/sync/planning/cron.ts';
import { type PageMirror, pageMirror } from '../../support/page-mirror.ts';
import { count, firstInbox, removeConversations, tampered } from '../../support/rows.ts';

type Figures = Pick<ListStatus, 'rejected' | 'withoutId'>;

/** A mirror of some conversations, 25 on three pages, and a service that changes the rows of `odd`. */
async function oddMirror(
  change: (row: Record<string, unknown>) => void,
  rows = 25,
): Promise<{
  mirror: PageMirror;
  odd: Set<string>;
  /** The unreadable rows of the list, as the status has them. */
  figures: () => Promise<Figures>;
}> {
  const odd = new Set<string>();
  const mirror = await pageMirror({}, [rows], (http) =>
    tampered((page, path) => {
      if (!path.endsWith('/conversations')) return;
      for (const row of page.results) if (odd.has(String(row['id']))) change(row);
    })(http),
  );
  const figures = async (): Promise<Figures> => {
    const { lists } = await mirror.writer.status(mirror.clock.now());
    const { rejected, withoutId } = lists.find(({ list }) => list === 'conversations')!;
    return { rejected, withoutId };
  };
  return { mirror, odd, figures };
}

const makeUnreadable = (row: Record<string, unknown>): void => void (row['status'] = 7);
const removeId = (row: Record<string, unknown>): void => void delete row['id'];

async function readFirstPage(mirror: PageMirror): Promise<void> {
  mirror.clock.advance(MINUTE);
  await mirror.readPage((await mirror.bookmarks())[0]!);
}

describe('the status of a list whose pages are read singly', () => {
  test('counts unreadable rows with the page that has them, and no longer once they can be read', async () => {
    const { mirror, odd, figures } = await oddMirror(makeUnreadable);
    const { order } = firstInbox(mirror.sandbox).conversations;
    for (const id of [1, 2, 3, 15].map((nth) => order[nth]!)) odd.add(id);
    await readFirstPage(mirror);
    expect(await figures()).toEqual({ rejected: 3, withoutId: 0 });
    await mirror.readAll();
    await mirror.readAll();
    expect(await figures()).toEqual({ rejected: 4, withoutId: 0 });
    odd.clear();
    await readFirstPage(mirror);
    expect(await figures()).toEqual({ rejected: 1, withoutId: 0 });
    await mirror.readAll();
    expect(await figures()).toEqual({ rejected: 0, withoutId: 0 });
  });

  test('counts rows without an id, and no longer once they have one', async () => {
    const { mirror, odd, figures } = await oddMirror(removeId);
    const { order } = firstInbox(mirror.sandbox).conversations;
    for (const id of [1, 15].map((nth) => order[nth]!)) odd.add(id);
    await readFirstPage(mirror);
    expect(await figures()).toEqual({ rejected: 1, withoutId: 1 });
    await mirror.readAll();
    await mirror.readAll();
    expect(await figures()).toEqual({ rejected: 2, withoutId: 2 });
    odd.clear();
    await mirror.readAll();
    expect(await figures()).toEqual({ rejected: 0, withoutId: 0 });
  });

  test('counts the rows of a list of one page none of which has an id', async () => {
    const { mirror, odd, figures } = await oddMirror(removeId, 8);
    for (const id of firstInbox(mirror.sandbox).conversations.order) odd.add(id);
    await readFirstPage(mirror);
    expect(await figures()).toEqual({ rejected: 8, withoutId: 8 });
  });

  test('counts rows without an id that a walk in progress has met', async () => {
    const { mirror, odd, figures } = await oddMirror(removeId);
    odd.add(firstInbox(mirror.sandbox).conversations.order[1]!);
    mirror.sandbox.script(({ path }) =>
      /conversations\?.*next_page/.test(path) ? { status: 401 } : undefined,
    );
    await mirror.sync();
    expect(await figures()).toEqual({ rejected: 1, withoutId: 1 });
  });

  test('counts an unreadable row no longer once the service has deleted it', async () => {
    const { mirror, odd, figures } = await oddMirror(makeUnreadable);
    const { id: inboxId, conversations } = firstInbox(mirror.sandbox);
    // The mirror has never read the second one.
    const ids = [conversations.order[1]!, mirror.sandbox.world.addConversation(inboxId).id];
    for (const id of ids) odd.add(id);
    await mirror.readAll();
    expect(await figures()).toEqual({ rejected: 2, withoutId: 0 });
    removeConversations(mirror, inboxId, ids);
    mirror.clock.advance(HOUR);
    await mirror.readAll();
    expect(await figures()).toEqual({ rejected: 0, withoutId: 0 });
    expect(await count(mirror.database, 'rejects')).toBe(0);
  });

  test('counts a row once that the pages and a walk in progress could not read', async () => {
    const { mirror, odd, figures } = await oddMirror(makeUnreadable);
    odd.add(firstInbox(mirror.sandbox).conversations.order[1]!);
    await mirror.readAll();
    mirror.sandbox.script(({ path }) =>
      /conversations\?.*next_page/.test(path) ? { status: 401 } : undefined,
    );
    await mirror.sync();
    expect(await count(mirror.database, 'rejects')).toBe(2);
    expect(await figures()).toEqual({ rejected: 1, withoutId: 0 });
  });

  test('does not count rows that could not be read as probably current', async () => {
    const { mirror, odd } = await oddMirror(makeUnreadable);
    const current = async (): Promise<number> =>
      (
        await readOutlook(mirror.writer, {
          budget: { perDay: 5000, reserved: 250, perSecond: 1, pageSize: 10 },
          stretches: false,
          cron: cronOf('0 3 * * *', 'UTC'),
          timezone: 'UTC',
          now: mirror.clock.now(),
        })
      ).current;
    expect(await current()).toBeGreaterThan(0.99);
    for (const id of firstInbox(mirror.sandbox).conversations.order.slice(1, 6)) odd.add(id);
    await mirror.readAll();
    const share = await current();
    expect(share).toBeLessThanOrEqual(0.8);
    expect(share).toBeGreaterThan(0.78);
  });
});

describe('the warnings of single pages', () => {
  const KINDS = new Set(['unreadable', 'without-id', 'lacking']);
  const warnings = ({ events }: PageMirror): unknown[] =>
    events
      .filter(({ kind }) => KINDS.has(kind))
      .map((event) => {
        const { key: _key, ...rest } = event as typeof event & { key: unknown };
        return rest;
      });

  test.each([
    ['unreadable rows', makeUnreadable, [{ kind: 'unreadable', rows: 2 }]],
    [
      'rows without an id',
      removeId,
      [
        { kind: 'unreadable', rows: 2 },
        { kind: 'without-id', rows: 2 },
      ],
    ],
    [
      'rows that lack fields',
      (row: Record<string, unknown>): void => {
        delete row['status'];
        delete row['tag_ids'];
      },
      [
        { kind: 'lacking', field: 'status', rows: 2 },
        { kind: 'lacking', field: 'tag_ids', rows: 2 },
      ],
    ],
  ] as const)('name %s once for each list and round', async (_name, change, expected) => {
    const { mirror, odd } = await oddMirror(change);
    const { id: inboxId, conversations } = firstInbox(mirror.sandbox);
    for (const id of [1, 2, 15].map((nth) => conversations.order[nth]!)) odd.add(id);
    const oddRows = new OddRows();
    const readRound = async (): Promise<void> => {
      mirror.clock.advance(HOUR);
      for (const page of await mirror.bookmarks()) await mirror.readPage(page, { oddRows });
    };
    mirror.clock.advance(HOUR);
    const slot = new Date(mirror.clock.now());
    await readRound();
    await readRound();
    expect(warnings(mirror)).toEqual(expected);
    expect(await mirror.writer.bookmarks.completeRound(inboxId, slot)).toBe(true);
    await readRound();
    expect(warnings(mirror)).toEqual([...expected, ...expected]);
  });
});
