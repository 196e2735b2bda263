import { extname } from 'node:path';
import type { SandboxConversation, SandboxInbox, SandboxNote, SandboxUser } from '../world/rows.ts';
import { readFields } from './bodies.ts';
import type { Context } from './context.ts';
import { jsonAnswer, Refusal, type SandboxAnswer, type SandboxRequest } from './messages.ts';

/**
 * Multipart body: `content` or `attachments`, `mentions[]?`, `parent_note_id?`; answer: 201 with `data` (spec
 * §4.4, docs/service.md). The author is the owner of the key, in the sandbox the inbox's source user.
 * @throws Refusal 400 without content and attachment, 404 for a parent that is not in the conversation
 */
export async function createNote(
  { world, wire, options }: Context,
  inbox: SandboxInbox,
  conversation: SandboxConversation,
  request: SandboxRequest,
): Promise<SandboxAnswer> {
  const { texts, files } = await readFields(request);
  const content = texts.get('content')?.[0] ?? '';
  const attachments = (files.get('attachments') ?? []).map(attachmentOf);
  if (content === '' && attachments.length === 0)
    throw new Refusal(400, `one of the parameters 'content', 'attachments' is required`);
  const mentions = texts.get('mentions') ?? [];
  const parent = texts.get('parent_note_id')?.[0] ?? null;
  if (parent !== null && !hasNote(inbox, conversation, parent))
    throw new Refusal(404, `note ${parent} not found in conversation ${conversation.id}`);
  const note: SandboxNote = {
    id: world.newId('others'),
    conversation_id: conversation.id,
    content: renderMentions(content, mentions, inbox.users.values()),
    mentions,
    parent_note_id: parent,
    attachments,
    created_at: new Date(options.now()).toISOString(),
  };
  inbox.notes.push(note);
  const { source_user: author } = inbox;
  return jsonAnswer(201, {
    data: {
      ...note,
      id: wire.id(note.id),
      conversation_id: wire.id(note.conversation_id),
      author: { ...author, id: wire.id(author.id) },
      parent_note_id: parent === null ? null : wire.id(parent),
    },
  });
}

function attachmentOf({ name }: File): SandboxNote['attachments'][number] {
  return { id: crypto.randomUUID(), file_name: name, file_type: extname(name).slice(1) };
}

function hasNote({ notes }: SandboxInbox, { id }: SandboxConversation, noteId: string): boolean {
  return notes.some((note) => note.id === noteId && note.conversation_id === id);
}

/** Matches a bare e-mail address. A full stop that ends a sentence is not part of it. */
const ADDRESS = /[\w.+'-]+@[\w-]+(?:\.[\w-]+)+/g;

/** Replaces each bare address of a mentioned user by an at-sign and the user's name (spec §4.4). */
function renderMentions(content: string, mentions: string[], users: Iterable<SandboxUser>): string {
  const names = new Map(Array.from(users, (user) => [user.email, `@${user.first_name} ${user.last_name}`]));
  return content.replace(ADDRESS, (email) => (mentions.includes(email) ? names.get(email) : null) ?? email);
}
