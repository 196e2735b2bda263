import { hash as digest } from 'node:crypto';
import { z } from 'zod';
import { plural } from '../core/humanize.ts';
import { canonicalJson, isExactNumber } from '../core/json.ts';
import { COLUMNS, type Item, type ListName, type Value } from '../core/lists.ts';
import { type Decoded, flawOf, storablePart } from './flaws.ts';
import { epochToIso, textToIso, threadStart } from './timestamps.ts';

/** At most 64 digits: spec §2 gives no length. A provider's id of a user may have 21. */
const ID = /^\d{1,64}$/;

/** An id as text with all its digits, from a string or a number (docs/service.md). */
const id = z.unknown().transform((value, context) => {
  const text = isExactNumber(value) ? value.rawJSON : typeof value === 'number' ? String(value) : value;
  if (typeof text === 'string' && ID.test(text)) return text;
  context.addIssue(`is ${value === undefined ? 'missing' : 'not an id of digits'}`);
  return z.NEVER;
});

/** An id that may be absent. Programs without a null write `""` or 0, and no item has such an id. */
const maybeId = z.preprocess(
  (value) => (value === 0 || (typeof value === 'string' && /^0*$/.test(value)) ? null : value),
  id.nullish().transform((value) => value ?? null),
);

/**
 * At most this many characters in a text: every change of it is kept, shown and delivered. Zod's `max` would
 * also compare the `length` of an object that is no text, and such a number may be an exact one.
 */
const LONGEST_TEXT = 65_536;
const text = z
  .string('is not text')
  .refine(({ length }) => length <= LONGEST_TEXT, 'is too long')
  .nullish()
  .transform((value) => value ?? null);

/** A conversation with more tags is a reject. */
const MOST_TAGS = 1000;

/** At most 250 characters: an index holds two statuses of a change, and PostgreSQL allows it 2,700 bytes. */
const LONGEST_STATUS = 250;
const status = text.refine((value) => value === null || value.length <= LONGEST_STATUS, 'is too long');
const boolean = z
  .boolean('is not a boolean')
  .nullish()
  .transform((value) => value ?? null);

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** ISO 8601 from itself, or from an epoch, which may be a number or text. */
const instant = z.unknown().transform((value, context): string | null => {
  if (value === null) return null;
  const epoch = isExactNumber(value) ? value.rawJSON : value;
  const iso =
    typeof epoch === 'number' || (typeof epoch === 'string' && NUMBER.test(epoch))
      ? epochToIso(Number(epoch))
      : typeof epoch === 'string'
        ? textToIso(epoch)
        : null;
  if (iso === null) context.addIssue('is not a timestamp');
  return iso;
});
const maybeInstant = instant.optional();

/**
 * An object inside a row. `[]`, `""` and 0 mean none: PHP writes an empty object so. It rejects an exact
 * number, which is an object in JavaScript but not in JSON.
 */
function maybeObject<Shape extends z.ZodRawShape>(shape: Shape) {
  const inner = z.looseObject(shape, 'is not an object').nullish();
  const isEmpty = (value: unknown): boolean =>
    value === '' || value === 0 || (Array.isArray(value) && value.length === 0);
  return z
    .preprocess((value) => (isEmpty(value) ? null : isExactNumber(value) ? Number.NaN : value), inner)
    .optional();
}

const inbox = z.looseObject({
  id,
  display_name: text,
  channel_type: text,
  email: text,
  inbox_type: text,
  is_authorised: boolean,
  source_user: maybeObject({ id: maybeId, email: text }),
  created_at: maybeInstant,
  updated_at: maybeInstant,
});
const user = z.looseObject({
  id,
  first_name: text,
  last_name: text,
  email: text,
  phone_number: text,
  is_joined: boolean,
});
const tag = z.looseObject({ id, name: text, color_code: text, type: text, created_at: maybeInstant });
const conversation = z.looseObject({
  id,
  status,
  // Unassigned: null, a missing field, an empty object in any form, or a null id (docs/service.md).
  assignee: maybeObject({ assignee_type: text, assignee_id: maybeId }),
  // A longer list is not looked into: it would give a fault for each of its entries.
  tag_ids: z
    .array(z.unknown(), 'is not an array')
    .refine(({ length }) => length <= MOST_TAGS, { error: 'has too many entries', abort: true })
    .pipe(z.array(id))
    .nullish(),
  gmail_thread_id: text,
  private_permalink: text,
});

type Columns = Readonly<Record<string, Value>>;

/** How to read a row of each list: its shape, the fields that spec §2 promises, and its columns. */
const RESOURCES = {
  inboxes: resource(inbox, ['source_user'], ({ source_user, ...row }) => ({
    ...pick('inboxes', row),
    source_user_id: source_user?.id ?? null,
    source_user_email: source_user?.email ?? null,
  })),
  users: resource(user, ['first_name', 'last_name', 'email', 'phone_number', 'is_joined'], (row) =>
    pick('users', row),
  ),
  tags: resource(tag, ['name', 'color_code', 'type', 'created_at'], (row) => pick('tags', row)),
  conversations: resource(conversation, ['status', 'tag_ids'], (row) => ({
    status: row.status,
    // Without an id the conversation is unassigned, whatever its assignee's type.
    assignee_type: row.assignee?.assignee_id ? row.assignee.assignee_type : null,
    assignee_id: row.assignee?.assignee_id ?? null,
    thread_id: row.gmail_thread_id,
    thread_started_at: threadStart(row.gmail_thread_id),
    permalink: row.private_permalink,
  })),
} satisfies Record<ListName, Resource>;

interface Resource {
  readonly fields: ReadonlySet<string>;
  readonly promised: readonly string[];
  read(
    row: unknown,
  ): { ok: true; id: string; columns: Columns; tags: string[] | null } | { ok: false; reason: string };
}

function resource<Shape extends z.ZodObject>(
  shape: Shape,
  promised: string[],
  columnsOf: (row: z.output<Shape>) => Columns,
): Resource {
  return {
    fields: new Set(Object.keys(shape.shape)),
    promised,
    read(row) {
      const parsed = shape.safeParse(isExactNumber(row) ? null : row);
      if (!parsed.success) return { ok: false, reason: explain(parsed.error) };
      const { id: itemId, tag_ids: tagIds } = parsed.data as { id: string; tag_ids?: string[] | null };
      return {
        ok: true,
        id: itemId,
        columns: columnsOf(parsed.data),
        // Null says that there are none, as for an assignee. A missing field says nothing.
        tags: tagIds === undefined ? null : [...new Set(tagIds)].sort(),
      };
    },
  };
}

function pick(list: ListName, row: Record<string, unknown>): Columns {
  return Object.fromEntries(
    Object.keys(COLUMNS[list]).map((column) => [column, (row[column] ?? null) as Value]),
  );
}

/** At most this many faults of a row are named. */
const MOST_FAULTS = 5;

function explain({ issues }: z.ZodError): string {
  const named = issues
    .slice(0, MOST_FAULTS)
    .map(({ path, message }) =>
      path.length === 0 ? 'the row is not an object' : `${path.join('.')} ${message}`,
    );
  const more = issues.length - named.length;
  return [...named, ...(more > 0 ? [`and ${plural(more, 'more fault')}`] : [])].join('; ');
}

/** A row that cannot be read: the reason, and its JSON without the fields that may not be stored. */
export interface Reject {
  /** Null if the id cannot be read either. */
  readonly id: string | null;
  readonly reason: string;
  readonly raw: string;
}

export interface ReadRows {
  readonly items: Item[];
  readonly rejects: Reject[];
  /** Promised fields that rows lacked, with the number of those rows. */
  readonly lacking: Readonly<Record<string, number>>;
}

/** A link that opens the conversation to anyone. Stored only if the user asks for it (docs/service.md). */
const PUBLIC_PERMALINK = 'public_permalink';

/** Only the answer for a single conversation has this field: if stored, the next page would look changed. */
const DETAIL_FIELD = 'message_ids';

/** The fields that the mirror reads from the objects inside a row. */
const READ_INSIDE: Readonly<Record<string, ReadonlySet<string>>> = {
  source_user: new Set(['id', 'email']),
  assignee: new Set(['assignee_type', 'assignee_id']),
};

interface ReadOptions {
  readonly storePublicPermalink: boolean;
  /** Of the answer, see {@link Decoded}; by default null. */
  readonly mark?: Decoded['mark'] | undefined;
}

/** Reads the rows of one answer. An unreadable row becomes a reject and does not affect the others. */
export function readRows(
  list: ListName,
  rows: readonly unknown[],
  { storePublicPermalink, mark = null }: ReadOptions,
): ReadRows {
  const { fields, promised, read } = RESOURCES[list];
  const items: Item[] = [];
  const rejects: Reject[] = [];
  const lacking: Record<string, number> = {};
  for (const row of rows) {
    const stored = withoutPrivateFields(row, storePublicPermalink);
    const raw = JSON.stringify(stored);
    const flaw = flawOf(raw, mark);
    if (flaw !== null) {
      rejects.push({ id: idOf(stored), reason: flaw, raw: storablePart(raw, mark) });
      continue;
    }
    const result = read(stored);
    if (!result.ok) {
      rejects.push({ id: idOf(stored), reason: result.reason, raw });
      continue;
    }
    for (const field of promised)
      if ((stored as Record<string, unknown>)[field] === undefined)
        lacking[field] = (lacking[field] ?? 0) + 1;
    const { id: itemId, columns, tags } = result;
    items.push({
      id: itemId,
      columns,
      tags,
      raw,
      hash: contentHash(columns, tags, stored as object, fields),
    });
  }
  return { items, rejects, lacking };
}

/** The id of a row that cannot be read as a whole; null if it has no readable one. */
function idOf(row: unknown): string | null {
  return z.looseObject({ id }).safeParse(isExactNumber(row) ? null : row).data?.id ?? null;
}

/** The row without {@link DETAIL_FIELD}, and without {@link PUBLIC_PERMALINK} unless it may be stored. */
function withoutPrivateFields(row: unknown, storePublicPermalink: boolean): unknown {
  if (row === null || typeof row !== 'object' || Array.isArray(row) || isExactNumber(row)) return row;
  const { [DETAIL_FIELD]: _detail, [PUBLIC_PERMALINK]: permalink, ...rest } = row as Record<string, unknown>;
  return storePublicPermalink && permalink !== undefined ? { ...rest, [PUBLIC_PERMALINK]: permalink } : rest;
}

/** Hashes known fields as read (ids as digits, tags in any order) and unknown fields as they came. */
function contentHash(
  columns: Columns,
  tags: string[] | null,
  row: object,
  fields: ReadonlySet<string>,
): string {
  const unknown = Object.entries(row).flatMap(([field, value]: [string, unknown]) =>
    fields.has(field) ? unknownInside(field, value) : [[field, value] as const],
  );
  const rest = unknown.length === 0 ? '{}' : canonicalJson(Object.fromEntries(unknown));
  return digest('sha256', JSON.stringify([Object.values(columns), tags]) + rest, 'base64url').slice(0, 22);
}

function unknownInside(field: string, value: unknown): (readonly [string, unknown])[] {
  const known = READ_INSIDE[field];
  if (known === undefined || value === null || typeof value !== 'object') return [];
  return Object.entries(value)
    .filter(([inner]) => !known.has(inner))
    .map(([inner, part]) => [`${field}.${inner}`, part] as const);
}
