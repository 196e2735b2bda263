import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { BrakeModel } from '../support/brake-model.ts';
import { datedService } from '../support/dated-service.ts';
import { histories } from '../support/histories.ts';
import type { TestMirror } from '../support/mirror.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { firstIds, removeConversations } from '../support/rows.ts';
import { syncSettled } from '../support/settle.ts';
import { quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const HISTORIES = histories(ON_SQLITE ? 5 : 1, 300);

const hours = fc.constantFrom(-400 * 24, -30, -3, 3, 30, 400 * 24);

/** One step of a history. The numbers select an inbox among those that exist. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('remove'),
      inbox: fc.nat(5),
      many: fc.integer({ min: 1, max: 15 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove-inbox'), inbox: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('return-inbox') }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('sync'), minutes: fc.constantFrom(1, 90, 600) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('read-pages'), inbox: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('consent') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('set-clock'), hours }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('boot'), hours }) },
);

async function mirrorOfInboxes(): Promise<TestMirror> {
  const sandbox = { conversations: [60, 12, 12, 8, 8], usersPerInbox: 3, tagsPerInbox: 3 };
  return await quickMirror({ ...datedService(), pageSize: 50, sandbox });
}

function happen(
  mirror: TestMirror,
  one: { kind: string; inbox?: number; many?: number },
  gone: string[],
): void {
  const { world } = mirror.sandbox;
  const inboxes = [...world.inboxes.values()];
  const inbox = inboxes[(one.inbox ?? 0) % inboxes.length];
  const last = one.kind === 'return-inbox' ? gone.pop() : undefined;
  if (last !== undefined) world.restoreInbox(last);
  if (inbox === undefined) return;
  if (one.kind === 'remove')
    removeConversations(
      mirror,
      inbox.id,
      firstIds(inbox.conversations, Math.min(one.many ?? 1, inbox.conversations.order.length)),
    );
  // The mirror keeps an inbox by which it knows its account.
  if (one.kind === 'remove-inbox' && inboxes.length > 3) {
    world.removeInbox(inbox.id);
    gone.push(inbox.id);
  }
}

/** Reads the pages of an inbox singly, as the daemon does. */
async function readPages(mirror: TestMirror, { inbox: nth = 0 }: { inbox?: number }): Promise<void> {
  const lists = [...(await mirror.writer.bookmarks.all()).values()];
  for (const bookmark of lists[nth % Math.max(1, lists.length)] ?? [])
    await mirror.readPage(bookmark).catch(() => undefined);
}

test(
  'whatever goes and however the clock is set, no day deletes more than a tenth of a kind without a person',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (history) => {
        const mirror = await mirrorOfInboxes();
        const { clock } = mirror;
        const model = new BrakeModel(mirror);
        const gone: string[] = [];
        await mirror.sync();
        for (const one of history) {
          if (one.kind === 'set-clock') clock.setWall(one.hours * HOUR);
          else if (one.kind === 'boot') clock.reboot(MINUTE, one.hours * HOUR);
          else if (one.kind === 'sync') {
            clock.advance(one.minutes * MINUTE);
            expect((await mirror.sync()).stopped).toBeNull();
          } else if (one.kind === 'consent') {
            expect((await mirror.sync({ kind: 'resync', acceptDeletes: true })).stopped).toBeNull();
          } else if (one.kind === 'read-pages') await readPages(mirror, one);
          else happen(mirror, one, gone);
          await model.observe(one.kind === 'consent');
        }
        for (let day = 0; day < 3; day += 1) {
          clock.advance(25 * HOUR);
          expect((await syncSettled(mirror)).stopped).toBeNull();
        }
        await expectEqualToService(mirror);
        await mirror.database.close();
      }),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);
