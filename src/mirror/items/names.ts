import type { ListName } from '../../core/lists.ts';
import type { Database } from '../../database/database.ts';
import { changeAsJson, type ChangeJson } from '../history/json.ts';
import type { ChangeRecord } from '../history/read.ts';

/**
 * A change with the present names of the ids in it, for people: at most 200 characters of each. Null: there
 * is none, or it is unknown.
 */
export interface NamedChange extends ChangeRecord {
  /** The inbox's name. */
  readonly inbox: string | null;
  /** The name of a person, a tag or an inbox that has changed. */
  readonly item: string | null;
  /** The name of the assignee or the tag in `oldValue`, and in `newValue`. */
  readonly oldName: string | null;
  readonly newName: string | null;
  /** Where the service shows the conversation; null if it has more than 2,000 characters. */
  readonly permalink: string | null;
  /** The names of the ids in a conversation's `itemValues`. */
  readonly itemNames: ItemNames | null;
}

/** The name of a conversation's assignee, and those of its tags, in the order of their ids. */
export interface ItemNames {
  readonly assignee_id: string | null;
  readonly tags: readonly (string | null)[];
}

/** The name of each item of a list, with its ids: `inbox_id`, `id` and `name`. */
const SOURCES: Readonly<Record<ListName, string>> = {
  inboxes: `SELECT id AS inbox_id, id, display_name AS name FROM inboxes`,
  users: `
    SELECT inbox_id, id, coalesce(
      nullif(trim(coalesce(first_name, '') || ' ' || coalesce(last_name, '')), ''), email) AS name
    FROM inbox_users`,
  tags: `SELECT inbox_id, id, name FROM inbox_tags`,
  conversations: `SELECT inbox_id, id, permalink AS name FROM conversations`,
};

/** A name beside an id is a label: one change can have thousands of them. */
const MOST_NAME = 200;

/** A cut link leads nowhere, so that a longer one is left out. */
const MOST_LINK = 2000;

/** SQL: a name as a change has it. */
const SHORT: Readonly<Record<'name' | 'link', string>> = {
  name: `CASE WHEN length(found.name) > ${MOST_NAME}
    THEN substr(found.name, 1, ${MOST_NAME - 1}) || '…' ELSE found.name END`,
  link: `CASE WHEN length(found.name) <= ${MOST_LINK} THEN found.name END`,
};

/** The list that a conversation's field refers to. */
const REFERS_TO: Readonly<Record<string, ListName>> = { assignee_id: 'users', tags: 'tags' };

interface Wanted {
  readonly list: ListName;
  readonly inbox_id: string;
  readonly id: string;
}

/** Reads the names of what has changed. Rows are never removed, so a deleted person keeps the name. */
export class Names {
  readonly #database: Pick<Database, 'query' | 'dialect'>;

  constructor(database: Pick<Database, 'query' | 'dialect'>) {
    this.#database = database;
  }

  /** Adds the names with at most one query for each kind of list. */
  async of(changes: readonly ChangeRecord[]): Promise<NamedChange[]> {
    const names = await this.#read(changes.flatMap(wantedBy));
    const nameOf = (list: ListName | undefined, inboxId: string | null, id: string | null): string | null =>
      list === undefined ? null : (names.get(keyOf(list, inboxId ?? '', id ?? '')) ?? null);
    return changes.map((change) => {
      const { list, inboxId, itemId, field, oldValue, newValue } = change;
      const seen = seenIds(change);
      const shown = nameOf(list, list === 'inboxes' ? itemId : inboxId, itemId);
      const isConversation = list === 'conversations';
      const refersTo = isConversation ? REFERS_TO[field] : undefined;
      return {
        ...change,
        inbox: nameOf('inboxes', inboxId, inboxId),
        item: isConversation ? null : shown,
        oldName: nameOf(refersTo, inboxId, oldValue),
        newName: nameOf(refersTo, inboxId, newValue),
        permalink: isConversation ? shown : null,
        itemNames: seen && {
          assignee_id: nameOf('users', inboxId, seen.assignee),
          tags: seen.tags.map((id) => nameOf('tags', inboxId, id)),
        },
      };
    });
  }

  /** Every inbox that the mirror has had, in numeric order of the ids. */
  async inboxes(): Promise<{ id: string; name: string | null }[]> {
    return await this.#database.query(`SELECT id, display_name AS name FROM inboxes ORDER BY length(id), id`);
  }

  /** True if the mirror has had an inbox, user, tag or conversation with this id. */
  async hasItem(id: string): Promise<boolean> {
    const inInboxes = ['inbox_users', 'inbox_tags', 'conversations'].map(
      (table) =>
        `EXISTS (SELECT 1 FROM inboxes JOIN ${table} AS item ON item.inbox_id = inboxes.id AND item.id = $1)`,
    );
    const [row] = await this.#database.query<{ found: boolean | number }>(
      `SELECT EXISTS (SELECT 1 FROM inboxes WHERE id = $1) OR ${inInboxes.join(' OR ')} AS found`,
      id,
    );
    return Boolean(row?.found);
  }

  async #read(wanted: readonly Wanted[]): Promise<Map<string, string | null>> {
    const { query, dialect } = this.#database;
    const names = new Map<string, string | null>();
    for (const [list, items] of Map.groupBy(wanted, (item) => item.list)) {
      const once = new Map(items.map((item) => [keyOf(list, item.inbox_id, item.id), item]));
      const rows = await query<{ inbox_id: string; id: string; name: string | null }>(
        `SELECT wanted.inbox_id, wanted.id, ${SHORT[list === 'conversations' ? 'link' : 'name']} AS name
         FROM ${dialect.records('$1', { inbox_id: 'text', id: 'text' }, 'wanted')}
         JOIN (${SOURCES[list]}) AS found ON found.inbox_id = wanted.inbox_id AND found.id = wanted.id`,
        JSON.stringify([...once.values()]),
      );
      for (const row of rows) names.set(keyOf(list, row.inbox_id, row.id), row.name);
    }
    return names;
  }
}

/** The ids that a conversation was seen with; null for another change. */
function seenIds({ list, itemValues }: ChangeRecord): { assignee: string | null; tags: string[] } | null {
  if (list !== 'conversations' || itemValues === null) return null;
  const { assignee_id: assignee, tags } = itemValues;
  return {
    assignee: typeof assignee === 'string' ? assignee : null,
    tags: Array.isArray(tags) ? [...tags] : [],
  };
}

/** The items that a change names. */
function wantedBy(change: ChangeRecord): Wanted[] {
  const { list, inboxId, itemId, field, oldValue, newValue } = change;
  if (list === 'inboxes' || inboxId === null) return [{ list, inbox_id: itemId, id: itemId }];
  const refersTo = list === 'conversations' ? REFERS_TO[field] : undefined;
  const seen = seenIds(change);
  const values = refersTo === undefined ? [] : [oldValue, newValue].filter((value) => value !== null);
  return [
    { list: 'inboxes', inbox_id: inboxId, id: inboxId },
    { list, inbox_id: inboxId, id: itemId },
    ...values.map((id) => ({ list: refersTo ?? list, inbox_id: inboxId, id })),
    ...(seen === null || seen.assignee === null
      ? []
      : [{ list: 'users' as const, inbox_id: inboxId, id: seen.assignee }]),
    ...(seen?.tags ?? []).map((id) => ({ list: 'tags' as const, inbox_id: inboxId, id })),
  ];
}

function keyOf(list: ListName, inboxId: string, id: string): string {
  return `${list} ${inboxId} ${id}`;
}

/**
 * A change under its columns' names, and then its names (docs/commands.md). The command `changes`,
 * GET /changes and the webhook share this form. Fields may be added, never renamed.
 */
export function namedChangeAsJson(change: NamedChange): ChangeJson {
  const { inbox, item, oldName, newName, permalink, itemValues, itemNames } = change;
  const names = { inbox, item, old_name: oldName, new_name: newName, permalink };
  return { ...changeAsJson(change), ...names, item_values: itemValues, item_names: itemNames };
}

/** One JSON object a line. */
export function asNdjson(changes: readonly NamedChange[]): string {
  return changes.map((change) => `${JSON.stringify(namedChangeAsJson(change))}\n`).join('');
}
