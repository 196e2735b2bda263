import { exactNumber, isObject } from '../../core/json.ts';
import { findMessage } from '../world/messages.ts';
import type { SandboxConversation, SandboxInbox } from '../world/rows.ts';
import { idAsText, readFields, readJsonBody } from './bodies.ts';
import type { Context } from './context.ts';
import { jsonAnswer, Refusal, type SandboxAnswer, type SandboxRequest } from './messages.ts';

// The operations of spec §4.4, with the bodies of docs/service.md; notes are in notes.ts. Each checks the
// whole request first.

/** The sandbox gives every tag the background of the vendor's example. */
const BACKGROUND = '#f2f4f5';

/** Body: `{name, color_hexcode?, description?}`; answer: 200 with `data`. */
export function createTag(
  { world, wire }: Context,
  inbox: SandboxInbox,
  request: SandboxRequest,
): SandboxAnswer {
  const { name, color_hexcode: colour = '#3D5A80', description = '' } = readJsonBody(request);
  if (typeof name !== 'string' || name.trim() === '')
    throw new Refusal(400, `required parameter 'name' is missing`);
  if (typeof colour !== 'string' || !/^#[0-9a-f]{6}$/i.test(colour))
    throw new Refusal(400, `color_hexcode must be like '#3D5A80'`);
  const tag = world.addTag(inbox.id, { name, color_code: colour });
  return jsonAnswer(200, {
    data: {
      tag_id: wire.exampleId(tag.id),
      name,
      color_hexcode: colour,
      background_hexcode: BACKGROUND,
      smid: wire.exampleId(inbox.id),
      description,
    },
  });
}

/**
 * Body: `{status?: {name}, assignee?: {email}, tags?: {to_apply?, to_remove?}}`; answer: 204.
 * A null `assignee` or `email` unassigns the conversation.
 */
export function updateConversation(
  { world, options }: Context,
  inbox: SandboxInbox,
  conversation: SandboxConversation,
  request: SandboxRequest,
): SandboxAnswer {
  const { status, assignee, tags } = readJsonBody(request);
  if (status === undefined && assignee === undefined && tags === undefined) {
    throw new Refusal(400, `one of the parameters 'status', 'assignee', 'tags' is required`);
  }
  const { id } = conversation;
  const changes: (() => void)[] = [];
  if (status !== undefined) {
    const name = statusOf(status, options.closedStatus);
    changes.push(() => world.setStatus(inbox.id, id, name));
  }
  if (assignee !== undefined) {
    const userId = assigneeOf(assignee, inbox);
    changes.push(() => world.assign(inbox.id, id, userId));
  }
  if (tags !== undefined) {
    if (!isObject(tags)) throw new Refusal(400, `'tags' must be an object with 'to_apply' or 'to_remove'`);
    for (const tagId of tagIds(tags, 'to_apply', inbox)) changes.push(() => world.tag(inbox.id, id, tagId));
    for (const tagId of tagIds(tags, 'to_remove', inbox))
      changes.push(() => world.untag(inbox.id, id, tagId));
  }
  for (const change of changes) change();
  return { status: 204, headers: {}, body: '' };
}

function statusOf(status: unknown, closed: string): string {
  const name = isObject(status) ? status.name : undefined;
  if (name === 'open' || name === 'pending') return name;
  if (name === 'close' || name === 'closed') return closed;
  throw new Refusal(400, `status.name must be 'open', 'pending' or '${closed}'`);
}

function assigneeOf(assignee: unknown, { id, users }: SandboxInbox): string | null {
  const email = isObject(assignee) ? assignee.email : assignee;
  if (email === null) return null;
  if (!isObject(assignee) || typeof email !== 'string')
    throw new Refusal(400, `'assignee' must be an object with 'email'`);
  for (const user of users.values()) if (user.email === email) return user.id;
  throw new Refusal(404, `inbox ${id} has no user ${email}`);
}

function tagIds(
  tags: Record<string, unknown>,
  list: 'to_apply' | 'to_remove',
  inbox: SandboxInbox,
): string[] {
  const wanted = tags[list] ?? [];
  if (!Array.isArray(wanted)) throw new Refusal(400, `tags.${list} must be an array of tag ids`);
  return wanted.map((part) => {
    const id = idAsText(part) ?? '';
    if (!inbox.tags.has(id)) throw new Refusal(404, `tag ${id} not found in inbox ${inbox.id}`);
    return id;
  });
}

/**
 * Multipart body: `body`, `reply_type?`, `hiver_message_id` or `gmail_message_id`; answer: 200 with the ids
 * of conversation, draft and message in `data`.
 */
export async function createDraft(
  { world, wire }: Context,
  inbox: SandboxInbox,
  request: SandboxRequest,
): Promise<SandboxAnswer> {
  const { texts } = await readFields(request);
  const body = texts.get('body')?.[0] ?? '';
  if (body === '') throw new Refusal(400, `required parameter 'body' is missing`);
  const serviceId = texts.get('hiver_message_id')?.[0];
  const providerId = texts.get('gmail_message_id')?.[0];
  if (serviceId === undefined && providerId === undefined) {
    throw new Refusal(400, `one of the parameters 'hiver_message_id', 'gmail_message_id' is required`);
  }
  const found = findMessage(inbox.conversations.values(), {
    ...(serviceId === undefined ? {} : { hiver_message_id: serviceId }),
    ...(providerId === undefined ? {} : { gmail_message_id: providerId }),
  });
  if (found === undefined)
    throw new Refusal(404, `message ${serviceId ?? providerId} not found in inbox ${inbox.id}`);
  const draft = {
    conversation_id: found.conversation.id,
    shared_draft_id: world.newId('others'),
    reply_to_message_id: found.messageId,
  };
  inbox.drafts.push({ ...draft, body, reply_type: texts.get('reply_type')?.[0] ?? 'reply' });
  return jsonAnswer(200, {
    data: {
      id: wire.exampleId(draft.conversation_id),
      shared_draft_id: exactNumber(draft.shared_draft_id),
      reply_to_message_id: exactNumber(draft.reply_to_message_id),
    },
  });
}
