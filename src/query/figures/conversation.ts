import { type ChangeRow, NAMED_CHANGES, TELLING } from './changes.ts';
import type { Read } from './lane.ts';
import { JOIN_ASSIGNEE, USER_NAME } from './names.ts';

/** The timeline shows at most this many of the newest changes. */
export const MOST_CHANGES = 500;

/** A conversation as it is now. Instants are ISO 8601 UTC. */
export interface ConversationRow {
  readonly id: string;
  readonly inbox_id: string;
  readonly inbox: string | null;
  readonly status: string | null;
  readonly assignee_id: string | null;
  readonly assignee: string | null;
  readonly permalink: string | null;
  readonly thread_started_at: string | null;
  readonly first_seen_at: string;
  readonly changed_at: string;
  readonly missing_since: string | null;
  readonly deleted_at: string | null;
}

/** A tag that a conversation carries. */
export interface TagRow {
  readonly id: string;
  /** Null: not in the inbox's list of tags. */
  readonly name: string | null;
  readonly color_code: string | null;
}

/** The time in one status, all visits added up. */
export interface StatusTime {
  readonly status: string;
  readonly seconds: number;
  readonly visits: number;
  readonly is_lower_bound: boolean | number;
}

export interface WholeConversation {
  readonly now: ConversationRow;
  readonly tags: readonly TagRow[];
  readonly times: readonly StatusTime[];
  /** The newest first. */
  readonly changes: readonly ChangeRow[];
}

/** A conversation with its history; null if the mirror has never seen it. */
export async function readConversation(
  read: Read,
  inboxId: string,
  conversationId: string,
): Promise<WholeConversation | null> {
  const [now] = await read<ConversationRow>(
    `SELECT conversations.id, conversations.inbox_id, inboxes.display_name AS inbox, conversations.status,
       conversations.assignee_id, ${USER_NAME} AS assignee, conversations.permalink,
       conversations.thread_started_at, conversations.first_seen_at, conversations.changed_at,
       conversations.missing_since, conversations.deleted_at
     FROM conversations
     LEFT JOIN inboxes ON inboxes.id = conversations.inbox_id
     ${JOIN_ASSIGNEE}
     WHERE conversations.inbox_id = $1 AND conversations.id = $2`,
    inboxId,
    conversationId,
  );
  if (now === undefined) return null;
  const tags = await read<TagRow>(
    `SELECT links.tag_id AS id, tags.name, tags.color_code
     FROM conversation_tags AS links
     LEFT JOIN inbox_tags AS tags ON tags.inbox_id = links.inbox_id AND tags.id = links.tag_id
     WHERE links.inbox_id = $1 AND links.conversation_id = $2 ORDER BY lower(tags.name), links.tag_id`,
    inboxId,
    conversationId,
  );
  const times = await read<StatusTime>(
    `SELECT status, seconds, visits, is_lower_bound FROM time_in_status
     WHERE inbox_id = $1 AND conversation_id = $2 ORDER BY seconds DESC, status`,
    inboxId,
    conversationId,
  );
  const changes = await read<ChangeRow>(
    `${NAMED_CHANGES}
     WHERE changes.list = 'conversations' AND changes.inbox_id = $1 AND changes.item_id = $2
       AND ${TELLING}
     ORDER BY changes.id DESC LIMIT ${MOST_CHANGES}`,
    inboxId,
    conversationId,
  );
  return { now, tags, times, changes };
}
