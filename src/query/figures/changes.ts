import { ofInboxSql } from '../../database/views/expressions.ts';
import type { Read } from './lane.ts';
import { nameOfUser, USER_NAME } from './names.ts';

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
  /** Status and assignee of a conversation that appears here; null: it is another change, or unknown. */
  readonly seen_status: string | null;
  readonly seen_assignee_id: string | null;
  readonly seen_assignee: string | null;
}

/** SQL: a value of a conversation at the moment when it appeared; NULL for another change. */
function seen(column: string): string {
  return `CASE WHEN changes.field = 'presence' AND changes.list = 'conversations'
      THEN changes.item_values ->> '${column}' END`;
}

/**
 * SQL: the columns of a change's names: of the item, of the user or tag whose id is a value, and of the
 * assignee whom a conversation was seen with. They read {@link JOIN_NAMES}. A name is the present one, also
 * of what was deleted since.
 */
export const CHANGE_NAMES = `CASE changes.list WHEN 'inboxes' THEN inboxes.display_name
      WHEN 'users' THEN ${nameOfUser('item_users')} WHEN 'tags' THEN item_tags.name END AS item,
    coalesce(${nameOfUser('old_users')}, old_tags.name) AS old_name,
    coalesce(${nameOfUser('new_users')}, new_tags.name) AS new_name,
    ${nameOfUser('seen_users')} AS seen_assignee`;

/** SQL: the joins that {@link CHANGE_NAMES} and the name of the inbox need. */
export const JOIN_NAMES = `LEFT JOIN inboxes ON inboxes.id
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
    AND new_tags.inbox_id = changes.inbox_id AND new_tags.id = changes.new_value
  LEFT JOIN inbox_users AS seen_users ON changes.field = 'presence' AND changes.list = 'conversations'
    AND seen_users.inbox_id = changes.inbox_id
    AND seen_users.id = (changes.item_values ->> 'assignee_id')`;

/** SQL: every change with its names; a WHERE and an ORDER BY follow. */
export const NAMED_CHANGES = `SELECT changes.id, changes.observed_at, changes.previously_seen_at,
    changes.list,
    coalesce(changes.inbox_id, CASE WHEN changes.list = 'inboxes' THEN changes.item_id END) AS inbox_id,
    inboxes.display_name AS inbox, changes.item_id, changes.field, changes.old_value, changes.new_value,
    ${seen('status')} AS seen_status, ${seen('assignee_id')} AS seen_assignee_id, ${CHANGE_NAMES}
  FROM changes ${JOIN_NAMES}`;

/** SQL: false for the kind of an assignee who changed at the same moment: the assignee's change says all. */
export const TELLING = `NOT (changes.field = 'assignee_type' AND EXISTS (SELECT 1 FROM changes AS same
  WHERE same.list = changes.list AND same.inbox_id = changes.inbox_id AND same.item_id = changes.item_id
    AND same.field = 'assignee_id' AND same.observed_at = changes.observed_at))`;

/** At most this many changes on a page, and in one message of a live page. */
export const MOST_SHOWN = 100;

/** At most this many people to choose from. */
const MOST_PEOPLE = 500;

/** Selects changes. Every given condition must hold. */
export interface FeedFilter {
  readonly inbox?: string | undefined;
  readonly field?: string | undefined;
  /** The id of a user: changes of the user, and conversations that the user got, had at first or lost. */
  readonly person?: string | undefined;
}

/** The newest changes below an id, the newest first. @param before null: from the newest */
export async function readNewest(
  read: Read,
  filter: FeedFilter,
  before: number | null,
): Promise<ChangeRow[]> {
  const { where, values } = conditions(filter, before === null ? [] : [['changes.id <', before]]);
  return await read<ChangeRow>(
    `${NAMED_CHANGES} ${where} ORDER BY changes.id DESC LIMIT ${MOST_SHOWN}`,
    ...values,
  );
}

/** The first changes after one id and up to another, in the order of writing. */
export async function readAfter(
  read: Read,
  filter: FeedFilter,
  { after, upTo }: { after: number; upTo: number },
): Promise<ChangeRow[]> {
  const { where, values } = conditions(filter, [
    ['changes.id >', after],
    ['changes.id <=', upTo],
  ]);
  return await read<ChangeRow>(
    `${NAMED_CHANGES} ${where} ORDER BY changes.id LIMIT ${MOST_SHOWN}`,
    ...values,
  );
}

/** A name to choose from. */
export interface Choice {
  readonly id: string;
  readonly name: string | null;
}

/** The live inboxes, and the people with their names, each in the order of names. */
export async function readChoices(read: Read): Promise<{ inboxes: Choice[]; people: Choice[] }> {
  const inboxes = await read<Choice>(
    `SELECT id, display_name AS name FROM inboxes WHERE deleted_at IS NULL ORDER BY lower(display_name), id`,
  );
  const people = await read<Choice>(
    `SELECT users.id, max(${USER_NAME}) AS name FROM inbox_users AS users
     WHERE users.deleted_at IS NULL GROUP BY users.id ORDER BY lower(max(${USER_NAME})), users.id
     LIMIT ${MOST_PEOPLE}`,
  );
  return { inboxes, people };
}

function conditions(
  { inbox, field, person }: FeedFilter,
  ids: readonly (readonly [condition: string, id: number])[],
): { where: string; values: (string | number)[] } {
  const values: (string | number)[] = [];
  const next = (value: string | number): string => `$${values.push(value)}`;
  const all = ids.map(([condition, id]) => `${condition} CAST(${next(id)} AS BIGINT)`);
  if (inbox !== undefined) all.push(ofInboxSql(next(inbox), undefined));
  if (field !== undefined) all.push(`changes.field = ${next(field)}`);
  if (person !== undefined)
    all.push(`(changes.field = 'assignee_id'
      AND (changes.old_value = ${next(person)} OR changes.new_value = ${next(person)})
      OR ${seen('assignee_id')} = ${next(person)}
      OR changes.list = 'users' AND changes.item_id = ${next(person)})`);
  return { where: `WHERE ${[...all, TELLING].join(' AND ')}`, values };
}
