import { expect, test, vi } from 'vitest';
import type { PageCall } from '../../../src/sync/deps.ts';
import { firstInbox } from '../../support/rows.ts';
import { quickMirror } from '../../support/template.ts';

const REFUSED = { status: 400, body: '{"errors":[{"message":"invalid next_page"}]}' };

test('a list that had one row, and has many, is not taken for a list with a row a page', async () => {
  const mirror = await quickMirror({ pageSize: 10, sandbox: { conversations: [1] } });
  const { sandbox, client } = mirror;
  await mirror.sync();
  for (let nth = 1; nth < 60; nth += 1) sandbox.world.addConversation(firstInbox(sandbox).id);
  const stop = new AbortController();
  let [walks, pages] = [0, 0];
  sandbox.script(({ path }) => {
    if (!path.includes('/conversations?')) return undefined;
    if (!path.includes('next_page')) [walks, pages] = [walks + 1, 0];
    pages += 1;
    if (walks > 2 && pages === 4) stop.abort();
    return walks <= 2 && pages === 6 ? REFUSED : undefined;
  });
  await mirror.sync({}, stop.signal);
  const listPage = vi.spyOn(client, 'listPage');

  await mirror.sync();

  const rows = listPage.mock.calls.flatMap(([, , call]) => (call as PageCall).inARow ?? []);
  expect(rows.length, 'the walk must not pause').toBeGreaterThan(0);
  expect(Math.max(...rows.map(({ known }) => known))).toBeLessThan(10);
});
