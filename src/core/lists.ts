/** The four kinds of list that the service serves in pages. */
export const LIST_NAMES = ['inboxes', 'users', 'tags', 'conversations'] as const;
export type ListName = (typeof LIST_NAMES)[number];

/** One paginated collection: all inboxes (`inboxId` null), or an inbox's users, tags or conversations. */
export interface ListKey {
  readonly list: ListName;
  readonly inboxId: string | null;
}

/** One item of each list, in a word. */
export const ITEM_WORDS = {
  inboxes: 'inbox',
  users: 'user',
  tags: 'tag',
  conversations: 'conversation',
} as const satisfies Record<ListName, string>;

/** How SQL stores a column: text as received, a boolean, or a UTC instant. */
export type ColumnKind = 'text' | 'boolean' | 'instant';

/**
 * The columns of each list's table that mirror the service's fields, with their kinds. Reads, writes and the
 * diff use this object. Two other files name the columns again: `service/resources.ts`, as fields of the
 * service, and `prisma/models.prisma`. A test compares the tables with this object and with the models.
 */
export const COLUMNS = {
  inboxes: {
    display_name: 'text',
    channel_type: 'text',
    email: 'text',
    inbox_type: 'text',
    is_authorised: 'boolean',
    source_user_id: 'text',
    source_user_email: 'text',
    created_at: 'instant',
    updated_at: 'instant',
  },
  users: { first_name: 'text', last_name: 'text', email: 'text', phone_number: 'text', is_joined: 'boolean' },
  tags: { name: 'text', color_code: 'text', type: 'text', created_at: 'instant' },
  conversations: {
    status: 'text',
    assignee_type: 'text',
    assignee_id: 'text',
    thread_id: 'text',
    thread_started_at: 'instant',
    permalink: 'text',
  },
} as const satisfies Record<ListName, Record<string, ColumnKind>>;

/** The table that mirrors each list. */
export const TABLES: Record<ListName, string> = {
  inboxes: 'inboxes',
  users: 'inbox_users',
  tags: 'inbox_tags',
  conversations: 'conversations',
};

/**
 * The column, and the query parameter, by which the service searches a list (spec §4.3, operations 4 and 6);
 * null for a list whose items are fetched by their id.
 */
export const SEARCHED_BY = {
  inboxes: null,
  users: 'email',
  tags: 'name',
  conversations: null,
} as const satisfies Record<ListName, string | null>;

/** A mirrored value: text, a boolean, an ISO 8601 UTC instant as text, or null. */
export type Value = string | boolean | null;

/** One item of a list as the mirror stores it. `columns` has exactly the keys of `COLUMNS[list]`. */
export interface Item {
  readonly id: string;
  readonly columns: Readonly<Record<string, Value>>;
  /** Tag ids, sorted and unique; null if the item has no tags field. Only conversations have one. */
  readonly tags: readonly string[] | null;
  /** The item's JSON with every digit as received, without the fields that may not be stored. */
  readonly raw: string;
  /** Equal for two sightings of the same content, whatever the order of keys or the JSON type of ids. */
  readonly hash: string;
}

/** The service's words for a closed conversation. Views and intervals know them as one status, `CLOSED`. */
export const CLOSED_WORDS: readonly string[] = ['close', 'closed'];
export const CLOSED = 'closed';
/** The name of a missing status in views and intervals. */
export const NO_STATUS = 'none';

/** The meanings of statuses for the views; all in small letters. */
export interface StatusMeanings {
  /** A conversation with such a status needs no more work. */
  readonly final: readonly string[];
  /** It waits for an answer from outside. */
  readonly waiting: readonly string[];
}
/** The defaults of FINAL_STATUSES and WAITING_STATUSES. */
export const FINAL_STATUSES: readonly string[] = [...CLOSED_WORDS];
export const WAITING_STATUSES: readonly string[] = ['pending'];

/** A text with A to Z in small letters, as views compare statuses: databases disagree on other letters. */
export function inSmallLetters(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The name of a status in views and intervals. */
export function statusName(status: Value | undefined): string {
  if (status === null || status === undefined) return NO_STATUS;
  return CLOSED_WORDS.includes(String(status)) ? CLOSED : String(status);
}

/** The one list that belongs to no inbox. */
export const INBOXES: ListKey = { list: 'inboxes', inboxId: null };

/** The conversations of an inbox. */
export function conversationsOf(inboxId: string): ListKey & { readonly list: 'conversations' } {
  return { list: 'conversations', inboxId };
}

/** The lists of the given kinds, kind by kind: `inboxes` first, then each kind for every inbox. */
export function keysOf(lists: readonly ListName[], inboxes: readonly { readonly id: string }[]): ListKey[] {
  return LIST_NAMES.filter((list) => lists.includes(list)).flatMap((list) =>
    list === 'inboxes' ? [INBOXES] : inboxes.map(({ id }) => ({ list, inboxId: id })),
  );
}

/** All lists inbox by inbox: `inboxes` first, then the users, tags and conversations of each inbox. */
export function keysByInbox(inboxes: readonly { readonly id: string }[]): ListKey[] {
  const kinds = LIST_NAMES.filter((list) => list !== 'inboxes');
  return [INBOXES, ...inboxes.flatMap((inbox) => keysOf(kinds, [inbox]))];
}

/**
 * A list's name for people: `conversations of inbox 42`, or `conversations of Support (42)`.
 * @param inbox the inbox's name; null: it has none, or it is unknown
 */
export function describeList({ list, inboxId }: ListKey, inbox: string | null = null): string {
  if (inboxId === null) return list;
  return inbox === null ? `${list} of inbox ${inboxId}` : `${list} of ${inbox} (${inboxId})`;
}

/** The command that reads a list from its first page. */
export function resyncCommand({ list, inboxId }: ListKey): string {
  return `inbox-mirror resync ${list}${inboxId === null ? '' : ` --inbox ${inboxId}`}`;
}

/** The command with which a person accepts the deletions of a list. */
export function acceptCommand(key: ListKey): string {
  return `${resyncCommand(key)} --accept-deletes`;
}

/** A stable text key, for maps and log lines: `inboxes`, `tags/42`. */
export function listId({ list, inboxId }: ListKey): string {
  return inboxId === null ? list : `${list}/${inboxId}`;
}

/** The list that a text key names; null if it is no such key. */
export function readListId(id: string): ListKey | null {
  const slash = id.indexOf('/');
  const list = LIST_NAMES.find((name) => name === (slash === -1 ? id : id.slice(0, slash)));
  if (list === undefined) return null;
  return { list, inboxId: slash === -1 ? null : id.slice(slash + 1) };
}
