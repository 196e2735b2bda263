import { nameOfUser } from './names.ts';

/** A change with the names of what it is about. Instants are ISO 8601 UTC. */
export interface ChangeRow {
  readonly id: number;
  readonly observed_at: string;
  /** Null: no earlier sighting is stored. */
  readonly previously_seen_at: string | null;
  readonly list: 'inboxes' | 'users' | 'tags' | 'conversations';
  readonly inbox_id: string | null;
  readonly inbox: string | null;
  readonly item_id: string;
  /** The name of an inbox, a user or a tag. */
  readonly item: string | null;
  readonly field: string;
  readonly old_value: string | null;
  readonly new_value: string | null;
  /** The name of the user or tag whose id is the value. */
  readonly old_name: string | null;
  readonly new_name: string | null;
}

/**
 * SQL: every change with its names; a WHERE and an ORDER BY follow. A name is the present one, also of what
 * was deleted since.
 */
export const NAMED_CHANGES = `SELECT changes.id, changes.observed_at, changes.previously_seen_at,
    changes.list,
    coalesce(changes.inbox_id, CASE WHEN changes.list = 'inboxes' THEN changes.item_id END) AS inbox_id,
    inboxes.display_name AS inbox, changes.item_id, changes.field, changes.old_value, changes.new_value,
    CASE changes.list WHEN 'inboxes' THEN inboxes.display_name
      WHEN 'users' THEN ${nameOfUser('item_users')} WHEN 'tags' THEN item_tags.name END AS item,
    coalesce(${nameOfUser('old_users')}, old_tags.name) AS old_name,
    coalesce(${nameOfUser('new_users')}, new_tags.name) AS new_name
  FROM changes
  LEFT JOIN inboxes ON inboxes.id
    = coalesce(changes.inbox_id, CASE WHEN changes.list = 'inboxes' THEN changes.item_id END)
  LEFT JOIN inbox_users AS item_users ON changes.list = 'users'
    AND item_users.inbox_id = changes.inbox_id AND item_users.id = changes.item_id
  LEFT JOIN inbox_tags AS item_tags ON changes.list = 'tags'
    AND item_tags.inbox_id = changes.inbox_id AND item_tags.id = changes.item_id
  LEFT JOIN inbox_users AS old_users ON changes.field = 'assignee_id'
    AND old_users.inbox_id = changes.inbox_id AND old_users.id = changes.old_value
  LEFT JOIN inbox_users AS new_users ON changes.field = 'assignee_id'
    AND new_users.inbox_id = changes.inbox_id AND new_users.id = changes.new_value
  LEFT JOIN inbox_tags AS old_tags ON changes.field = 'tags'
    AND old_tags.inbox_id = changes.inbox_id AND old_tags.id = changes.old_value
  LEFT JOIN inbox_tags AS new_tags ON changes.field = 'tags'
    AND new_tags.inbox_id = changes.inbox_id AND new_tags.id = changes.new_value`;
