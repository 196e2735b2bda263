import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import type { MirrorError } from '../../src/core/errors.ts';
import type { ListKey } from '../../src/core/lists.ts';
import type { ScriptedOutcome } from '../../src/sandbox/sandbox.ts';
import { createClient } from '../../src/service/client.ts';
import type { Answer } from '../../src/service/http.ts';
import { KEY, mirrorOf, type MirrorOptions, type TestMirror } from '../support/mirror.ts';
import { freshMirrorFile } from '../support/template.ts';

const MANUAL = { reason: 'manual' } as const;
const INBOXES: ListKey = { list: 'inboxes', inboxId: null };

const fresh = async (options: MirrorOptions = {}): Promise<TestMirror> =>
  mirrorOf({ path: await freshMirrorFile(), ...options });

async function scripted(answer: ScriptedOutcome, options: MirrorOptions = {}): Promise<TestMirror> {
  const mirror = await fresh(options);
  mirror.sandbox.script(() => answer);
  return mirror;
}
const json = (status: number, body: unknown): ScriptedOutcome => ({ status, body: JSON.stringify(body) });

async function errorOf(promise: Promise<unknown>): Promise<MirrorError> {
  return await promise.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error as MirrorError,
  );
}

test('each operation of the client sends one request with its own path and query', async () => {
  const { client, sandbox } = await fresh({ pageSize: 37 });
  sandbox.script(({ path }) =>
    /search|limit/.test(path)
      ? json(200, { results: [], pagination: { next_page: null } })
      : json(200, { data: { id: 5 } }),
  );
  await client.listPage(INBOXES, null, MANUAL);
  await client.listPage({ list: 'users', inboxId: '7' }, null, MANUAL);
  await client.listPage({ list: 'tags', inboxId: '7' }, 'a+b/=&c', MANUAL);
  await client.listPage({ list: 'conversations', inboxId: '../9' }, null, MANUAL);
  await client.getInbox('7', MANUAL);
  await client.getConversation('7', '18e0/?#', MANUAL);
  await client.search({ list: 'users', inboxId: '7' }, 'a+b@example.com', MANUAL);
  await client.search({ list: 'tags', inboxId: '7' }, 'très urgent & co', MANUAL);
  await client.ping(MANUAL);

  expect(sandbox.arrivals.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /v1/inboxes?limit=37',
    'GET /v1/inboxes/7/users?limit=37',
    'GET /v1/inboxes/7/tags?limit=37&next_page=a%2Bb%2F%3D%26c',
    'GET /v1/inboxes/..%2F9/conversations?limit=37',
    'GET /v1/inboxes/7',
    'GET /v1/inboxes/7/conversations/18e0%2F%3F%23',
    'GET /v1/inboxes/7/users/search?email=a%2Bb%40example.com',
    'GET /v1/inboxes/7/tags/search?name=tr%C3%A8s+urgent+%26+co',
    'GET /v1/inboxes?limit=10',
  ]);
});

test('the client reads the same rows from every envelope and every id type', async () => {
  const read: unknown[] = [];
  for (const envelope of ['data', 'top'] as const) {
    for (const idType of ['string', 'number', 'mixed'] as const) {
      const { client, sandbox } = await fresh({
        sandbox: { envelope, idType, conversations: [25], seed: 4 },
        pageSize: 10,
      });
      const [inbox] = (await client.listPage(INBOXES, null, MANUAL)).items;
      const list = { list: 'conversations', inboxId: inbox?.id ?? '' } as const;
      const items = [];
      for (let token: string | null = null, first = true; first || token !== null; first = false) {
        const page = await client.listPage(list, token, MANUAL);
        expect(page.rejects).toEqual([]);
        items.push(...page.items);
        token = page.next;
      }
      const single = await client.getConversation(list.inboxId, items[3]?.id ?? '', MANUAL);
      expect(single?.item).toMatchObject({ id: items[3]?.id, hash: items[3]?.hash });
      expect(sandbox.arrivals).toHaveLength(5);
      read.push(items.map(({ id, columns, tags, hash }) => ({ id, columns, tags, hash })));
    }
  }
  expect(read[0]).toHaveLength(25);
  for (const items of read) expect(items).toEqual(read[0]);
});

test('listPage returns rejects, token and lacking fields, and the ledger has the row count', async () => {
  const { client, database } = await scripted(
    json(200, {
      data: { results: [{ id: '1', email: 'a' }, { id: 'x' }], pagination: { next_page: 'more' } },
    }),
  );

  const page = await client.listPage({ list: 'users', inboxId: '7' }, null, MANUAL);

  expect(page).toMatchObject({
    next: 'more',
    requestId: 1,
    requests: 1,
    rejects: [{ reason: 'id is not an id of digits' }],
  });
  expect(page.items.map(({ id }) => id)).toEqual(['1']);
  expect(page.lacking['is_joined']).toBe(1);
  expect(await database.query('SELECT path, list, inbox_id, status, items, error FROM requests')).toEqual([
    { path: '/inboxes/7/users', list: 'users', inbox_id: '7', status: 200, items: 2, error: null },
  ]);
});

test.each([
  ['form A', { errors: [{ message: 'limit is wrong' }] }],
  ['form B', { Message: 'limit is wrong' }],
])('a refusal names the request, the status and the service’s message in %s', async (_form, body) => {
  const { client, sandbox } = await scripted(json(400, body));

  const error = await errorOf(client.search({ list: 'users', inboxId: '7' }, 'jane@example.com', MANUAL));

  expect(error).toMatchObject({ code: 'REQUEST_REFUSED', status: 400 });
  expect(error.message).toBe('GET /inboxes/7/users/search was refused (HTTP 400): limit is wrong');
  expect(sandbox.arrivals).toHaveLength(1);
});

test('a refusal without a message still names request and status, and a 404 what to check', async () => {
  const messageFor = async (status: number) => {
    const { client } = await scripted({ status, body: '<html>' });
    return (await errorOf(client.listPage(INBOXES, null, MANUAL))).message;
  };
  expect(await messageFor(422)).toBe('GET /inboxes was refused (HTTP 422).');
  expect(await messageFor(404)).toBe('GET /inboxes was refused (HTTP 404). Check INBOX_API_URL.');
});

test.each([
  [400, 'token', 'TOKEN_REFUSED'],
  [404, 'token', 'TOKEN_REFUSED'],
  [410, 'token', 'TOKEN_REFUSED'],
  [400, null, 'REQUEST_REFUSED'],
  [404, null, 'REQUEST_REFUSED'],
  [302, 'token', 'REQUEST_REFUSED'],
  [500, 'token', 'SERVICE_DOWN'],
  [429, 'token', 'GATE_PAUSED'],
  [401, 'token', 'KEY_REFUSED'],
  [403, 'token', 'KEY_REFUSED'],
  [401, null, 'KEY_REFUSED'],
])('an HTTP %i for a page with next_page=%s becomes %s', async (status, token, code) => {
  const { client } = await scripted(json(status, { Message: 'no' }));
  expect(await errorOf(client.listPage({ list: 'tags', inboxId: '7' }, token, MANUAL))).toMatchObject({
    code,
  });
});

test('a redirect is an error that names its target', async () => {
  const { client, sandbox } = await scripted({
    status: 301,
    headers: { location: 'https://login.example.com/' },
  });

  const error = await errorOf(client.listPage(INBOXES, null, MANUAL));

  expect(error).toMatchObject({ code: 'REQUEST_REFUSED', status: 301 });
  expect(error.message).toContain('https://login.example.com/');
  expect(sandbox.arrivals).toHaveLength(1);
});

test('the client returns null for a single item that the service does not know', async () => {
  const { client, sandbox } = await scripted(json(404, { errors: [{ message: 'not found' }] }));

  expect(await client.getInbox('7', MANUAL)).toBeNull();
  expect(await client.getConversation('7', '8', MANUAL)).toBeNull();
  expect(sandbox.arrivals).toHaveLength(2);
});

test.each([400, 410, 302])('the client throws for a single item refused with %i', async (status) => {
  const { client } = await scripted({ status });
  expect(await errorOf(client.getConversation('7', '8', MANUAL))).toMatchObject({
    code: 'REQUEST_REFUSED',
    status,
  });
});

test('the client reads a single item from an object and from a one-element array', async () => {
  for (const data of [{ id: 8, status: 'open' }, [{ id: 8, status: 'open' }]]) {
    const { client } = await scripted(json(200, { data }));
    expect(await client.getConversation('7', '8', MANUAL)).toMatchObject({
      item: { id: '8', columns: { status: 'open' } },
    });
  }
});

test.each([
  ['a list', { conversations: [{ email: 'jane@example.com' }] }, 'an object with "conversations"'],
  ['an object', [], 'an array of 0'],
])('a wrong envelope for %s is one error that names the shape, with no retry', async (what, body, came) => {
  const { client, sandbox, database } = await scripted(json(200, body));

  const error = await errorOf(
    what === 'a list' ? client.listPage(INBOXES, null, MANUAL) : client.getInbox('7', MANUAL),
  );

  expect(error).toMatchObject({ code: 'BAD_ANSWER', status: 200 });
  expect(error.message).toContain(came);
  expect(error.message).toMatch(/^GET \/inboxes(\/7)? \(HTTP 200\): /);
  expect(error.message).not.toContain('jane');
  expect(sandbox.arrivals).toHaveLength(1);
  expect(await database.query('SELECT status, items FROM requests')).toEqual([{ status: 200, items: null }]);
});

test('an unreadable single item is an error with the reason', async () => {
  const { client } = await scripted(json(200, { data: { id: 8, status: 5 } }));
  expect((await errorOf(client.getConversation('7', '8', MANUAL))).message).toContain('status is not text');
});

test.each([
  ['empty', { status: 200, body: '' }],
  ['without a body', { status: 204 }],
  ['cut short', { status: 200, body: '{"data":{"results":[{"email":"jane@example.com"' }],
])('the gate requests an answer that is %s four times and hides its content', async (_how, answer) => {
  const { client, sandbox } = await scripted(answer);

  const error = await errorOf(client.listPage(INBOXES, null, MANUAL));

  expect(error.code).toBe('SERVICE_DOWN');
  expect(error.message).not.toContain('jane');
  expect(sandbox.arrivals).toHaveLength(4);
});

test('a search reports whether its result is complete', async () => {
  const page = (results: unknown[], next: string | null): ScriptedOutcome =>
    json(200, { results, pagination: { next_page: next } });
  const { client, sandbox } = await fresh();
  sandbox.script(() => page([{ id: 1, name: 'vip' }], null));
  expect(await client.search({ list: 'tags', inboxId: '7' }, 'vip', MANUAL)).toMatchObject({
    complete: true,
    items: [{ id: '1' }],
  });
  sandbox.script(() => page([{ id: 1, name: 'vip' }], 'more'));
  expect(await client.search({ list: 'tags', inboxId: '7' }, 'vip', MANUAL)).toMatchObject({
    complete: false,
  });
  sandbox.script(() => page([{ id: 1, email: 'a' }, { id: 'x' }], null));
  expect(await client.search({ list: 'users', inboxId: '7' }, 'a', MANUAL)).toMatchObject({
    complete: false,
    items: [{ id: '1' }],
  });
});

test('a ping costs one request and returns the service’s time from its Date header', async () => {
  const { client, sandbox } = await fresh({ sandbox: { inboxes: 3 } });
  sandbox.script(() => ({
    ...(json(200, { results: [{}, {}, {}], pagination: { next_page: null } }) as {
      status: number;
      body: string;
    }),
    headers: { date: 'Mon, 02 Mar 2026 08:00:40 GMT' },
  }));

  const { rows, isWhole, serviceTime } = await client.ping(MANUAL);
  expect({ rows: rows.rejects.length, isWhole, serviceTime }).toEqual({
    rows: 3,
    isWhole: true,
    serviceTime: new Date('2026-03-02T08:00:40Z'),
  });
  expect(sandbox.arrivals).toHaveLength(1);
});

const withoutNext = (rows: number): ScriptedOutcome =>
  json(200, { results: Array.from({ length: rows }, (_, id) => ({ id })), pagination: {} });

test.each([
  [100, 99],
  [37, 38],
])('a full first page that does not say if it is the last is read again (%i and %i)', async (size, other) => {
  const { client, sandbox } = await fresh({ pageSize: size });
  sandbox.script(({ path }) => {
    const limit = Number(/limit=(\d+)/.exec(path)![1]);
    return limit >= size
      ? withoutNext(size)
      : json(200, { results: [{ id: 1 }], pagination: { next_page: 't' } });
  });
  const { next, requests } = await client.listPage(INBOXES, null, MANUAL);
  expect({ next, requests }).toEqual({ next: other > size ? null : 't', requests: 2 });
  expect(sandbox.arrivals.map(({ path }) => path)).toEqual([
    `/v1/inboxes?limit=${size}`,
    `/v1/inboxes?limit=${other}`,
  ]);
});

test('a list whose full pages have no next_page in any size fails: it may have another name', async () => {
  const { client, sandbox } = await fresh({ pageSize: 20 });
  sandbox.script(({ path }) => withoutNext(Number(/limit=(\d+)/.exec(path)![1])));
  expect(await errorOf(client.listPage(INBOXES, null, MANUAL))).toMatchObject({
    code: 'BAD_ANSWER',
    message: expect.stringContaining(
      'GET /inboxes: expected pagination.next_page to be a token or null',
    ) as string,
  });
  expect(sandbox.arrivals).toHaveLength(2);
});

test('ten inboxes without a next_page pass the test of the key, and may not be all', async () => {
  const { client, sandbox } = await fresh();
  sandbox.script(({ path }) => (path.endsWith('limit=10') ? withoutNext(10) : json(403, {})));
  expect(await client.ping(MANUAL)).toMatchObject({ isWhole: false });
  const error = await errorOf(client.listPage({ list: 'tags', inboxId: '7' }, null, MANUAL));
  expect(error.code).toBe('LIST_FORBIDDEN');
});

test.each<[string, ScriptedOutcome]>([
  ['is a 400', json(400, { errors: [{ message: `bad key ${KEY}` }] })],
  ['is a 401', json(401, { Message: `Bearer ${KEY}` })],
  ['is a 500', { status: 500, body: `Authorization: Bearer ${KEY}` }],
  [
    'is a 403 that encodes it',
    json(403, { Message: `${Buffer.from(`:${KEY}`).toString('base64')} ${KEY.replace('-', '&#45;')}` }),
  ],
  ['is a 429', json(429, { Message: 'x'.repeat(195) + KEY })],
  ['is a redirect', { status: 302, headers: { location: `https://x/?key=${KEY}` } }],
  ['is an HTML page', { status: 200, body: `<html>Authorization: Bearer ${KEY}` }],
  ['is plain text', { status: 200, body: `Bearer ${KEY}` }],
  ['has another shape', json(200, { data: [KEY], message: KEY })],
  ['is a connection reset', 'reset'],
])('no error and no ledger row has the key when the answer that repeats it %s', async (_what, answer) => {
  const { client, database, sandbox, gateEvents } = await scripted(answer);

  const error = await errorOf(client.listPage(INBOXES, 'token', MANUAL));

  const shown = [
    error.message,
    error.stack ?? '',
    inspect(error, { depth: 10, showHidden: true }),
    JSON.stringify(error),
    inspect(error.cause, { depth: 10 }),
    JSON.stringify(gateEvents),
    JSON.stringify(await database.query('SELECT * FROM requests')),
    JSON.stringify(await database.query('SELECT * FROM gate_state')),
    sandbox.arrivals.map(({ path }) => path).join(' '),
  ];
  for (const text of shown) expect(text).not.toContain(KEY);
});

test('a refusal of plain http ends one list only, once the address has answered', async () => {
  const { gate } = await fresh();
  const refused = '<html><title>400 The plain HTTP request was sent to HTTPS port</title></html>';
  let answer = { status: 400, body: refused } as Answer;
  const http = { get: () => Promise.resolve(answer), close: () => undefined };
  const clientOf = (isProven: boolean) =>
    createClient({
      http,
      gate,
      pageSize: 100,
      storePublicPermalink: false,
      address: { url: 'http://service.example/v1', isProven, onProven: () => undefined },
    });
  const client = clientOf(false);
  expect(await errorOf(client.listPage(INBOXES, null, MANUAL))).toMatchObject({ code: 'CONFIG' });
  const isOfTheList = { code: 'REQUEST_REFUSED', message: expect.stringContaining('plain HTTP') as string };
  expect(await errorOf(clientOf(true).listPage(INBOXES, null, MANUAL))).toMatchObject(isOfTheList);
  answer = { ...answer, status: 200, body: '{"results":[],"pagination":{"next_page":null}}' };
  await client.listPage(INBOXES, null, MANUAL);
  answer = { ...answer, status: 400, body: refused };
  expect(await errorOf(client.listPage(INBOXES, null, MANUAL))).toMatchObject(isOfTheList);
});
