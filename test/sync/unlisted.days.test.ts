import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { iso } from '../../src/database/instants.ts';
import { sized } from '../support/histories.ts';
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
import { syncedMirror, syncSettled } from '../support/settle.ts';
import { expectEqualToService, wrongTombstones } from '../support/truth.ts';

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

  const questionsIn = ({ sandbox }: TestMirror): number =>
    sandbox.arrivals.filter(({ path }) => /\/conversations\/\d+$/.test(path)).length;

  test('are soon asked for twice a day only, five at a time', async () => {
    const { mirror } = await mirrorThatLacks30();
    const { clock } = mirror;
    for (let hour = 0; hour < 48; hour += 1) {
      await mirror.sync();
      clock.advance(HOUR);
    }
    const before = questionsIn(mirror);
    for (let hour = 0; hour < 48; hour += 1) {
      const asked = questionsIn(mirror);
      await mirror.sync();
      expect(questionsIn(mirror) - asked).toBeLessThanOrEqual(5);
      clock.advance(HOUR);
    }
    expect(questionsIn(mirror) - before).toBeGreaterThan(30 * 3);
    expect(questionsIn(mirror) - before).toBeLessThanOrEqual(30 * 4);
  });

  test('cost 100 questions a day however many they are', async () => {
    const mirror = await syncedMirror(300);
    const { clock, database, sandbox } = mirror;
    const inbox = firstInbox(sandbox);
    for (const id of firstIds(inbox.conversations, 200, 50)) {
      sandbox.world.unlistConversation(inbox.id, id);
      await database.execute(
        `INSERT INTO unlisted (list, inbox_id, item_id, since, returned_at) VALUES ('conversations', $1, $2, $3, $4)`,
        inbox.id,
        id,
        iso(clock.now() - 30 * DAY),
        iso(clock.now() - 5 * DAY),
      );
    }
    for (let half = 0; half < sized(48, 96); half += 1) {
      await mirror.sync();
      clock.advance(HOUR / 2);
    }
    const before = questionsIn(mirror);
    for (let half = 0; half < 96; half += 1) {
      await mirror.sync();
      clock.advance(HOUR / 2);
    }
    expect(questionsIn(mirror) - before).toBeGreaterThan(150);
    expect(questionsIn(mirror) - before).toBeLessThanOrEqual(205);
    expect(await count(database, 'unlisted')).toBe(200);
  });

  test('are deleted within minutes if the service forgets them a little later than its list', async () => {
    const mirror = await syncedMirror(20);
    const inbox = firstInbox(mirror.sandbox);
    const [id] = firstIds(inbox.conversations, 1, 5);
    mirror.sandbox.world.unlistConversation(inbox.id, id!);
    await mirror.sync();
    removeConversations(mirror, inbox.id, [id!]);
    for (const expected of [[], [id]]) {
      mirror.clock.advance(11 * MINUTE);
      await mirror.sync();
      expect(await deleted(mirror)).toEqual(expected);
    }
  });

  test('are not deleted because the service does not know them for a moment', async () => {
    const mirror = await syncedMirror(40);
    const { clock, database, sandbox } = mirror;
    const inbox = firstInbox(sandbox);
    const ids = firstIds(inbox.conversations, 3, 10);
    for (const id of ids) sandbox.world.unlistConversation(inbox.id, id);
    await mirror.sync();
    clock.advance(HOUR);
    sandbox.script(({ path }) =>
      ids.some((id) => path.endsWith(`/conversations/${id}`)) ? { status: 404 } : undefined,
    );
    await mirror.sync();
    expect(await count(database, 'conversations WHERE missing_since IS NOT NULL')).toBe(3);
    sandbox.script(undefined);
    clock.advance(HOUR);
    await mirror.sync();
    expect(await deleted(mirror)).toEqual([]);
    expect(await count(database, 'conversations WHERE missing_since IS NOT NULL')).toBe(0);
    expect(await count(database, 'unlisted')).toBe(3);
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

  test('are asked for as seldom while the service refuses the question', async () => {
    const { mirror, lacked } = await mirrorThatLacks30();
    for (let hour = 0; hour < 24; hour += 1) {
      await mirror.sync();
      mirror.clock.advance(HOUR);
    }
    const before = questionsIn(mirror);
    mirror.sandbox.script(({ path }) =>
      lacked.some((id) => path.endsWith(`/conversations/${id}`)) ? { status: 403 } : undefined,
    );
    for (let hour = 0; hour < 48; hour += 1) {
      await mirror.sync();
      mirror.clock.advance(HOUR);
    }
    expect(questionsIn(mirror) - before).toBeGreaterThan(30 * 3);
    expect(questionsIn(mirror) - before).toBeLessThanOrEqual(30 * 5);
    expect(await deleted(mirror)).toHaveLength(3);
  });

  test('are no suspects because their questions fail', async () => {
    const { mirror } = await mirrorThatLacks30();
    const suspects = async (): Promise<number> =>
      await count(mirror.database, 'conversations WHERE deleted_at IS NULL AND missing_since IS NOT NULL');
    for (let hour = 0; hour < 28; hour += 1) {
      if (hour === 4)
        mirror.sandbox.script(({ path }) => (/\/\d+$/.test(path) ? { status: 400 } : undefined));
      await mirror.sync({ lists: ['conversations'] });
      mirror.clock.advance(HOUR);
      if (hour > 3) expect(await suspects()).toBe(0);
    }
    expect(await count(mirror.database, 'unlisted')).toBe(30);
  });

  test('of a deleted inbox do not count', async () => {
    const mirror = await syncedMirror(20, { sandbox: { conversations: [20, 20] } });
    const { id, conversations } = firstInbox(mirror.sandbox);
    for (const one of firstIds(conversations, 3)) mirror.sandbox.world.unlistConversation(id, one);
    await mirror.sync();
    expect(await mirror.writer.suspects.countUnlisted()).toBe(3);
    mirror.sandbox.world.removeInbox(id);
    await syncSettled(mirror);
    expect(await mirror.writer.suspects.countUnlisted()).toBe(0);
    mirror.sandbox.world.restoreInbox(id);
    await syncSettled(mirror);
    expect(await mirror.writer.suspects.countUnlisted()).toBe(3);
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

test('a row whose question always fails keeps none of the others from being deleted', async () => {
  const mirror = await syncedMirror(20);
  const { sandbox } = mirror;
  const inbox = firstInbox(sandbox);
  const [failing, ...gone] = firstIds(inbox.conversations, 4, 5);
  sandbox.world.unlistConversation(inbox.id, failing!);
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
