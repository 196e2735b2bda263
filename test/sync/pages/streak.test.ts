import { expect, test, vi } from 'vitest';
import type { PageCall } from '../../../src/sync/deps.ts';
import type { MirrorOptions, TestMirror } from '../../support/mirror.ts';
import { firstInbox } from '../../support/rows.ts';
import { quickMirror } from '../../support/template.ts';

const REFUSED = { status: 400, body: '{"errors":[{"message":"invalid next_page"}]}' };

/**
 * A mirror of one list that has grown since it was complete. Two walks have met a refused page token at their
 * sixth page; the third one, which must not pause, was stopped after `stopAt` pages.
 */
async function grown(
  { from, to, stopAt }: Record<'from' | 'to' | 'stopAt', number>,
  options: MirrorOptions,
): Promise<TestMirror> {
  const mirror = await quickMirror({ ...options, sandbox: { conversations: [from] } });
  const { sandbox } = mirror;
  await mirror.sync();
  for (let rows = from; rows < to; rows += 1) sandbox.world.addConversation(firstInbox(sandbox).id);
  const stop = new AbortController();
  let [walks, pages] = [0, 0];
  sandbox.script(({ path }) => {
    if (!path.includes('/conversations?')) return undefined;
    if (!path.includes('next_page')) [walks, pages] = [walks + 1, 0];
    pages += 1;
    if (walks > 2 && pages === stopAt) stop.abort();
    return walks <= 2 && pages === 6 ? REFUSED : undefined;
  });
  await mirror.sync({}, stop.signal);
  return mirror;
}

/** How many pages the walk takes its list to have when it resumes. */
async function pagesKnown(mirror: TestMirror): Promise<number> {
  const listPage = vi.spyOn(mirror.client, 'listPage');
  await mirror.sync();
  const streaks = listPage.mock.calls.flatMap(([, , call]) => (call as PageCall).streak ?? []);
  expect(streaks.length, 'the walk must not pause').toBeGreaterThan(0);
  return Math.max(...streaks.map(({ known }) => known));
}

test('a list that had one row, and has many, is not taken for a list with a row a page', async () => {
  const mirror = await grown({ from: 1, to: 60, stopAt: 4 }, { pageSize: 10 });
  expect(await pagesKnown(mirror)).toBeLessThan(10);
});

test('the pages of a grown list are counted by the rows that the service gives, not by those asked for', async () => {
  const wrapHttp: MirrorOptions['wrapHttp'] = (http) => ({
    ...http,
    get: async (path, query) =>
      await http.get(path, path.endsWith('/conversations') ? { ...query, limit: '10' } : query),
  });
  const mirror = await grown({ from: 40, to: 140, stopAt: 13 }, { pageSize: 100, wrapHttp });
  expect(await pagesKnown(mirror)).toBeGreaterThanOrEqual(10);
});
