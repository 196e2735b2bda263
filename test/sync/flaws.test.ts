import { expect, test } from 'vitest';
import type { Http } from '../../src/service/http.ts';
import { rawText } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';

const page = (rows: string): string => `{"results":[${rows}],"pagination":{"next_page":null}}`;
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

/** A mirror whose only inbox serves `users` as its users. */
async function mirrorOfUsers(users: string | Buffer) {
  const mirror = await quickMirror({ sandbox: { inboxes: 1, conversations: 0 } });
  mirror.sandbox.script(({ path }) =>
    path.includes('/users')
      ? { status: 200, ...(typeof users === 'string' ? { body: users } : { bytes: users }) }
      : undefined,
  );
  return mirror;
}

test('a row with bytes that are not UTF-8 is a reject, and every other row of its page is applied', async () => {
  // The second name has the single byte of Latin-1, the third a replacement character that is meant.
  const text = page(
    '{"id":1,"first_name":"Zoë"},{"id":2,"first_name":"Zo#"},{"id":3,"first_name":"Zo\uFFFD"}',
  );
  const bytes = Buffer.from(text);
  bytes[bytes.indexOf('#')] = 0xeb;
  const mirror = await mirrorOfUsers(bytes);

  const { lists } = await mirror.sync();

  expect(lists.find(({ key }) => key.list === 'users')).toMatchObject({ outcome: 'complete', rejected: 1 });
  expect(await mirror.database.query('SELECT id, first_name FROM inbox_users ORDER BY id')).toEqual([
    { id: '1', first_name: 'Zoë' },
    { id: '3', first_name: 'Zo\uFFFD' },
  ]);
  expect(await mirror.database.query(`SELECT reason, ${rawText('first_name')} AS name FROM rejects`)).toEqual(
    [{ reason: 'the row has bytes that are not UTF-8', name: 'Zo\uFFFD' }],
  );
});

test('a row with characters such as U+FDD0 is read, also beside a row with bytes that are not UTF-8', async () => {
  // The noncharacters U+FDD0 to U+FDEF. The page has 22 of the 32: one of the others becomes the mark.
  const kind = Array.from({ length: 32 }, (_, nth) => String.fromCharCode(0xfdd0 + nth));
  const [plain, escaped] = [kind.slice(0, 20).join(''), '\\uFDE4 \\ufdd0'];
  const bytes = Buffer.from(
    page(`{"id":1,"first_name":"${plain}"},{"id":2,"first_name":"Zo#"},{"id":3,"first_name":"${escaped}"}`),
  );
  const stored = { 1: plain, 3: '\uFDE4 \uFDD0' };
  const read = async (mirror: Awaited<ReturnType<typeof mirrorOfUsers>>): Promise<unknown> => {
    await mirror.sync();
    const rows = await mirror.database.query<{ id: string; first_name: string }>(
      'SELECT id, first_name FROM inbox_users ORDER BY id',
    );
    return Object.fromEntries(rows.map((row) => [row.id, row.first_name]));
  };
  expect(await read(await mirrorOfUsers(bytes))).toEqual({ ...stored, 2: 'Zo#' });
  bytes[bytes.indexOf('#')] = 0xeb;
  expect(await read(await mirrorOfUsers(bytes))).toEqual(stored);
});

test.each([6000, 20_000, 200_000])(
  'a row nested %i deep is a reject, and every other row of its page is applied',
  async (depth) => {
    const deep = `{"id":2,"first_name":"Eve","extra":${nested(depth)},"exact":1.0}`;
    const mirror = await mirrorOfUsers(page(`{"id":1,"first_name":"Ann"},${deep},{"id":"3"}`));

    const { lists, stopped } = await mirror.sync();

    expect(stopped).toBeNull();
    expect(lists.find(({ key }) => key.list === 'users')).toMatchObject({ outcome: 'complete', rejected: 1 });
    expect(await mirror.database.query('SELECT id FROM inbox_users ORDER BY id')).toEqual([
      { id: '1' },
      { id: '3' },
    ]);
    expect(
      await mirror.database.query(`SELECT reason, ${rawText('first_name')} AS name FROM rejects`),
    ).toEqual([{ reason: 'the row is nested more than 100 levels deep', name: 'Eve' }]);
  },
);

test('an answer that is nothing but depth is one error', async () => {
  const mirror = await mirrorOfUsers(nested(20_000));
  const { lists } = await mirror.sync();
  expect(lists.find(({ key }) => key.list === 'users')).toMatchObject({
    outcome: 'failed',
    error: { code: 'BAD_ANSWER', message: expect.stringContaining('an array of 1') as string },
  });
});

test.each(['99999', 'Sat, 13 Sep 275760 00:00:00 GMT', '-271821-04-20T00:00:00Z', 'yesterday'])(
  'an answer whose Date header is %s is read, and the ledger has no time of the service',
  async (date) => {
    const wrapHttp = ({ get, close }: Http): Http => ({
      close,
      get: async (path, query) => ({ ...(await get(path, query)), date }),
    });
    const mirror = await quickMirror({ wrapHttp, sandbox: { inboxes: 1, conversations: 3 } });
    const { lists, stopped } = await mirror.sync();
    expect(stopped).toBeNull();
    expect(lists.map(({ outcome }) => outcome)).toEqual(Array(4).fill('complete'));
    expect(await mirror.database.query('SELECT DISTINCT status, service_at FROM requests')).toEqual([
      { status: 200, service_at: null },
    ]);
  },
);
