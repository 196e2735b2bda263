import { IdMap } from '../world/ids.ts';
import { messageIds } from '../world/messages.ts';
import type { SandboxConversation, SandboxInbox } from '../world/rows.ts';
import type { Desk } from './context.ts';
import { jsonAnswer, Refusal, type SandboxAnswer, type SandboxRequest } from './messages.ts';
import { pageOf, pageWish } from './paging.ts';
import { createDraft, createNote, createTag, updateConversation } from './writes.ts';

/**
 * Answers a request that was let in, as spec §4.3 and SERVICE-NOTES.md say.
 * @throws Refusal 400 or 404.
 */
export function route(desk: Desk, request: SandboxRequest): SandboxAnswer | Promise<SandboxAnswer> {
  const { pathname, searchParams: query } = new URL(request.path, 'http://sandbox');
  const [root, version, inboxes, inboxId, list, item, leaf, ...rest] = pathname.split('/');
  if (root !== '' || version !== 'v1' || inboxes !== 'inboxes' || rest.length > 0) throw unknownPath(request);

  if (inboxId === undefined) {
    if (request.method !== 'GET') throw unknownPath(request);
    return listAnswer(desk, query, desk.world.inboxes, desk.wire.inbox);
  }
  const inbox = desk.world.inboxes.get(inboxId);
  if (inbox === undefined) throw new Refusal(404, `inbox ${inboxId} not found`);
  // What an id stands for is put back by its name, so that each operation reads as in the documents.
  const isDraft = request.method === 'POST' && item === 'shared-drafts';
  const place = item !== undefined && list === 'conversations' && !isDraft ? ':conversation' : item;
  const below = [list, place, leaf].filter((part) => part !== undefined);
  const operation = `${request.method} ${[':inbox', ...below].join('/')}`;

  switch (operation) {
    case 'GET :inbox':
      return jsonAnswer(200, { data: desk.wire.inbox(inbox) });
    case 'GET :inbox/users':
      return listAnswer(desk, query, inbox.users, desk.wire.user);
    case 'GET :inbox/users/search': {
      const email = required(query, 'email');
      return listAnswer(
        desk,
        query,
        found(inbox.users, (user) => user.email === email),
        desk.wire.user,
      );
    }
    case 'GET :inbox/tags':
      return listAnswer(desk, query, inbox.tags, desk.wire.tag);
    case 'GET :inbox/tags/search': {
      const name = required(query, 'name');
      const partly = desk.options.tagSearch === 'partial';
      return listAnswer(
        desk,
        query,
        found(inbox.tags, (tag) => (partly ? tag.name.includes(name) : tag.name === name)),
        desk.wire.tag,
      );
    }
    case 'POST :inbox/tags':
      return createTag(desk, inbox, request);
    case 'GET :inbox/conversations':
      return listAnswer(desk, query, inbox.conversations, desk.wire.conversation);
    case 'POST :inbox/conversations/shared-drafts':
      return createDraft(desk, inbox, request);
    case 'GET :inbox/conversations/:conversation': {
      const conversation = conversationOf(inbox, item);
      // An array of one: so it came to a public client (SERVICE-NOTES.md, "Get a conversation").
      return jsonAnswer(200, {
        data: [{ ...desk.wire.conversation(conversation), message_ids: messageIds(conversation) }],
      });
    }
    case 'PATCH :inbox/conversations/:conversation':
      return updateConversation(desk, inbox, conversationOf(inbox, item), request);
    case 'POST :inbox/conversations/:conversation/notes':
      return createNote(desk, inbox, conversationOf(inbox, item), request);
    default:
      throw unknownPath(request);
  }
}

function listAnswer<T>(
  { options }: Desk,
  query: URLSearchParams,
  rows: IdMap<T>,
  write: (row: T) => object,
): SandboxAnswer {
  const { ids, nextPage } = pageOf(rows.order, pageWish(query));
  const results = ids.map((id) => rows.get(id)).filter((row) => row !== undefined);
  const page = { results: results.map((row) => write(row)), pagination: { next_page: nextPage } };
  return jsonAnswer(200, options.envelope === 'data' ? { data: page } : page);
}

function found<T>(rows: IdMap<T>, matches: (row: T) => boolean): IdMap<T> {
  const hits = new IdMap<T>();
  for (const [id, row] of rows) if (matches(row)) hits.set(id, row);
  return hits;
}

/** By the service's id or by the mail provider's thread id (spec §2.4). */
function conversationOf({ id: inboxId, conversations }: SandboxInbox, id = ''): SandboxConversation {
  const known = conversations.get(id);
  if (known !== undefined) return known;
  for (const conversation of conversations.values())
    if (conversation.gmail_thread_id === id) return conversation;
  throw new Refusal(404, `conversation ${id} not found in inbox ${inboxId}`);
}

function required(query: URLSearchParams, name: string): string {
  const value = query.get(name);
  if (value === null || value === '') throw new Refusal(400, `required parameter '${name}' is missing`);
  return value;
}

function unknownPath({ method, path }: SandboxRequest): Refusal {
  return new Refusal(404, `no operation ${method} ${path.split('?')[0]}; every path starts with /v1/inboxes`);
}
