import { expect, test } from 'vitest';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ask, firstInbox, KEY, UNLIMITED } from './ask.ts';

const sandbox = createSandbox({ ...UNLIMITED, forbiddenKeys: ['weak-key'], inboxes: 1, conversations: [12] });
const { id } = firstInbox(sandbox);

function base64(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

function token(value: object): string {
  return encodeURIComponent(base64(value));
}

const SEVEN = base64({ gmailunit_id: 7 });
const BELOW_ZERO = base64({ gmailunit_id: -7 });

async function statusWith(headers: Record<string, string>): Promise<number> {
  return (await sandbox.handle({ method: 'GET', path: '/v1/inboxes', headers })).status;
}

test('a missing, malformed or wrong key gets 401, and a key without rights 403', async () => {
  expect(await statusWith({})).toBe(401);
  expect(await statusWith({ authorization: 'sandbox-key' })).toBe(401);
  expect(await statusWith({ authorization: 'Bearer wrong' })).toBe(401);
  expect(await statusWith({ authorization: 'Bearer weak-key' })).toBe(403);
  expect(await statusWith({ Authorization: 'bearer sandbox-key' })).toBe(200);
});

test.each([
  '/nothing',
  '/inboxes/1',
  '/inboxes/x/users',
  '/inboxes/1/users/search?email=a@example.com',
  `/inboxes/${id}/nothing`,
  `/inboxes/${id}/users/1`,
  `/inboxes/${id}/conversations/1`,
  `/inboxes/${id}/conversations/1/notes`,
  `/inboxes/${id}/`,
  '/conversations',
  '//inboxes',
  `//inboxes//${id}`,
  `/inboxes//${id}`,
  `/inboxes/${id}//users`,
  `/inboxes/${id}/users/`,
  '/inboxes/../inboxes',
])('the path %s gets 404', async (path) => {
  expect((await ask(sandbox, path)).status).toBe(404);
});

test.each(['//', '//v1/inboxes', '//other/v1/inboxes', '///', '/\\\\other/v1/inboxes', '//[', ''])(
  'the path %j without a base gets 404 in an error form',
  async (path) => {
    const answer = await sandbox.handle({ method: 'GET', path, headers: KEY });
    expect([answer.status, formOf(answer)]).toEqual([404, ['errors']]);
  },
);

test('a path without /v1 and an unsupported method get 404', async () => {
  expect((await sandbox.handle({ method: 'GET', path: '/inboxes', headers: KEY })).status).toBe(404);
  expect((await ask(sandbox, '/inboxes', 'DELETE')).status).toBe(404);
  expect((await ask(sandbox, `/inboxes/${id}`, 'POST', {})).status).toBe(404);
});

test.each([
  'users/search',
  'users/search?email=',
  'tags/search?limit=10',
  'conversations?limit=9',
  'conversations?limit=101',
  'conversations?limit=ten',
  'conversations?limit=10.0',
  'conversations?sort_by=created_at',
  'conversations?sort_order=up',
  'conversations?next_page=',
  'conversations?next_page=garbage',
  `conversations?next_page=${token({ cursor: 'x', sort_order: 'asc', sort_by: 'id' })}`,
  `conversations?next_page=${token({ cursor: BELOW_ZERO, sort_order: 'asc', sort_by: 'id' })}`,
  `conversations?next_page=${token({ cursor: SEVEN, sort_order: 'up', sort_by: 'id' })}`,
])('the request %s gets 400', async (path) => {
  expect((await ask(sandbox, `/inboxes/${id}/${path}`)).status).toBe(400);
});

function formOf({ body }: { body: string }): string[] {
  const read: object = JSON.parse(body);
  return Object.keys(read);
}

test('error bodies have form A for 4xx and B for 429 and 5xx, unless errorForm sets one', async () => {
  const limited = createSandbox({ rate: 1, now: () => 0, conversations: 0 });
  expect(formOf(await ask(limited, '/nothing'))).toEqual(['errors']);
  expect(formOf(await ask(limited, '/nothing'))).toEqual(['Message']);
  expect(formOf(await ask(createSandbox({ errorRate: 1, conversations: 0 }), '/inboxes'))).toEqual([
    'Message',
  ]);
  expect(formOf(await ask(createSandbox({ errorForm: 'B' }), '/nothing'))).toEqual(['Message']);
  const failing = await ask(createSandbox({ errorForm: 'A', errorRate: 1 }), '/inboxes');
  expect(JSON.parse(failing.body)).toEqual({ errors: [{ message: 'Internal Server Error' }] });
});

test('errorRate sets the share of 500s, and the failed requests count against the cap', async () => {
  const failing = createSandbox({ rate: 0, perDay: 400, errorRate: 0.25, conversations: 0 });
  const statuses: number[] = [];
  for (let nth = 0; nth < 401; nth++) statuses.push((await ask(failing, '/inboxes')).status);
  const failed = statuses.filter((status) => status === 500).length;
  expect(failed).toBeGreaterThan(70);
  expect(failed).toBeLessThan(130);
  expect(statuses.at(-1)).toBe(429);
});
