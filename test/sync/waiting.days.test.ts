import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { sized, someOf } from '../support/histories.ts';
import type { TestMirror } from '../support/mirror.ts';
import { count, firstIds, firstInbox, removeConversations } from '../support/rows.ts';
import { syncedMirror } from '../support/settle.ts';

/** Answers that show neither that a conversation is there nor that it is gone. */
const UNDECIDED = {
  '403': { status: 403 },
  '400': { status: 400 },
  'another conversation': {
    status: 200,
    body: '{"data":{"id":"1","status":"open","assignee":null,"tag_ids":[]}}',
  },
} as const;
const KINDS = Object.keys(UNDECIDED) as (keyof typeof UNDECIDED)[];

/** Leaves conversations out of their list, and answers each question for one alike. @returns a counter */
function hide(mirror: TestMirror, ids: readonly string[], kind: keyof typeof UNDECIDED): () => number {
  const { sandbox } = mirror;
  const inbox = firstInbox(sandbox);
  for (const id of ids) sandbox.world.unlistConversation(inbox.id, id);
  let asked = 0;
  sandbox.script(({ path }) => {
    if (!ids.some((id) => path.endsWith(`/conversations/${id}`))) return undefined;
    asked += 1;
    return UNDECIDED[kind];
  });
  return () => asked;
}

const deleted = async ({ database }: TestMirror): Promise<number> =>
  await count(database, 'conversations WHERE deleted_at IS NOT NULL');

describe('conversations that wait for an answer that decides', () => {
  test('are asked for ever more seldom, and at last every 20 hours', async () => {
    const mirror = await syncedMirror(20);
    const questions = hide(mirror, firstIds(firstInbox(mirror.sandbox).conversations, 1, 5), '403');
    const perDay: number[] = [];
    for (let day = 0; day < 4; day += 1) {
      const before = questions();
      for (let hour = 0; hour < 24; hour += 1) {
        await mirror.sync({ lists: ['conversations'] });
        mirror.clock.advance(HOUR);
      }
      perDay.push(questions() - before);
    }
    // At once, in the next sync, each time the wait has doubled, and at last every 20 hours.
    expect(perDay).toEqual([5, 1, 2, 1]);
    await mirror.sync({ kind: 'resync' });
    expect(questions(), 'a resync asks at once').toBe(10);
    expect(await deleted(mirror)).toBe(0);
  });

  test('are not asked for in a sweep in which the service knows no row by its id', async () => {
    const mirror = await syncedMirror(40);
    const inbox = firstInbox(mirror.sandbox);
    const waiting = firstIds(inbox.conversations, 5);
    hide(mirror, waiting, '403');
    await mirror.sync({ lists: ['conversations'] });
    mirror.clock.advance(DAY);
    const fresh = firstIds(inbox.conversations, 1, 20);
    removeConversations(mirror, inbox.id, fresh);
    const asked = new Set<string>();
    mirror.sandbox.script(({ path }) => {
      const [, id] = /conversations\/(\d+)$/.exec(path) ?? [];
      if (id === undefined) return undefined;
      asked.add(id);
      return { status: 404 };
    });
    await mirror.sync({ lists: ['conversations'] });
    expect(waiting.filter((id) => asked.has(id))).toEqual([]);
    expect(asked).toContain(fresh[0]);
    hide(mirror, waiting, '403');
    mirror.clock.advance(DAY);
    await mirror.sync({ lists: ['conversations'] });
    expect(await deleted(mirror)).toBe(1);
  });

  test.each(KINDS)('hold up no other deletion, however many they are: %s', async (kind) => {
    const mirror = await syncedMirror(400);
    const inbox = firstInbox(mirror.sandbox);
    hide(mirror, firstIds(inbox.conversations, 25, 100), kind);
    await mirror.sync();
    mirror.clock.advance(HOUR);
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 3, 200));
    for (let hour = 0; hour < 4; hour += 1) {
      await mirror.sync();
      mirror.clock.advance(HOUR);
    }
    expect(await deleted(mirror)).toBe(3);
  });

  const DAILY = [
    { many: 60, kind: '403' },
    { many: 10, kind: 'another conversation' },
    { many: 10, kind: '400' },
    { many: 60, kind: '400' },
    { many: 70, kind: 'another conversation' },
  ] as const;

  test.each(someOf(DAILY, 2))(
    'hold up no other deletion that a daily sync finds: $many with $kind',
    async ({ many, kind }) => {
      const mirror = await syncedMirror(750);
      const inbox = firstInbox(mirror.sandbox);
      hide(mirror, firstIds(inbox.conversations, many, 100), kind);
      for (let day = 0; day < 3; day += 1) {
        await mirror.sync();
        mirror.clock.advance(DAY);
      }
      removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 3, 200));
      // With more than 20 in all they are a batch, which takes a second sweep.
      for (let day = 0; day < (many < 20 ? 1 : 2); day += 1) {
        await mirror.sync();
        mirror.clock.advance(DAY);
      }
      expect(await deleted(mirror)).toBe(3);
    },
  );

  test.each([
    { many: 2, gone: 1, every: DAY },
    { many: 2, gone: 5, every: HOUR },
    { many: 5, gone: 40, every: DAY },
    { many: 60, gone: 5, every: HOUR },
  ])('hold up no deletion of the same time: $many, and $gone deletions', async ({ many, gone, every }) => {
    const mirror = await syncedMirror(700);
    const inbox = firstInbox(mirror.sandbox);
    hide(mirror, firstIds(inbox.conversations, many, 100), '400');
    removeConversations(mirror, inbox.id, firstIds(inbox.conversations, gone, 200));
    for (let sweep = 0; sweep < 30 && (await deleted(mirror)) < gone; sweep += 1) {
      await mirror.sync();
      mirror.clock.advance(every);
    }
    expect(await deleted(mirror)).toBe(gone);
  });

  const OFTEN = [
    { every: HOUR, perSweep: 40 },
    { every: DAY, perSweep: 45 },
  ];

  test.each(someOf(OFTEN, 1))(
    'hold up no deletion of the same time if they are 150: every $every ms',
    async ({ every, perSweep }) => {
      const mirror = await syncedMirror(1700);
      const inbox = firstInbox(mirror.sandbox);
      const questions = hide(mirror, firstIds(inbox.conversations, 150, 100), 'another conversation');
      removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 5, 400));
      for (let sweep = 0; sweep < 12; sweep += 1) {
        await mirror.sync();
        mirror.clock.advance(every);
      }
      expect(questions()).toBeLessThanOrEqual(12 * perSweep);
      expect(await deleted(mirror)).toBe(5);
      removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 3, 600));
      await mirror.sync();
      expect(await deleted(mirror)).toBe(8);
    },
  );

  test.each([
    { many: 40, gone: 0, most: 25 },
    { many: 25, gone: 15, most: 40 },
  ])('are asked for once if the questions end at any one: $many and $gone gone', async (example) => {
    for (let after = 1; after < example.most; after += sized(12, 6)) {
      const mirror = await syncedMirror(500);
      const { sandbox, clock } = mirror;
      const inbox = firstInbox(sandbox);
      const waiting = firstIds(inbox.conversations, example.many, 100);
      for (const id of waiting) sandbox.world.unlistConversation(inbox.id, id);
      removeConversations(mirror, inbox.id, firstIds(inbox.conversations, example.gone, 200));
      const asked: string[] = [];
      let questions = 0;
      let last = Infinity;
      sandbox.script(({ path }) => {
        const id = /conversations\/(\d+)$/.exec(path)?.[1];
        if (id !== undefined) questions += 1;
        if (questions > last) return 'reset';
        if (id === undefined || !waiting.includes(id)) return undefined;
        asked.push(id);
        return UNDECIDED['another conversation'];
      });
      await mirror.sync();
      clock.advance(HOUR);
      questions = 0;
      last = after;
      asked.length = 0;
      expect((await mirror.sync()).stopped).toMatchObject({ code: 'SERVICE_DOWN' });
      last = Infinity;
      expect((await mirror.sync()).stopped).toBeNull();
      expect(new Set(asked).size, 'none is asked for twice').toBe(asked.length);
      clock.advance(HOUR);
      await mirror.sync();
      expect(await deleted(mirror)).toBe(example.gone);
      await mirror.database.close();
    }
  });

  test('are not asked for at each reading of their page', async () => {
    const mirror = await syncedMirror(100);
    const ids = firstIds(firstInbox(mirror.sandbox).conversations, 5, 50);
    const questions = hide(mirror, ids, 'another conversation');
    for (let minute = 0; minute < 180; minute += 1) {
      const [bookmarks] = [...(await mirror.writer.bookmarks.all()).values()];
      await mirror.readPage(bookmarks![0]!);
      mirror.clock.advance(MINUTE);
    }
    expect(questions()).toBeLessThanOrEqual(ids.length * 9);
    expect(questions()).toBeGreaterThanOrEqual(ids.length * 7);
  });

  test('are deleted on the next day if the service no longer knows them', async () => {
    const mirror = await syncedMirror(100);
    const inbox = firstInbox(mirror.sandbox);
    const ids = firstIds(inbox.conversations, 2, 50);
    hide(mirror, ids, '403');
    for (let half = 0; half < 5; half += 1) {
      await mirror.sync();
      mirror.clock.advance(DAY / 2);
    }
    removeConversations(mirror, inbox.id, ids);
    mirror.sandbox.script(undefined);
    mirror.clock.advance(DAY);
    await mirror.sync();
    expect(await deleted(mirror)).toBe(2);
  });
});
