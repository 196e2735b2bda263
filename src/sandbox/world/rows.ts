import type { IdMap } from './ids.ts';

// The world's rows, with the service's field names (spec §2, docs/service.md). Ids are text of digits here;
// `Wire` chooses their JSON type. `created_at` and `updated_at` are epoch seconds.

export interface SandboxUser {
  id: string;
  first_name: string;
  last_name: string;
  email: string;
  phone_number: string;
  is_joined: boolean;
}

export interface SandboxTag {
  id: string;
  name: string;
  color_code: string;
  type: string;
  created_at: number;
}

export interface SandboxAssignee {
  assignee_type: string;
  assignee_id: string;
}

export interface SandboxConversation {
  id: string;
  /** null: unassigned. `Wire` writes this in seven shapes. */
  assignee: SandboxAssignee | null;
  status: string;
  tag_ids: string[];
  gmail_thread_id: string;
  private_permalink: string;
  public_permalink: string;
}

export interface SandboxNote {
  id: string;
  conversation_id: string;
  /** With names in place of the mentioned addresses; empty if the note is only attachments. */
  content: string;
  mentions: string[];
  /** null: the note is no reply. */
  parent_note_id: string | null;
  attachments: { id: string; file_name: string; file_type: string }[];
  /** ISO 8601, as the service sends it. */
  created_at: string;
}

interface SandboxDraft {
  conversation_id: string;
  shared_draft_id: string;
  body: string;
  reply_type: string;
  reply_to_message_id: string;
}

export interface SandboxInbox {
  id: string;
  display_name: string;
  channel_type: string;
  email: string;
  inbox_type: string;
  is_authorised: boolean;
  source_user: { id: string; email: string };
  created_at: number;
  updated_at: number;
  readonly users: IdMap<SandboxUser>;
  readonly tags: IdMap<SandboxTag>;
  readonly conversations: IdMap<SandboxConversation>;
  /** The ids of conversations that the list leaves out, as it may do with spam. */
  readonly unlisted: Set<string>;
  /** The notes and drafts written through the service, oldest first. */
  readonly notes: SandboxNote[];
  readonly drafts: SandboxDraft[];
}

/** The fields that a test may set on a new inbox. Other methods of the world fill its lists. */
export type InboxFields = Omit<
  SandboxInbox,
  'users' | 'tags' | 'conversations' | 'unlisted' | 'notes' | 'drafts'
>;
