import { SECOND } from '../../core/clock.ts';
import { isMirrorError } from '../../core/errors.ts';
import { duration, onOneLine, plural } from '../../core/humanize.ts';
import type { ListName } from '../../core/lists.ts';
import type { ReadOnlyMirror } from '../result.ts';
import { readRows } from './rows.ts';

/** The states of a list (docs/sql.md, `freshness`). */
export const STATES = ['fresh', 'stale', 'never', 'unknown'] as const;

/** How current one list is (docs/sql.md, `freshness`). Its fields are those of the JSON in the documents. */
export interface ListAge {
  readonly list: ListName;
  /** Null for `inboxes`. */
  readonly inbox_id: string | null;
  /** The inbox's name. */
  readonly inbox: string | null;
  /** ISO 8601, UTC; null: the list was never complete. */
  readonly complete_as_of: string | null;
  readonly age_seconds: number | null;
  readonly state: (typeof STATES)[number];
}

/** Reads how current every list is. */
export async function readAges(mirror: Pick<ReadOnlyMirror, 'query'>): Promise<ListAge[]> {
  return (await readCopiedAges(mirror)).map(ageOf);
}

/** The age of a list without its part in the first copy. */
export function ageOf({ list, inbox_id, inbox, complete_as_of, age_seconds, state }: CopiedAge): ListAge {
  return { list, inbox_id, inbox, complete_as_of, age_seconds, state };
}

/** How current a list is, and its part in the first copy. */
export type CopiedAge = ListAge & CopiedList;

/** SQL: the columns of a {@link NamedList}. */
const NAMED_LIST = 'freshness.list, freshness.inbox_id, inboxes.display_name AS inbox';

/** SQL: all lists, those of one inbox together. */
const LISTS = `FROM freshness LEFT JOIN inboxes ON inboxes.id = freshness.inbox_id
  ORDER BY freshness.inbox_id IS NOT NULL, inboxes.display_name, freshness.inbox_id, freshness.list`;

/** Reads how current every list is, and how far the first copy is. */
export async function readCopiedAges(mirror: Pick<ReadOnlyMirror, 'query'>): Promise<CopiedAge[]> {
  const rows = await readRows<CopiedAge>(
    mirror,
    `SELECT ${NAMED_LIST}, freshness.age_seconds, freshness.state, ${COPIED_LIST} ${LISTS}`,
  );
  return rows.map((row) => ({
    ...row,
    complete_as_of: row.complete_as_of === null ? null : new Date(row.complete_as_of).toISOString(),
    age_seconds: row.age_seconds === null ? null : Math.floor(row.age_seconds),
  }));
}

/** At most 3 lists are named in a sentence. */
const MOST_NAMED = 3;

/** A sentence that says how current these lists are: the age of the oldest, and which are stale. */
export function sentenceOf(ages: readonly ListAge[]): string {
  const never = ages.filter(({ state }) => state === 'never');
  const stale = ages.filter(({ state }) => state === 'stale');
  const known = ages.flatMap(({ age_seconds }) => age_seconds ?? []);
  const parts = [plural(ages.length, 'list')];
  if (known.length > 0)
    parts.push(`, the oldest read to its end ${duration(Math.max(...known) * SECOND)} ago`);
  parts.push('.');
  if (never.length > 0) parts.push(` Incomplete, never read to the end: ${named(never)}.`);
  if (stale.length > 0) parts.push(` Stale, older than the schedule promises: ${named(stale)}.`);
  return parts.join('');
}

/** How far the first copy is: lists that were read to their end once, of all lists. */
export interface FirstCopy {
  readonly complete: number;
  readonly lists: number;
  /** Rows read so far of the lists under way. */
  readonly rows: number;
}

/** The parts of a list's state that {@link firstCopyOf} reads. */
export interface CopiedList {
  /** Null: the list was never complete. */
  readonly complete_as_of: string | null;
  /** True if it was never complete and its newest walk has failed. */
  readonly has_failed: boolean | number;
  /** Rows read so far of all lists under way. */
  readonly rows_under_way: number;
}

/** SQL: the columns of a {@link CopiedList}, read from `freshness`. */
export const COPIED_LIST = `complete_as_of,
  CASE WHEN complete_as_of IS NULL THEN coalesce((SELECT sweeps.state FROM sweeps
      WHERE sweeps.list = freshness.list
        AND (sweeps.inbox_id = freshness.inbox_id OR freshness.inbox_id IS NULL)
      ORDER BY sweeps.id DESC LIMIT 1) = 'failed', FALSE)
    ELSE FALSE END AS has_failed,
  (SELECT CAST(coalesce(sum(items), 0) AS INTEGER) FROM sweeps
    WHERE state IN ('running', 'paused')) AS rows_under_way`;

/** A list with its name. */
type NamedList = Pick<ListAge, 'list' | 'inbox_id' | 'inbox'>;

/** The lists of a mirror. Empty for a database that is not a mirror, or an old one. */
export async function readCopied(mirror: Pick<ReadOnlyMirror, 'query'>): Promise<(CopiedList & NamedList)[]> {
  try {
    return await readRows(mirror, `SELECT ${NAMED_LIST}, ${COPIED_LIST} ${LISTS}`);
  } catch (error) {
    if (isMirrorError(error, 'USAGE')) return [];
    throw error;
  }
}

/**
 * How far the first copy of these lists is; null if it is done. A list that cannot be read does not keep it
 * under way for ever: other words tell of it.
 */
export function firstCopyOf(lists: readonly CopiedList[]): FirstCopy | null {
  const complete = lists.filter(({ complete_as_of: asOf }) => asOf !== null).length;
  const failed = lists.filter(({ has_failed: hasFailed }) => Boolean(hasFailed)).length;
  const expected = complete === 0 ? lists.length : lists.length - failed;
  if (complete === expected) return null;
  return { complete, lists: expected, rows: lists[0]?.rows_under_way ?? 0 };
}

/** Names the lists of these kinds that {@link firstCopyOf} leaves out; null if there are none. */
export function failedOf(
  lists: readonly (CopiedList & NamedList)[],
  kinds: readonly ListName[],
): string | null {
  const failed = lists.filter(({ list, has_failed: hasFailed }) => hasFailed && kinds.includes(list));
  return failed.length === 0 ? null : named(failed);
}

/** How far a first copy is, in words: `5 of 13 lists and 1,200 rows of the others`. */
export function progressOf({ complete, lists, rows }: FirstCopy): string {
  const others = rows === 0 ? '' : ` and ${plural(rows, 'row')} of the others`;
  return `${complete} of ${plural(lists, 'list')}${others}`;
}

/** True if a person must be warned of a list. */
export function isBehind({ state }: ListAge): boolean {
  return state === 'stale' || state === 'never';
}

function named(ages: readonly NamedList[]): string {
  const names = ages.slice(0, MOST_NAMED).map(({ list, inbox_id, inbox }) => {
    const name =
      inbox === null ? `inbox ${inbox_id}` : `${JSON.stringify(onOneLine(inbox, 40))} (${inbox_id})`;
    return inbox_id === null ? list : `${list} of ${name}`;
  });
  const more = ages.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}
