import type { TagRow } from './conversation.ts';
import type { Read } from './lane.ts';

/** At most this many conversations, and tags, on an inbox's page. */
const MOST_CONVERSATIONS = 25;
const MOST_TAGS = 20;

/** An inbox as it is now. */
export interface InboxRow {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly is_authorised: boolean | number | null;
  /** ISO 8601 UTC. */
  readonly deleted_at: string | null;
  /** ISO 8601 UTC; null: the list of inboxes shows it. */
  readonly missing_since: string | null;
}

/** The work of an assignee in one inbox. */
export interface AssigneeWork {
  readonly assignee_id: string;
  readonly assignee: string | null;
  readonly open: number;
  readonly pending: number;
}

/** How many conversations carry a tag of an inbox. */
export interface TagWork extends TagRow {
  readonly inbox_id: string;
  readonly inbox: string | null;
  readonly conversations: number;
  readonly not_closed: number;
  /** How many rows there are in all. */
  readonly in_all: number;
}

/** SQL: tags that conversations carry, with their work and their inbox, the most work first. */
export function tagWork(condition: string): string {
  return `SELECT tag_volume.tag_id AS id, tag_volume.tag AS name, tags.color_code, tag_volume.inbox_id,
       inboxes.display_name AS inbox, tag_volume.conversations, tag_volume.not_closed,
       CAST(count(*) OVER () AS INTEGER) AS in_all
     FROM tag_volume
     JOIN inboxes ON inboxes.id = tag_volume.inbox_id
     LEFT JOIN inbox_tags AS tags ON tags.inbox_id = tag_volume.inbox_id AND tags.id = tag_volume.tag_id
     WHERE tag_volume.conversations > 0 AND ${condition}
     ORDER BY tag_volume.not_closed DESC, tag_volume.conversations DESC, tag_volume.inbox_id,
       tag_volume.tag_id`;
}

/** A conversation of a list. */
export interface ListedConversation {
  readonly id: string;
  readonly status: string | null;
  readonly assignee_id: string | null;
  readonly assignee: string | null;
  /** ISO 8601 UTC. */
  readonly changed_at: string;
  /** It has not changed since the mirror first saw it: it may have changed last before. */
  readonly is_lower_bound: boolean | number | null;
  readonly permalink: string | null;
}

export interface WholeInbox {
  readonly now: InboxRow;
  readonly assignees: readonly AssigneeWork[];
  readonly tags: readonly TagWork[];
  /** Not closed, those that changed last first. */
  readonly conversations: readonly ListedConversation[];
}

/** An inbox with its work; null if the mirror has never seen it. */
export async function readInbox(read: Read, inboxId: string): Promise<WholeInbox | null> {
  const [now] = await read<InboxRow>(
    `SELECT id, display_name AS name, email, is_authorised, deleted_at, missing_since
     FROM inboxes WHERE id = $1`,
    inboxId,
  );
  if (now === undefined) return null;
  const assignees = await read<AssigneeWork>(
    `SELECT assignee_id, assignee, open, pending FROM assignee_workload WHERE inbox_id = $1
     ORDER BY open + pending DESC, lower(assignee), assignee_id`,
    inboxId,
  );
  const tags = await read<TagWork>(
    `${tagWork('tag_volume.inbox_id = $1')}
     LIMIT ${MOST_TAGS}`,
    inboxId,
  );
  return { now, assignees, tags, conversations: await readOpen(read, inboxId) };
}

async function readOpen(read: Read, inboxId: string): Promise<ListedConversation[]> {
  return await read<ListedConversation>(
    `SELECT conversation_id AS id, status, assignee_id, assignee, unchanged_since AS changed_at, permalink,
       CASE WHEN unchanged_since > since THEN NULL ELSE is_lower_bound END AS is_lower_bound
     FROM oldest_open WHERE inbox_id = $1
     ORDER BY unchanged_since DESC, conversation_id LIMIT ${MOST_CONVERSATIONS}`,
    inboxId,
  );
}
