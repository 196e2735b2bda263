import { exactNumber } from '../../core/json.ts';
import { IdMap } from '../world/ids.ts';
import { messageIds } from '../world/messages.ts';
import type { SandboxConversation, SandboxInbox } from '../world/rows.ts';
import type { Context } from './context.ts';
import { jsonAnswer, Refusal, type SandboxAnswer, type SandboxRequest } from './messages.ts';
import { createNote } from './notes.ts';
import { pageOf, readPageRequest } from './paging.ts';
import { createDraft, createTag, updateConversation } from './writes.ts';

/**
 * Answers a request whose key and limits were checked (spec §4, docs/service.md).
 * @throws Refusal 400 or 404
 */
export function route(context: Context, request: SandboxRequest): SandboxAnswer | Promise<SandboxAnswer> {
  // No `URL`: it takes what follows `//` for a host, and resolves `..`.
  const [path = ''] = request.path.split('?', 1);
  const query = new URLSearchParams(request.path.slice(path.length));
  const [root, version, inboxes, inboxId, list, item, leaf, ...rest] = path.split('/');
  if (root !== '' || version !== 'v1' || inboxes !== 'inboxes' || rest.length > 0) throw unknownPath(request);

  if (inboxId === undefined) {
    if (request.method !== 'GET') throw unknownPath(request);
    return listAnswer(context, query, context.world.inboxes, context.wire.inbox);
  }
  const inbox = context.world.inboxes.get(inboxId);
  if (inbox === undefined) throw new Refusal(404, `inbox ${inboxId} not found`);
  // Placeholders replace the ids, so that `runOperation` names each operation as the documents do.
  const isDraft = request.method === 'POST' && item === 'shared-drafts';
  const itemPattern = item !== undefined && list === 'conversations' && !isDraft ? ':conversation' : item;
  const pattern = [':inbox', list, itemPattern, leaf].filter((part) => part !== undefined).join('/');
  return runOperation(context, { operation: `${request.method} ${pattern}`, inbox, item, query, request });
}

interface Call {
  /** The method and the path after `/v1/inboxes/`, with placeholders for ids: `GET :inbox/users`. */
  readonly operation: string;
  readonly inbox: SandboxInbox;
  /** The path segment after the list's name. */
  readonly item: string | undefined;
  readonly query: URLSearchParams;
  readonly request: SandboxRequest;
}

function runOperation(
  context: Context,
  { operation, inbox, item, query, request }: Call,
): SandboxAnswer | Promise<SandboxAnswer> {
  switch (operation) {
    case 'GET :inbox':
      return jsonAnswer(200, { data: context.wire.inbox(inbox) });
    case 'GET :inbox/users':
      return listAnswer(context, query, inbox.users, context.wire.user);
    case 'GET :inbox/users/search': {
      const email = requiredParameter(query, 'email');
      const users = filterRows(inbox.users, (user) => user.email === email);
      return listAnswer(context, query, users, context.wire.user);
    }
    case 'GET :inbox/tags':
      return listAnswer(context, query, inbox.tags, context.wire.tag);
    case 'GET :inbox/tags/search': {
      const name = requiredParameter(query, 'name');
      const partial = context.options.tagSearch === 'partial';
      const tags = filterRows(inbox.tags, (tag) => (partial ? tag.name.includes(name) : tag.name === name));
      return listAnswer(context, query, tags, context.wire.tag);
    }
    case 'POST :inbox/tags':
      return createTag(context, inbox, request);
    case 'GET :inbox/conversations':
      return listAnswer(context, query, listedConversations(inbox), context.wire.conversation);
    case 'POST :inbox/conversations/shared-drafts':
      return createDraft(context, inbox, request);
    case 'GET :inbox/conversations/:conversation': {
      const conversation = findConversation(inbox, item);
      // Here, unlike in a list, the vendor's example has the id as a string: `mixed` ids follow it.
      const row = { ...context.wire.conversation(conversation), id: context.wire.id(conversation.id) };
      // A public client received an array of one element here (docs/service.md).
      const message_ids = messageIds(conversation).map((ids) => ({
        ...ids,
        hiver_message_id: exactNumber(ids.hiver_message_id),
      }));
      return jsonAnswer(200, { data: [{ ...row, message_ids }] });
    }
    case 'PATCH :inbox/conversations/:conversation':
      return updateConversation(context, inbox, findConversation(inbox, item), request);
    case 'POST :inbox/conversations/:conversation/notes':
      return createNote(context, inbox, findConversation(inbox, item), request);
    default:
      throw unknownPath(request);
  }
}

function listAnswer<T>(
  { options }: Context,
  query: URLSearchParams,
  rows: IdMap<T>,
  write: (row: T) => object,
): SandboxAnswer {
  const { ids, nextPage } = pageOf(rows.order, readPageRequest(query, options), options);
  const results = ids.map((id) => rows.get(id)).filter((row) => row !== undefined);
  const end = { null: { next_page: null }, missing: {}, empty: { next_page: '' } }[options.lastPage];
  const pagination = nextPage === null ? end : { next_page: nextPage };
  const page = { results: results.map((row) => write(row)), pagination };
  return jsonAnswer(200, options.envelope === 'data' ? { data: page } : page);
}

function listedConversations({ conversations, unlisted }: SandboxInbox): IdMap<SandboxConversation> {
  return unlisted.size === 0 ? conversations : filterRows(conversations, ({ id }) => !unlisted.has(id));
}

function filterRows<T>(rows: IdMap<T>, matches: (row: T) => boolean): IdMap<T> {
  const hits = new IdMap<T>();
  for (const [id, row] of rows) if (matches(row)) hits.set(id, row);
  return hits;
}

/**
 * Finds a conversation by the service's id or by the mail provider's thread id (spec §2.4).
 * @throws Refusal 404
 */
function findConversation({ id: inboxId, conversations }: SandboxInbox, id = ''): SandboxConversation {
  const known = conversations.get(id);
  if (known !== undefined) return known;
  for (const conversation of conversations.values())
    if (conversation.gmail_thread_id === id) return conversation;
  throw new Refusal(404, `conversation ${id} not found in inbox ${inboxId}`);
}

function requiredParameter(query: URLSearchParams, name: string): string {
  const value = query.get(name);
  if (value === null || value === '') throw new Refusal(400, `required parameter '${name}' is missing`);
  return value;
}

function unknownPath({ method, path }: SandboxRequest): Refusal {
  return new Refusal(
    404,
    `unknown operation ${method} ${path.split('?')[0]}; every path starts with /v1/inboxes`,
  );
}
