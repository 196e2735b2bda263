import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isMirrorError } from '../../src/core/errors.ts';
import type { Database } from '../../src/database/database.ts';
import { iso } from '../../src/database/instants.ts';
import { type Cursor, readCursor } from '../../src/mirror/history/cursor.ts';
import { History } from '../../src/mirror/history/read.ts';
import { writeChanges } from '../../src/mirror/history/write.ts';
import { fencedBy } from '../../src/mirror/lease.ts';
import { histories } from '../support/histories.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { backUp, restore } from '../support/restore.ts';
import { freshMirrorFile } from '../support/template.ts';

const HISTORIES = histories(ON_SQLITE ? 10 : 4, ON_SQLITE ? 600 : 100);
const AT = iso(Date.parse('2026-03-02T08:00:00Z'));
const START: Cursor = { id: 0, epoch: null };

/** One holder of the lease after another. Each change has a text of its own. */
function feedOf(database: Database) {
  let texts = 0;
  const takeOver = () =>
    fencedBy({ holder: 'a test', renew: async () => undefined, release: async () => undefined }, database);
  let writer = takeOver();
  const history = new History(database);
  return {
    history,
    takeOver: () => (writer = takeOver()),
    async write(changes: number): Promise<void> {
      const written = Array.from({ length: changes }, () => ({
        itemId: '1',
        field: 'status',
        from: null,
        to: `text ${(texts += 1)}`,
        previouslySeenAt: null,
      }));
      await writer.write((tx) =>
        writeChanges(tx, database.dialect, { list: 'tags', inboxId: '1' }, written, {
          sweepId: 1,
          observedAt: AT,
        }),
      );
    },
    all: () => history.after(START, {}, 1000),
  };
}

const cursorOf = (text: string | undefined): Cursor => readCursor(text ?? '') ?? START;

async function codeAfter(history: History, after: Cursor): Promise<string | null> {
  const error: unknown = await history.after(after, {}, 1000).then(
    () => null,
    (refused: unknown) => refused,
  );
  if (error === null) return null;
  if (isMirrorError(error)) return error.code;
  throw error;
}

test('after a restored backup, a cursor of a lost change is refused even when its id is used again', async () => {
  const database = await temporaryDatabase(await freshMirrorFile());
  const { history, write, all, takeOver } = feedOf(database);
  await write(40);
  const backup = await backUp(database);
  await write(20);
  const before = await all();
  const [kept, lost] = [cursorOf(before[39]?.cursor), cursorOf(before[44]?.cursor)];
  await restore(database, backup);
  takeOver();

  expect(await codeAfter(history, lost)).toBe('CURSOR_AHEAD');
  await write(10);
  expect(await codeAfter(history, lost)).toBe('OTHER_EPOCH');
  await expect(history.after(lost, {}, 10)).rejects.toThrow(
    new RegExp(`read on after 50-[0-9a-f]{12}; or read the changes after 40-${kept.epoch ?? ''} again`),
  );
  expect((await history.after(kept, {}, 100)).map(({ id }) => id)).toEqual(
    Array.from({ length: 10 }, (_none, index) => 41 + index),
  );
  // A plain id names no change in particular.
  expect(await history.after({ id: lost.id, epoch: null }, {}, 100)).toHaveLength(5);
});

test('a writer that continues after a restore beneath it begins an epoch at its next change', async () => {
  const database = await temporaryDatabase(await freshMirrorFile());
  const { history, write, all } = feedOf(database);
  await write(3);
  const backup = await backUp(database);
  await write(2);
  const lost = cursorOf((await all())[4]?.cursor);
  await restore(database, backup);
  await write(4);
  expect(await codeAfter(history, lost)).toBe('OTHER_EPOCH');
});

test('changes that follow one another keep their epoch, and a take-over invalidates no cursor', async () => {
  const database = await temporaryDatabase(await freshMirrorFile());
  const { history, write, all, takeOver } = feedOf(database);
  await write(2);
  await write(2);
  expect(new Set((await all()).map(({ cursor }) => cursorOf(cursor).epoch)).size).toBe(1);
  takeOver();
  await write(1);
  takeOver();
  const changes = await all();
  for (const [index, { cursor }] of changes.entries())
    expect(await history.after(cursorOf(cursor), {}, 1000)).toEqual(changes.slice(index + 1));
});

test('changes of a mirror that had no epochs have plain cursors, which stay valid', async () => {
  const database = await temporaryDatabase(await freshMirrorFile());
  const { history, write, all } = feedOf(database);
  await write(3);
  await database.execute('DELETE FROM epochs');
  expect((await all()).map(({ cursor }) => cursor)).toEqual(['1', '2', '3']);
  await write(1);
  expect(await history.after(cursorOf('2'), {}, 10)).toHaveLength(2);
  expect(await codeAfter(history, { id: 2, epoch: 'a1b2c3d4e5f6' })).toBe('OTHER_EPOCH');
});

type Step =
  | { readonly kind: 'write'; readonly changes: number }
  | { readonly kind: 'backUp' | 'takeOver' }
  | { readonly kind: 'restore'; readonly nth: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('write' as const), changes: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('backUp' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('takeOver' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('restore' as const), nth: fc.nat({ max: 5 }) }),
  },
);

test(
  'whatever is backed up and restored, a cursor gets exactly what followed its change, or is refused',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        const database = await temporaryDatabase(await freshMirrorFile());
        const { history, write, all, takeOver } = feedOf(database);
        const backups = [await backUp(database)];
        const consumers: { cursor: Cursor; seen: (string | null)[] }[] = [];
        const textsOf = async () => (await all()).map(({ newValue }) => newValue);
        for (const now of steps) {
          if (now.kind === 'write') await write(now.changes);
          if (now.kind === 'takeOver') takeOver();
          if (now.kind === 'backUp') backups.push(await backUp(database));
          if (now.kind === 'restore') await restore(database, backups[now.nth % backups.length]!);
          consumers.push({ cursor: await history.newestCursor(), seen: await textsOf() });
          const present = await textsOf();
          for (const { cursor, seen } of consumers) {
            const isCommon = seen.every((text, index) => present[index] === text);
            const code = await codeAfter(history, cursor);
            expect({ cursor, refused: code !== null }).toEqual({ cursor, refused: !isCommon });
          }
        }
        await database.close();
      }),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);
