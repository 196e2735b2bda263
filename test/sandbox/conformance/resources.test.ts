// The specification's sections 2 and 4.1: fields, ids, timestamps and the shapes of answers.
import { describe, expect, test } from 'vitest';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ask, firstInbox, rowAt, UNLIMITED } from '../http/ask.ts';

const sandbox = createSandbox({ ...UNLIMITED, inboxes: 7, conversations: [40, 3] });
const { id } = firstInbox(sandbox);

/** The JSON of an answer with status 200. */
async function read(path: string, of = sandbox): Promise<unknown> {
  const { status, body } = await ask(of, path);
  expect([status, path]).toEqual([200, path]);
  return JSON.parse(body) as unknown;
}

/** The rows of a list's only page, which holds `results` and `pagination` and nothing else. */
async function listed(path: string): Promise<Record<string, unknown>[]> {
  const page = (await read(`${path}?limit=100`)) as { results: Record<string, unknown>[] };
  expect(page).toEqual({ results: expect.any(Array) as unknown, pagination: { next_page: null } });
  expect(page.results.length).toBeGreaterThan(0);
  return page.results;
}

const ID = expect.stringMatching(/^\d+$/) as unknown;
const TEXT = expect.any(String) as unknown;
const SWITCH = expect.any(Boolean) as unknown;
/** Epoch seconds between 2001 and 2286. */
const INSTANT = expect.toSatisfy(
  (value: unknown) => Number.isInteger(value) && String(value).length === 10,
) as unknown;

describe('§2 resources', () => {
  test('§2.1 an inbox has nine fields; its ids are text of digits, its timestamps integers', async () => {
    for (const inbox of await listed('/inboxes')) {
      expect(inbox).toEqual({
        id: ID,
        display_name: TEXT,
        channel_type: 'email',
        email: expect.stringContaining('@') as unknown,
        inbox_type: 'user',
        is_authorised: SWITCH,
        source_user: { id: ID, email: expect.stringContaining('@') as unknown },
        created_at: INSTANT,
        updated_at: INSTANT,
      });
    }
  });

  test('§2.2 an inbox user has six fields; its phone number begins with a plus sign', async () => {
    for (const user of await listed(`/inboxes/${id}/users`)) {
      expect(user).toEqual({
        id: ID,
        first_name: TEXT,
        last_name: TEXT,
        email: expect.stringContaining('@') as unknown,
        phone_number: expect.stringMatching(/^\+\d+$/) as unknown,
        is_joined: SWITCH,
      });
    }
  });

  test('§2.3 an inbox tag has five fields; its colour has six hexadecimal digits', async () => {
    for (const tag of await listed(`/inboxes/${id}/tags`)) {
      expect(tag).toEqual({
        id: ID,
        name: TEXT,
        color_code: expect.stringMatching(/^#[\da-f]{6}$/i) as unknown,
        type: 'user',
        created_at: INSTANT,
      });
    }
  });

  test('§2.4 an assigned conversation has id, assignee, status and tag ids, all ids as text', async () => {
    const rows = await listed(`/inboxes/${id}/conversations`);
    const assigned = rows.filter(({ assignee }) => JSON.stringify(assignee ?? null).includes('_id":"'));
    expect(assigned.length).toBeGreaterThan(10);
    for (const row of assigned) {
      expect(row).toMatchObject({ id: ID, assignee: { assignee_type: 'user', assignee_id: ID } });
      expect(row['status']).toMatch(/^(?:open|pending|closed)$/);
      expect(row['tag_ids']).toEqual((row['tag_ids'] as unknown[]).map(() => ID));
    }
    expect(rows.some((row) => (row['tag_ids'] as unknown[]).length > 0)).toBe(true);
  });

  test('§2.4 a conversation is found by the id and by the thread id of the mail provider', async () => {
    const { id: own, gmail_thread_id: thread } = rowAt(firstInbox(sandbox).conversations, 3);
    const byId = await read(`/inboxes/${id}/conversations/${own}`);
    expect(byId).toMatchObject({ data: [{ id: own, gmail_thread_id: thread }] });
    expect(await read(`/inboxes/${id}/conversations/${thread}`)).toEqual(byId);
  });
});

describe('§4.1 conventions', () => {
  test('§4.1 a list has results and pagination at the top level', async () => {
    for (const path of [
      '/inboxes',
      ...['users', 'tags', 'conversations'].map((list) => `/inboxes/${id}/${list}`),
    ])
      expect(Object.keys((await read(path)) as object)).toEqual(['results', 'pagination']);
  });

  test('§4.1 the envelope "data" wraps the same two members, as the general description shows', async () => {
    const wrapped = createSandbox({ ...UNLIMITED, inboxes: 7, conversations: [40, 3], envelope: 'data' });
    expect(await read('/inboxes', wrapped)).toEqual({ data: await read('/inboxes') });
  });

  test('§4.1 a single object is in data', async () => {
    const [inbox] = await listed('/inboxes');
    expect(await read(`/inboxes/${id}`)).toEqual({ data: inbox });
  });

  test('§4.1 an answer of status 204 has no body', async () => {
    const { id: own } = rowAt(firstInbox(sandbox).conversations, 0);
    const path = `/inboxes/${id}/conversations/${own}`;
    const { status, headers, body } = await ask(sandbox, path, 'PATCH', { status: { name: 'open' } });
    expect([status, body, headers]).toEqual([204, '', {}]);
  });
});
