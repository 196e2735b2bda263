import { afterAll, expect, test } from 'vitest';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { messageIds } from '../../../src/sandbox/world/messages.ts';
import { ask, firstInbox, idsIn, KEY, pageIn, rowAt, UNLIMITED, walk } from './ask.ts';

const NOON = Date.UTC(2026, 4, 1, 12);
const sandbox = createSandbox({ ...UNLIMITED, now: () => NOON, inboxes: 1, conversations: [20] });
const { world } = sandbox;
const inbox = firstInbox(sandbox);
const serving = await sandbox.listen();
afterAll(() => serving.close());

const user = rowAt(inbox.users, 0);
const tag = rowAt(inbox.tags, 0);
const conversations = `/inboxes/${inbox.id}/conversations`;

function send(method: string, path: string, body: FormData | object): Promise<Response> {
  const isForm = body instanceof FormData;
  const headers = isForm ? KEY : { ...KEY, 'content-type': 'application/json' };
  return fetch(serving.url + path, { method, headers, body: isForm ? body : JSON.stringify(body) });
}

function form(fields: [string, string][]): FormData {
  const made = new FormData();
  for (const [name, value] of fields) made.append(name, value);
  return made;
}

async function listed(id: string): Promise<Record<string, unknown> | undefined> {
  return pageIn({ body: (await walk(sandbox, conversations)).join('') }).results.find(
    (row) => String(row.id) === id,
  );
}

test('one conversation, by id or thread id, is returned as an array of one with its messages', async () => {
  const { id, gmail_thread_id: thread } = world.addConversation(inbox.id);
  const byId = await ask(sandbox, `${conversations}/${id}`);
  const { data }: { data: Record<string, unknown>[] } = JSON.parse(byId.body);
  expect(data.length).toBe(1);
  expect(data[0]).toMatchObject({ status: 'open', tag_ids: [], gmail_thread_id: thread });
  expect(byId.body).toContain(`"id":"${id}",`);
  expect(byId.body).toContain(
    `"message_ids":[{"hiver_message_id":${BigInt(id) * 8n},"gmail_message_id":"${thread}"}`,
  );
  expect((await ask(sandbox, `${conversations}/${thread}`)).body).toBe(byId.body);
});

test('an update sets status, assignee and tags, gets 204 without a body and shows in the list', async () => {
  const { id, gmail_thread_id: thread } = rowAt(inbox.conversations, 3);
  world.assign(inbox.id, id, null);
  for (const attached of inbox.conversations.get(id)?.tag_ids ?? []) world.untag(inbox.id, id, attached);

  const updated = await send('PATCH', `${conversations}/${id}`, {
    status: { name: 'pending' },
    assignee: { email: user.email },
    tags: { to_apply: [tag.id] },
  });
  expect([updated.status, await updated.text()]).toEqual([204, '']);
  expect(await listed(id)).toMatchObject({
    status: 'pending',
    assignee: { assignee_type: 'user', assignee_id: user.id },
    tag_ids: [tag.id],
  });

  const undone = await send('PATCH', `${conversations}/${thread}`, {
    status: { name: 'closed' },
    assignee: null,
    tags: { to_remove: [Number(tag.id)] },
  });
  expect(undone.status).toBe(204);
  expect(inbox.conversations.get(id)).toMatchObject({ status: 'closed', assignee: null, tag_ids: [] });
});

test('an update with one faulty part changes nothing', async () => {
  const { id } = rowAt(inbox.conversations, 4);
  const before = structuredClone(inbox.conversations.get(id));
  const wrong: [number, object][] = [
    [400, {}],
    [400, { status: { name: 'asleep' } }],
    [400, { status: 'open' }],
    [400, { assignee: {} }],
    [400, { tags: [tag.id] }],
    [400, { tags: { to_apply: tag.id } }],
    [404, { status: { name: 'pending' }, assignee: { email: 'nobody@example.com' } }],
    [404, { status: { name: 'pending' }, tags: { to_apply: [tag.id, '1'] } }],
  ];
  for (const [status, body] of wrong)
    expect((await ask(sandbox, `${conversations}/${id}`, 'PATCH', body)).status).toBe(status);
  expect((await ask(sandbox, `${conversations}/1`, 'PATCH', { status: { name: 'open' } })).status).toBe(404);
  const noJson = await sandbox.handle({
    method: 'PATCH',
    path: `/v1${conversations}/${id}`,
    headers: KEY,
    body: '{',
  });
  expect(noJson.status).toBe(400);
  expect(inbox.conversations.get(id)).toEqual(before);
});

test('with closedStatus "close" the sandbox accepts "closed" and "close" and stores "close"', async () => {
  const closing = createSandbox({ ...UNLIMITED, closedStatus: 'close', inboxes: 1, conversations: [300] });
  const { id: inboxId, conversations: rows } = firstInbox(closing);
  expect(new Set([...rows.values()].map(({ status }) => status))).toEqual(
    new Set(['open', 'pending', 'close']),
  );
  for (const name of ['closed', 'close']) {
    const { id } = closing.world.addConversation(inboxId);
    expect(
      (await ask(closing, `/inboxes/${inboxId}/conversations/${id}`, 'PATCH', { status: { name } })).status,
    ).toBe(204);
    expect(rows.get(id)?.status).toBe('close');
  }
});

test('a request for a new tag returns its id, and list and search then show the tag', async () => {
  const made = await send('POST', `/inboxes/${inbox.id}/tags`, {
    name: 'Neu & wichtig',
    color_hexcode: '#00ff7F',
    description: 'x',
  });
  expect(made.status).toBe(200);
  const { data }: { data: { tag_id: string } } = JSON.parse(await made.text());
  expect(data).toMatchObject({ name: 'Neu & wichtig', color_hexcode: '#00ff7F', description: 'x' });
  expect(idsIn(await walk(sandbox, `/inboxes/${inbox.id}/tags`))).toContain(data.tag_id);
  const found = pageIn(
    await ask(sandbox, `/inboxes/${inbox.id}/tags/search?name=${encodeURIComponent('Neu & wichtig')}`),
  );
  expect(found.results).toMatchObject([{ id: data.tag_id, color_code: '#00ff7F', type: 'user' }]);

  for (const body of [{}, { name: ' ' }, { name: 'x', color_hexcode: 'red' }]) {
    expect((await ask(sandbox, `/inboxes/${inbox.id}/tags`, 'POST', body)).status).toBe(400);
  }
});

test('a shared draft in JSON or multipart keeps its text and its kind of reply', async () => {
  const { id } = rowAt(inbox.conversations, -1);
  const message = messageIds(rowAt(inbox.conversations, -1)).at(-1);
  const path = `${conversations}/shared-drafts`;
  const fields = { body: '<p>Grüße</p>', hiver_message_id: message?.hiver_message_id ?? '' };
  expect((await send('POST', path, form(Object.entries(fields)))).status).toBe(200);
  expect((await send('POST', path, { ...fields, reply_type: 'reply_all' })).status).toBe(200);
  const kept = {
    conversation_id: id,
    shared_draft_id: expect.any(String),
    body: '<p>Grüße</p>',
    reply_to_message_id: message?.hiver_message_id,
  };
  expect(inbox.drafts).toEqual([
    { ...kept, reply_type: 'reply' },
    { ...kept, reply_type: 'reply_all' },
  ]);
});

test('a note is kept, and a body that is neither JSON nor multipart gets 400', async () => {
  const { id } = rowAt(inbox.conversations, 0);
  const made = await send('POST', `${conversations}/${id}/notes`, {
    content: 'look',
    mentions: [user.email],
  });
  expect(made.status).toBe(201);
  expect(inbox.notes).toMatchObject([{ conversation_id: id, content: 'look', mentions: [user.email] }]);

  expect((await send('POST', `${conversations}/1/notes`, form([['content', 'x']]))).status).toBe(404);
  const broken = { ...KEY, 'content-type': 'multipart/form-data; boundary=x' };
  expect(
    (
      await sandbox.handle({
        method: 'POST',
        path: `/v1${conversations}/${id}/notes`,
        headers: broken,
        body: 'no parts',
      })
    ).status,
  ).toBe(400);
});
