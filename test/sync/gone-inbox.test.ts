import { expect, test } from 'vitest';
import type { Http } from '../../src/service/http.ts';
import { GONE_AFTER_MS, mirrorOf, type TestMirror } from '../support/mirror.ts';
import {
  changesIn,
  count,
  firstIds,
  nthInbox,
  removeConversations,
  reportOn,
  tampered,
} from '../support/rows.ts';
import { expectEqualToService } from '../support/truth.ts';

/** A mirror of two inboxes after its first sync. The second one can go while an answer is on its way. */
interface GoingMirror extends TestMirror {
  readonly inboxId: string;
  /** Gives the second inbox its tombstone once the service has answered a request that fits. */
  readonly goesAt: (path: (path: string) => boolean) => void;
  /** The ids that no list shows. */
  readonly hidden: Set<unknown>;
}

async function goingMirror(conversations: number[]): Promise<GoingMirror> {
  let goes: ((path: string) => boolean) | null = null;
  const hidden = new Set<unknown>();
  const hiding = tampered((page) => (page.results = page.results.filter(({ id }) => !hidden.has(id))));
  const wrapHttp = (http: Http): Http => ({
    close: http.close,
    async get(path, query) {
      const answer = await hiding(http).get(path, query);
      if (goes?.(path) !== true) return answer;
      goes = null;
      await remove();
      return answer;
    },
  });
  const mirror = await mirrorOf({ pageSize: 10, wrapHttp, sandbox: { conversations, idType: 'string' } });
  await mirror.sync();
  const { id: inboxId } = nthInbox(mirror.sandbox, 1);
  const remove = async (): Promise<void> => {
    const { writer, clock } = mirror;
    const sweep = await writer.sweeps.open({ list: 'inboxes', inboxId: null }, 'schedule', clock.now());
    await writer.suspects.condemn(sweep, [{ id: inboxId }], { accepted: false, now: clock.now() });
    await writer.sweeps.complete(sweep, clock.now());
  };
  return { ...mirror, inboxId, hidden, goesAt: (path) => (goes = path) };
}

/** The inbox, and nothing of what it held, was seen to go. */
async function expectCovered({ database, inboxId }: GoingMirror): Promise<void> {
  expect(await changesIn(database)).toEqual([
    expect.objectContaining({ list: 'inboxes', item_id: inboxId, new_value: 'missing' }),
  ]);
  const own = `conversations JOIN inboxes ON inboxes.id = inbox_id
    WHERE inbox_id = $1 AND conversations.deleted_at IS DISTINCT FROM inboxes.deleted_at`;
  expect(await count(database, own, inboxId)).toBe(0);
}

test('a page that arrives after its inbox is gone is not applied, and its sweep stays abandoned', async () => {
  const mirror = await goingMirror([25, 25]);
  const { sandbox, database, inboxId } = mirror;
  const [changed] = firstIds(nthInbox(sandbox, 1).conversations, 1, 7);
  sandbox.world.setStatus(inboxId, changed!, 'paused');
  mirror.goesAt((path) => path === `/inboxes/${inboxId}/conversations`);
  const report = await mirror.sync({ lists: ['conversations'] });
  expect(reportOn(report, 'conversations', inboxId)).toMatchObject({
    outcome: 'failed',
    error: { code: 'SWEEP_ENDED' },
  });
  await expectCovered(mirror);
  expect(
    await database.query(
      `SELECT state, error FROM sweeps WHERE inbox_id = $1 ORDER BY id DESC LIMIT 1`,
      inboxId,
    ),
  ).toEqual([{ state: 'abandoned', error: 'the inbox is gone' }]);
  await mirror.sync();
  await expectEqualToService(mirror);
  expect((await changesIn(database)).map(({ item_id, field }) => [item_id, field])).toEqual([
    [inboxId, 'presence'],
    [inboxId, 'presence'],
    [changed, 'status'],
  ]);
});

test('a single page that arrives after its inbox is gone is not applied', async () => {
  const mirror = await goingMirror([25, 25]);
  const { sandbox, writer, inboxId } = mirror;
  const [bookmark] = (await writer.bookmarks.all(inboxId)).get(inboxId) ?? [];
  const [changed] = firstIds(nthInbox(sandbox, 1).conversations, 1, 7);
  sandbox.world.setStatus(inboxId, changed!, 'paused');
  mirror.goesAt((path) => path === `/inboxes/${inboxId}/conversations`);
  await expect(mirror.readPage(bookmark!)).rejects.toMatchObject({ code: 'SWEEP_ENDED' });
  await expectCovered(mirror);
});

test('an answer for a suspect that arrives after its inbox is gone deletes and revives nothing', async () => {
  for (const isGone of [true, false]) {
    const mirror = await goingMirror([25, 25]);
    const { sandbox, inboxId, hidden } = mirror;
    const [id] = firstIds(nthInbox(sandbox, 1).conversations, 1, 7);
    if (isGone) removeConversations(mirror, inboxId, [id!]);
    else {
      hidden.add(id);
      sandbox.world.setStatus(inboxId, id!, 'paused');
    }
    mirror.goesAt((path) => path.startsWith(`/inboxes/${inboxId}/conversations/`));
    await mirror.sync({ lists: ['conversations'] });
    await expectCovered(mirror);
  }
});

test('a batch of suspects that are judged after their inbox is gone gets no tombstones of its own', async () => {
  const mirror = await goingMirror([300, 60]);
  const { clock, sandbox, inboxId } = mirror;
  removeConversations(mirror, inboxId, firstIds(nthInbox(sandbox, 1).conversations, 22, 10));
  await mirror.sync({ lists: ['conversations'] });
  clock.advance(GONE_AFTER_MS);
  let asked = 0;
  // One suspect, a control question, the suspect again, four others, and the last control question.
  mirror.goesAt((path) => path.startsWith(`/inboxes/${inboxId}/conversations/`) && ++asked === 8);
  await mirror.sync({ lists: ['conversations'] });
  await expectCovered(mirror);
});
