// The specification's section 4.4, operations known by name only, in the vendor's shapes (docs/service.md).
import { describe, expect, test } from 'vitest';
import { createSandbox, type SandboxAnswer } from '../../../src/sandbox/sandbox.ts';
import { ask, firstInbox, KEY, pageIn, rowAt, UNLIMITED } from '../http/ask.ts';

const sandbox = createSandbox({
  ...UNLIMITED,
  inboxes: 1,
  conversations: [12],
  now: () => Date.UTC(2026, 4, 1),
});
const inbox = firstInbox(sandbox);
const conversations = `/inboxes/${inbox.id}/conversations`;
const conversation = rowAt(inbox.conversations, 2);

/** Sends a multipart body and returns the answer. A value may be a file. */
async function post(path: string, fields: [string, string | File][], of = sandbox): Promise<SandboxAnswer> {
  const form = new FormData();
  for (const [name, value] of fields) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, value.name);
  }
  const request = new Request('http://sandbox', { method: 'POST', body: form });
  const headers = { ...KEY, 'content-type': request.headers.get('content-type') ?? '' };
  const body = new Uint8Array(await request.arrayBuffer());
  return of.handle({ method: 'POST', path: `/v1${path}`, headers, body });
}

/** The `data` of an answer with the given status. */
function dataIn({ status, body }: SandboxAnswer, wanted: number): Record<string, unknown> {
  expect([status, body]).toEqual([wanted, body]);
  return (JSON.parse(body) as { data: Record<string, unknown> }).data;
}

/** The ids of a conversation's messages, as the service returns them. */
async function messagesOf(id: string): Promise<{ hiver_message_id: unknown; gmail_message_id: string }[]> {
  const { body } = await ask(sandbox, `${conversations}/${id}`);
  type One = { data: [{ message_ids: { hiver_message_id: unknown; gmail_message_id: string }[] }] };
  return (JSON.parse(body) as One).data[0].message_ids;
}

const ID = expect.stringMatching(/^\d+$/) as unknown;
const NUMBER = expect.any(Number) as unknown;

describe('§4.4 create a tag', () => {
  const body = { name: 'Sales pipeline', color_hexcode: '#64b5f6', description: 'New customers' };

  test('§4.4 the answer has tag_id and both colours, and not the fields of a listed tag', async () => {
    const made = dataIn(await ask(sandbox, `/inboxes/${inbox.id}/tags`, 'POST', body), 200);
    expect(made).toEqual({
      tag_id: ID,
      name: 'Sales pipeline',
      color_hexcode: '#64b5f6',
      background_hexcode: expect.stringMatching(/^#[\da-f]{6}$/) as unknown,
      smid: inbox.id,
      description: 'New customers',
    });
    const found = pageIn(await ask(sandbox, `/inboxes/${inbox.id}/tags/search?name=Sales%20pipeline`));
    expect(found.results).toMatchObject([{ id: made['tag_id'], color_code: '#64b5f6' }]);
  });

  test("§4.4 with the ids of the vendor's examples, the answer's ids are numbers", async () => {
    const mixed = createSandbox({ ...UNLIMITED, inboxes: 1, idType: 'mixed' });
    const { id } = firstInbox(mixed);
    const made = dataIn(await ask(mixed, `/inboxes/${id}/tags`, 'POST', body), 200);
    expect(made).toMatchObject({ tag_id: NUMBER, smid: Number(id) });
  });
});

describe('§4.4 create a shared draft', () => {
  const draft = (fields: [string, string][]) =>
    post(`${conversations}/shared-drafts`, [['body', '<p>Hello</p>'], ...fields]);

  test("§4.4 the answer has the conversation's id and the message's id as a number", async () => {
    for (const message of await messagesOf(conversation.id)) {
      expect(message.hiver_message_id).toEqual(NUMBER);
      const made = dataIn(await draft([['gmail_message_id', message.gmail_message_id]]), 200);
      expect(made).toEqual({
        id: conversation.id,
        shared_draft_id: NUMBER,
        reply_to_message_id: message.hiver_message_id,
      });
      const again = dataIn(await draft([['hiver_message_id', String(message.hiver_message_id)]]), 200);
      expect(again).toEqual({ ...made, shared_draft_id: NUMBER });
      expect(inbox.drafts.at(-1)?.shared_draft_id).not.toBe(inbox.drafts.at(-2)?.shared_draft_id);
    }
  });

  test('§4.4 the global SMTP id replaces a mail provider id, and an unknown one gets 404', async () => {
    const [message] = await messagesOf(conversation.id);
    const smtpId = `<${message?.gmail_message_id}@mail.example.com>`;
    expect(dataIn(await draft([['gmail_message_id', smtpId]]), 200)).toMatchObject({
      id: conversation.id,
      reply_to_message_id: message?.hiver_message_id,
    });
    const unknown = ['<other@mail.example.com>', '<0000000000000000@mail.example.com>', '1a2b3c4d5e6f7a8b'];
    for (const id of unknown) expect((await draft([['gmail_message_id', id]])).status).toBe(404);
  });

  test('§7 a draft without a body, or without a message, gets 400', async () => {
    const [message] = await messagesOf(conversation.id);
    const id = message?.gmail_message_id ?? '';
    expect((await post(`${conversations}/shared-drafts`, [['gmail_message_id', id]])).status).toBe(400);
    expect((await draft([])).status).toBe(400);
  });
});

describe('§4.4 create a note', () => {
  const notes = `${conversations}/${conversation.id}/notes`;
  const [one, two] = [rowAt(inbox.users, 0), rowAt(inbox.users, 1)];

  test('§4.4 a mention is rendered as an at-sign and the name of the teammate', async () => {
    const content = `${one.email}: see ${two.email}, not x${two.email} or ${two.email}.au. ${one.email}`;
    const made = dataIn(
      await post(notes, [
        ['content', content],
        ['mentions[]', one.email],
        ['mentions[]', two.email],
      ]),
      201,
    );
    const name = ({ first_name: first, last_name: last }: typeof one) => `@${first} ${last}`;
    expect(made).toEqual({
      id: ID,
      conversation_id: conversation.id,
      content: `${name(one)}: see ${name(two)}, not x${two.email} or ${two.email}.au. ${name(one)}`,
      author: inbox.source_user,
      mentions: [one.email, two.email],
      parent_note_id: null,
      attachments: [],
      created_at: '2026-05-01T00:00:00.000Z',
    });
  });

  test('§4.4 an address stays as it is if the list of mentions or the inbox lacks it', async () => {
    const content = `${one.email} and stranger@example.com`;
    const made = dataIn(
      await post(notes, [
        ['content', content],
        ['mentions', 'stranger@example.com'],
      ]),
      201,
    );
    expect(made['content']).toBe(content);
  });

  test('§4.4 a note needs content or an attachment, else it gets 400', async () => {
    const file = new File(['%PDF'], 'invoice.final.pdf', { type: 'application/pdf' });
    const made = dataIn(await post(notes, [['attachments', file]]), 201);
    const attachment = {
      id: expect.stringMatching(/^[\da-f-]{36}$/) as unknown,
      file_name: 'invoice.final.pdf',
      file_type: 'pdf',
    };
    expect(made).toMatchObject({ content: '', attachments: [attachment] });
    const both = [new File(['a'], 'README'), file];
    const more = dataIn(
      await post(notes, [['content', 'two'], ...both.map((part): [string, File] => ['attachments[]', part])]),
      201,
    );
    expect(more['attachments']).toMatchObject([{ file_name: 'README', file_type: '' }, attachment]);
    expect((await post(notes, [['mentions[]', one.email]])).status).toBe(400);
    expect((await post(notes, [['content', '']])).status).toBe(400);
  });

  test('§4.4 a reply names its parent note, which is in the same conversation', async () => {
    const parent = dataIn(await post(notes, [['content', 'first']]), 201)['id'] as string;
    const reply: [string, string][] = [
      ['content', 'second'],
      ['parent_note_id', parent],
    ];
    expect(dataIn(await post(notes, reply), 201)['parent_note_id']).toBe(parent);
    const other = `${conversations}/${rowAt(inbox.conversations, 3).id}/notes`;
    expect((await post(other, reply)).status).toBe(404);
  });

  test('§4.4 a thread id of the mail provider names the conversation of a note too', async () => {
    const made = await post(`${conversations}/${conversation.gmail_thread_id}/notes`, [['content', 'x']]);
    expect(dataIn(made, 201)['conversation_id']).toBe(conversation.id);
  });
});

describe('§4.4 update a conversation', () => {
  test('§4.4 either kind of id names the conversation', async () => {
    for (const [id, status] of [
      [conversation.id, 'pending'],
      [conversation.gmail_thread_id, 'open'],
    ]) {
      const answer = await ask(sandbox, `${conversations}/${id}`, 'PATCH', { status: { name: status } });
      expect([answer.status, conversation.status]).toEqual([204, status]);
    }
  });
});
