import { expect } from 'vitest';
import { MINUTE } from '../../src/core/clock.ts';
import type { StoredBookmark } from '../../src/mirror/bookmarks/bookmarks.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { Http } from '../../src/service/http.ts';
import { TestClock } from './clock.ts';
import { memoryService, type TestMirror } from './mirror.ts';
import { quickMirror } from './template.ts';

const SMALL = { idType: 'string', usersPerInbox: 2, tagsPerInbox: 3, sharedShare: 0 } as const;

/** When each conversation was seen, by inbox and id: epoch ms, in order. */
type Sightings = Map<string, number[]>;

export interface PageMirror extends TestMirror {
  readonly sightings: Sightings;
  readonly bookmarks: () => Promise<StoredBookmark[]>;
  /** Reads every page until each was read after this moment. */
  readonly readAll: () => Promise<void>;
}

/** A mirror after its first sync, whose lists have pages of ten rows. */
export async function pageMirror(
  sandbox: Partial<SandboxOptions> = {},
  conversations: number[] = [43, 12],
  wrapHttp?: (http: Http) => Http,
): Promise<PageMirror> {
  const clock = new TestClock();
  const service = memoryService({ ...SMALL, conversations, ...sandbox }, clock);
  const mirror = await quickMirror({
    pageSize: 10,
    clock,
    service,
    ...(wrapHttp === undefined ? {} : { wrapHttp }),
  });
  const { writer } = mirror;
  const sightings = watchSightings(mirror);
  await mirror.sync();
  const bookmarks = async (): Promise<StoredBookmark[]> =>
    [...(await writer.bookmarks.all()).values()].flat();
  const readAll = async (): Promise<void> => {
    clock.advance(MINUTE);
    const since = clock.now();
    for (let left = 100; left > 0; left -= 1) {
      const oldest = (await bookmarks()).toSorted((a, b) => a.readAt - b.readAt)[0];
      if (oldest === undefined || oldest.readAt >= since) return;
      await mirror.readPage(oldest);
    }
    throw new Error('the pages are never all read');
  };
  return { ...mirror, sightings, bookmarks, readAll };
}

/** Notes each row that a page or an answer for a suspect brings. */
function watchSightings({ writer, clock }: TestMirror): Sightings {
  const seen: Sightings = new Map();
  const note = (inboxId: string | null, ids: readonly string[]): void => {
    for (const id of ids)
      seen.set(`${inboxId}/${id}`, [...(seen.get(`${inboxId}/${id}`) ?? []), clock.now()]);
  };
  const applyPage = writer.applyPage.bind(writer);
  writer.applyPage = async (sweep, page, now) => {
    if (sweep.list === 'conversations')
      note(
        sweep.inboxId,
        page.items.map(({ id }) => id),
      );
    return await applyPage(sweep, page, now);
  };
  const apply = writer.bookmarks.apply.bind(writer.bookmarks);
  writer.bookmarks.apply = async (bookmark, page, now) => {
    note(
      bookmark.inboxId,
      page.items.map(({ id }) => id),
    );
    return await apply(bookmark, page, now);
  };
  const settle = writer.suspects.settle.bind(writer.suspects);
  writer.suspects.settle = async (sweep, suspect, answer) => {
    if (answer.found !== null) note(sweep.inboxId, [answer.found.id]);
    return await settle(sweep, suspect, answer);
  };
  return seen;
}

/** Every change names the row's last sighting before it, and continues from the value before. */
export async function expectChain({ database, sightings }: PageMirror): Promise<void> {
  const changes = await database.query<{
    inbox_id: string;
    item_id: string;
    field: string;
    old_value: string | null;
    new_value: string | null;
    observed_at: Date;
    previously_seen_at: Date | null;
  }>(`SELECT * FROM changes WHERE list = 'conversations' ORDER BY id`);
  const last = new Map<string, string | null>();
  for (const change of changes) {
    const row = `${change.inbox_id}/${change.item_id}`;
    const column = `${row}/${change.field}`;
    const observed = change.observed_at.getTime();
    if (change.field === 'tags') continue;
    if (last.has(column))
      expect({ column, old: change.old_value }).toEqual({ column, old: last.get(column) });
    last.set(column, change.new_value);
    if (change.field === 'presence' && change.new_value === 'present') continue;
    const before = sightings.get(row)?.findLast((at) => at < observed);
    expect({ column, observed, seen: change.previously_seen_at?.getTime() }).toEqual({
      column,
      observed,
      seen: before,
    });
  }
}
