import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/core/clock.ts';
import type { StoredBookmark } from '../../../src/mirror/bookmarks/bookmarks.ts';
import { isBeyond } from '../../../src/mirror/bookmarks/order.ts';
import type { SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { happening, type Happening, Happenings } from '../../support/happenings.ts';
import { histories } from '../../support/histories.ts';
import { GONE_AFTER_MS } from '../../support/mirror.ts';
import { expectChain, pageMirror, type PageMirror } from '../../support/page-mirror.ts';
import { ON_SQLITE } from '../../support/provider.ts';
import { syncSettled } from '../../support/settle.ts';
import { expectEqualToService, wrongTombstones } from '../../support/truth.ts';

/** Six properties: together 2,000 histories on each database in the soak. */
const HISTORIES = ON_SQLITE ? histories(3, 500) : histories(1, 340);
const UNFIT_HISTORIES = ON_SQLITE ? histories(2, 250) : histories(1, 340);

/** The bookmarks of each list divide it without a gap: one at its start, then in order. */
function expectTiles(bookmarks: readonly StoredBookmark[]): void {
  for (const list of Map.groupBy(bookmarks, ({ inboxId }) => inboxId).values()) {
    expect(list[0]?.afterId).toBe('');
    for (const [index, { afterId, direction, token }] of list.entries()) {
      const before = list[index - 1]?.afterId;
      expect(token === null).toBe(index === 0);
      if (before !== undefined && before !== '') expect(isBeyond(direction, afterId, before)).toBe(true);
    }
  }
}

const ROW_KINDS = new Set(['status', 'assign', 'unassign', 'add', 'remove', 'return', 'tag', 'untag']);

type Step =
  | { readonly kind: 'happen'; readonly happening: Happening }
  | { readonly kind: 'read'; readonly nth: number; readonly minutes: number }
  | { readonly kind: 'sync'; readonly minutes: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: happening
      .filter(({ kind }) => ROW_KINDS.has(kind))
      .map((one) => ({ kind: 'happen' as const, happening: one })),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      nth: fc.nat(20),
      minutes: fc.constantFrom(1, 3, 15, 90),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('sync' as const), minutes: fc.constantFrom(1, 15, 90) }),
  },
);

/** Takes each step, and checks after each that no row got a wrong tombstone. @returns suspects asked for */
async function live(mirror: PageMirror, steps: readonly Step[]): Promise<void> {
  const life = new Happenings(mirror.sandbox.world);
  let before: string[] = [];
  for (const one of steps) {
    if (one.kind === 'happen') life.make(one.happening);
    else {
      mirror.clock.advance(one.minutes * MINUTE);
      const bookmarks = await mirror.bookmarks();
      const bookmark = one.kind === 'read' ? bookmarks[one.nth % Math.max(1, bookmarks.length)] : undefined;
      if (bookmark === undefined) await mirror.sync();
      else await mirror.readPage(bookmark);
      expectTiles(await mirror.bookmarks());
    }
    const wrong = await wrongTombstones(mirror);
    // A row that returns after a rightful tombstone has it until it is read again.
    if (one.kind !== 'happen') expect(wrong.filter((row) => !before.includes(row))).toEqual([]);
    before = wrong;
  }
}

for (const listOrder of ['asc', 'desc'] as const)
  test(
    `pages read singly, in any order, keep the mirror equal to a service whose ids are in order (${listOrder})`,
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.nat(1000),
          fc.array(step, { minLength: 5, maxLength: 40 }),
          async (seed, steps) => {
            const mirror = await pageMirror({ seed, listOrder });
            await live(mirror, steps);
            // For six hours after a row returns that the service did not know, no 404 deletes a row.
            mirror.clock.advance(7 * HOUR);
            await mirror.readAll();
            await mirror.readAll();
            if ((await mirror.writer.bookmarks.lost()).length > 0) await syncSettled(mirror);
            await expectEqualToService(mirror);
            await expectChain(mirror);
            await mirror.database.close();
          },
        ),
        HISTORIES.parameters,
      );
    },
    HISTORIES.timeoutMs,
  );

const UNFIT: readonly Partial<SandboxOptions>[] = [
  { pageTokens: 'positions' },
  { pageTokens: 'positions', listOrder: 'desc' },
  { listOrder: 'mixed' },
  { tokenLifeMs: 20 * MINUTE },
];

for (const options of UNFIT)
  test(
    `single pages delete nothing wrongly where pages cannot be read again: ${JSON.stringify(options)}`,
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.nat(1000),
          fc.array(step, { minLength: 5, maxLength: 40 }),
          async (seed, steps) => {
            const mirror = await pageMirror({ seed, ...options });
            await live(mirror, steps);
            await syncSettled(mirror);
            mirror.clock.advance(GONE_AFTER_MS);
            await syncSettled(mirror);
            await expectEqualToService(mirror);
            await expectChain(mirror);
            await mirror.database.close();
          },
        ),
        UNFIT_HISTORIES.parameters,
      );
    },
    UNFIT_HISTORIES.timeoutMs,
  );
