// The specification's sections 5, 7, 8 and 9: keys, errors, limits and the version, for every operation.
import { describe, expect, test } from 'vitest';
import { DAY } from '../../../src/core/clock.ts';
import { createSandbox, type SandboxAnswer, type SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { ask, firstInbox, KEY, rowAt, UNLIMITED } from '../http/ask.ts';

const world: Partial<SandboxOptions> = { inboxes: 1, conversations: [5], forbiddenKeys: ['weak-key'] };
const sandbox = createSandbox({ ...UNLIMITED, ...world });
const inbox = firstInbox(sandbox);
const user = rowAt(inbox.users, 0);
const conversation = rowAt(inbox.conversations, 0);
const update = { status: { name: 'open' } };

/** Each operation of §4.3 and §4.4 with a request that succeeds. INBOX stands for the inbox's id. */
const OPERATIONS: [name: string, method: string, path: string, body?: object | undefined][] = [
  ['§4.3 operation 1', 'GET', '/inboxes'],
  ['§4.3 operation 2', 'GET', '/inboxes/INBOX'],
  ['§4.3 operation 3', 'GET', '/inboxes/INBOX/users'],
  ['§4.3 operation 4', 'GET', `/inboxes/INBOX/users/search?email=${user.email}`],
  ['§4.3 operation 5', 'GET', '/inboxes/INBOX/tags'],
  ['§4.3 operation 6', 'GET', '/inboxes/INBOX/tags/search?name=Urgent'],
  ['§4.4 create tag', 'POST', '/inboxes/INBOX/tags', { name: 'new' }],
  ['§4.4 list conversations', 'GET', '/inboxes/INBOX/conversations'],
  ['§4.4 get a conversation', 'GET', `/inboxes/INBOX/conversations/${conversation.id}`],
  ['§4.4 update a conversation', 'PATCH', `/inboxes/INBOX/conversations/${conversation.id}`, update],
  [
    '§4.4 create a draft',
    'POST',
    '/inboxes/INBOX/conversations/shared-drafts',
    { body: 'x', gmail_message_id: conversation.gmail_thread_id },
  ],
  ['§4.4 create a note', 'POST', `/inboxes/INBOX/conversations/${conversation.id}/notes`, { content: 'x' }],
];

interface Sending {
  readonly of?: ReturnType<typeof createSandbox>;
  readonly inboxId?: string;
  readonly headers?: Record<string, string>;
}

function send(
  [, method, path, body]: (typeof OPERATIONS)[number],
  sending: Sending = {},
): Promise<SandboxAnswer> {
  return (sending.of ?? sandbox).handle({
    method,
    path: `/v1${path.replace('INBOX', sending.inboxId ?? inbox.id)}`,
    headers: { 'content-type': 'application/json', ...(sending.headers ?? KEY) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const MESSAGE = expect.stringMatching(/\w/) as unknown;
const FORMS = { A: { errors: [{ message: MESSAGE }] }, B: { Message: MESSAGE } };

/** Expects a status, JSON in one of the two error forms of §7, and no other header. */
function expectError({ status, headers, body }: SandboxAnswer, wanted: number, form?: 'A' | 'B'): void {
  expect([status, headers]).toEqual([wanted, { 'content-type': 'application/json; charset=utf-8' }]);
  const read = JSON.parse(body) as object;
  expect(read).toEqual(FORMS[form ?? ('errors' in read ? 'A' : 'B')]);
}

test.each(OPERATIONS)('%s succeeds with a JSON answer, or with 204 and no body', async (...operation) => {
  const { status, headers, body } = await send(operation);
  if (operation[1] === 'PATCH') expect([status, headers, body]).toEqual([204, {}, '']);
  else {
    expect(status).toBe(operation[0].endsWith('note') ? 201 : 200);
    expect(headers['content-type']).toMatch(/^application\/json/);
  }
});

describe('§5 authentication', () => {
  test.each(OPERATIONS)(
    '§5.1, §5.5 %s needs the key as a bearer token, else it gets 401',
    async (...operation) => {
      const wrong = [{}, { authorization: 'sandbox-key' }, { authorization: 'Basic sandbox-key' }];
      for (const headers of [...wrong, { authorization: 'Bearer other' }])
        expectError(await send(operation, { headers }), 401);
    },
  );

  test.each(OPERATIONS)('§5.3, §5.5 %s gets 403 for a key without rights', async (...operation) => {
    expectError(await send(operation, { headers: { authorization: 'Bearer weak-key' } }), 403);
  });
});

describe('§7 errors', () => {
  test.each([
    `/inboxes/${inbox.id}/users/search`,
    `/inboxes/${inbox.id}/users/search?email=`,
    `/inboxes/${inbox.id}/users/search?name=${user.email}`,
    `/inboxes/${inbox.id}/tags/search`,
    `/inboxes/${inbox.id}/tags/search?name=`,
    `/inboxes/${inbox.id}/tags/search?email=Urgent`,
  ])('§7 rule 1: %s lacks its required parameter and gets 400', async (path) => {
    expectError(await ask(sandbox, path), 400);
  });

  test.each(OPERATIONS.slice(1))('§7 rule 2: %s gets 404 for an unknown inbox', async (...operation) => {
    for (const inboxId of ['1', '20116', 'support']) expectError(await send(operation, { inboxId }), 404);
  });

  test.each(OPERATIONS.filter(([, , path]) => path.includes(conversation.id)))(
    '§7 rule 2: %s gets 404 for an unknown conversation',
    async (name, method, path, body) => {
      expectError(await send([name, method, path.replace(conversation.id, '1'), body]), 404);
    },
  );

  test.each(OPERATIONS)('§7 %s can get 500', async (...operation) => {
    expectError(await send(operation, { of: createSandbox({ ...UNLIMITED, ...world, errorRate: 1 }) }), 500);
  });

  test.each(['A', 'B'] as const)('§7 every status can have an error body of form %s', async (errorForm) => {
    const of = createSandbox({ ...world, perDay: 0, errorForm, now: () => 0 });
    const one = OPERATIONS[0] as (typeof OPERATIONS)[number];
    expectError(await ask(of, '/nothing'), 404, errorForm);
    expectError(await send(one, { of }), 429, errorForm);
    expectError(await send(one, { of, headers: {} }), 401, errorForm);
    expectError(await send(one, { of, headers: { authorization: 'Bearer weak-key' } }), 403, errorForm);
    const failing = createSandbox({ ...world, ...UNLIMITED, errorForm, errorRate: 1 });
    expectError(await send(one, { of: failing }), 500, errorForm);
    const search = createSandbox({ ...world, ...UNLIMITED, errorForm });
    expectError(await ask(search, `/inboxes/${inbox.id}/tags/search`), 400, errorForm);
  });
});

describe('§8 limits', () => {
  /** Sends the requests one after another, each `gap` ms after the one before, and returns their statuses. */
  async function statuses(requests: typeof OPERATIONS, gap: number): Promise<number[]> {
    let now = Date.UTC(2026, 4, 1);
    const of = createSandbox({ ...world, now: () => now });
    const all: number[] = [];
    for (const request of requests) {
      all.push((await send(request, { of })).status);
      now += gap;
    }
    return all;
  }

  test('§8 all operations together may send one request a second', async () => {
    expect(await statuses(OPERATIONS, 1000)).not.toContain(429);
    const [first, ...rest] = await statuses(OPERATIONS, 999);
    expect([first, new Set(rest)]).toEqual([200, new Set([429])]);
  });

  test('§8 rule 1: the 5,001st request of a day gets 429, and the first after 24 hours 200', async () => {
    let now = Date.UTC(2026, 4, 1);
    const of = createSandbox({ ...world, now: () => now });
    const begin = now;
    for (let nth = 0; nth < 5000; nth += 1, now += 1000) expect((await ask(of, '/inboxes')).status).toBe(200);
    expectError(await ask(of, '/inboxes'), 429);
    now = begin + DAY - 1;
    expectError(await ask(of, '/inboxes'), 429);
    now = begin + DAY + 1000;
    expect((await ask(of, '/inboxes')).status).toBe(200);
  });
});

describe('§9 versioning', () => {
  test.each(['', '/v2', '/V1', '/v1/v1'])(
    '§9 an operation below "%s" instead of /v1 gets 404',
    async (version) => {
      const answer = await sandbox.handle({ method: 'GET', path: `${version}/inboxes`, headers: KEY });
      expectError(answer, 404);
    },
  );
});
