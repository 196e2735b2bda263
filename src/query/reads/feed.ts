import { MirrorError } from '../../core/errors.ts';
import type { ListName } from '../../core/lists.ts';
import { iso } from '../../database/instants.ts';
import { ofInboxSql } from '../../database/views/expressions.ts';
import { CHANGE_NAMES, JOIN_NAMES } from '../figures/changes.ts';
import { JOIN_ASSIGNEE } from '../figures/names.ts';
import { nearest } from '../nearest.ts';
import type { Cell } from '../result.ts';
import type { BoundedRead, BoundedRows, Bounds } from './bounded.ts';
import { checkField } from './filter-checks.ts';

/** Selects changes. Every given condition must hold. */
export interface FeedFilter {
  readonly list?: ListName | undefined;
  /** The id or the name of an inbox: selects the changes in it, and those of the inbox itself. */
  readonly inbox?: string | undefined;
  readonly item?: string | undefined;
  readonly field?: string | undefined;
  /** Seen at this instant or later. */
  readonly since?: Date | undefined;
  /** After the change with this id. */
  readonly afterId?: number | undefined;
}

/**
 * The newest changes first; with `afterId` the oldest first. Each has its names beside its ids.
 * @throws MirrorError `USAGE` for an inbox, an item or a field that does not exist
 */
export async function readFeed(
  read: BoundedRead,
  { list, inbox, item, field, since, afterId }: FeedFilter,
  bounds: Bounds,
): Promise<BoundedRows> {
  if (field !== undefined) checkField(field, list);
  const values: Cell[] = [];
  const conditions = [`1 = 1`];
  const add = (column: string, comparison: string, value: Cell | undefined): void => {
    if (value !== undefined) conditions.push(`changes.${column} ${comparison} $${values.push(value)}`);
  };
  add('list', '=', list);
  if (inbox !== undefined) conditions.push(ofInboxSql(`$${values.push(await findInbox(read, inbox))}`, list));
  add('item_id', '=', item);
  add('field', '=', field);
  add('observed_at', '>=', since === undefined ? undefined : iso(since));
  if (afterId !== undefined) conditions.push(`changes.id > ${afterId}`);
  const order = afterId === undefined ? 'DESC' : 'ASC';
  const found = await read(
    `SELECT changes.id, changes.observed_at, changes.previously_seen_at, changes.list, changes.inbox_id,
       inboxes.display_name AS inbox, changes.item_id, changes.field, changes.old_value, changes.new_value,
       ${CHANGE_NAMES}, changes.item_values
     FROM changes ${JOIN_NAMES}
     WHERE ${conditions.join(' AND ')} ORDER BY changes.id ${order} LIMIT ${bounds.rows + 1}`,
    values,
    bounds,
  );
  if (found.rows.length === 0 && item !== undefined) await checkItem(read, item);
  return found;
}

/** Refuses an id that the mirror has never had. @throws MirrorError `USAGE` */
async function checkItem(read: BoundedRead, id: string): Promise<void> {
  const inInboxes = ['inbox_users', 'inbox_tags', 'conversations'].map(
    (table) =>
      `EXISTS (SELECT 1 FROM inboxes JOIN ${table} AS item ON item.inbox_id = inboxes.id AND item.id = $1)`,
  );
  const { rows } = await read(
    `SELECT 1 WHERE EXISTS (SELECT 1 FROM inboxes WHERE id = $1) OR ${inInboxes.join(' OR ')}`,
    [id],
    { rows: 1, characters: 1000 },
  );
  if (rows.length > 0) return;
  throw new MirrorError(
    'USAGE',
    `The mirror has no conversation, tag, user or inbox with the id ${JSON.stringify(id)}. ` +
      'The ids are in the tables conversations, inbox_tags, inbox_users and inboxes.',
  );
}

/** A conversation in each inbox that has it, and its history. */
export interface ConversationRecord {
  readonly rows: BoundedRows;
  readonly tags: BoundedRows;
  /** The newest first. */
  readonly changes: BoundedRows;
}

/** @throws MirrorError `USAGE` if the mirror has no such conversation */
export async function readConversation(
  read: BoundedRead,
  id: string,
  bounds: Bounds,
): Promise<ConversationRecord> {
  const rows = await read(
    `SELECT conversations.inbox_id, inboxes.display_name AS inbox, conversations.id, conversations.status,
       conversations.assignee_id, users.first_name AS assignee_first_name,
       users.last_name AS assignee_last_name, conversations.permalink,
       conversations.thread_started_at, conversations.first_seen_at, conversations.changed_at,
       conversations.deleted_at
     FROM inboxes
     JOIN conversations ON conversations.inbox_id = inboxes.id AND conversations.id = $1
     ${JOIN_ASSIGNEE}`,
    [id],
    bounds,
  );
  if (rows.rows.length === 0)
    throw new MirrorError(
      'USAGE',
      `The mirror has no conversation ${JSON.stringify(id)}. ` +
        'Find ids with a query on the table conversations.',
    );
  const tags = await read(
    `SELECT conversation_tags.inbox_id, conversation_tags.tag_id, inbox_tags.name AS tag
     FROM inboxes
     JOIN conversation_tags
       ON conversation_tags.inbox_id = inboxes.id AND conversation_tags.conversation_id = $1
     LEFT JOIN inbox_tags
       ON inbox_tags.inbox_id = conversation_tags.inbox_id AND inbox_tags.id = conversation_tags.tag_id`,
    [id],
    bounds,
  );
  const changes = await read(
    `SELECT changes.id, changes.observed_at, changes.previously_seen_at, changes.inbox_id, changes.field,
       changes.old_value, changes.new_value, ${CHANGE_NAMES}, changes.item_values
     FROM changes ${JOIN_NAMES}
     WHERE changes.list = 'conversations' AND changes.item_id = $1
       AND changes.inbox_id IN (SELECT id FROM inboxes)
     ORDER BY changes.id DESC LIMIT ${bounds.rows + 1}`,
    [id],
    bounds,
  );
  return { rows, tags, changes };
}

/** At most this many inboxes are compared with a name. */
const MOST_INBOXES = 1000;

/** The id of an inbox by its id or its name. @throws MirrorError `USAGE` with ids of others */
async function findInbox(read: BoundedRead, text: string): Promise<string> {
  const { rows } = await read(
    'SELECT id, display_name FROM inboxes ORDER BY deleted_at IS NOT NULL, id',
    [],
    { rows: MOST_INBOXES, characters: Number.POSITIVE_INFINITY },
  );
  const inboxes = rows.map(([id, name]) => ({ id: String(id), name: String(name ?? '') }));
  const byId = inboxes.find(({ id }) => id === text);
  if (byId !== undefined) return byId.id;
  const named = inboxes.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  const [first] = named;
  if (first !== undefined && named.length === 1) return first.id;
  const near = nearest(
    text,
    inboxes.map(({ name }) => name),
  );
  const those = named.length > 1 ? named : inboxes.filter(({ name }) => near.includes(name));
  const ids = (those.length > 0 ? those : inboxes.slice(0, 5)).map(({ id }) => id);
  throw new MirrorError(
    'USAGE',
    `${named.length > 1 ? 'More than one inbox is' : 'No inbox is'} named ${JSON.stringify(text)}. ` +
      `Name one by its id, such as: ${ids.join(', ')}. Their names are in the table inboxes.`,
  );
}
