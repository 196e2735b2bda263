import { SECOND } from '../../core/clock.ts';
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
  const rows = await readRows<ListAge>(
    mirror,
    `SELECT freshness.list, freshness.inbox_id, inboxes.display_name AS inbox, freshness.complete_as_of,
       freshness.age_seconds, freshness.state
     FROM freshness LEFT JOIN inboxes ON inboxes.id = freshness.inbox_id
     ORDER BY freshness.inbox_id IS NOT NULL, inboxes.display_name, freshness.inbox_id, freshness.list`,
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

/** True if a person must be warned of a list. */
export function isBehind({ state }: ListAge): boolean {
  return state === 'stale' || state === 'never';
}

function named(ages: readonly ListAge[]): string {
  const names = ages.slice(0, MOST_NAMED).map(({ list, inbox_id, inbox }) => {
    const name = inbox === null ? inbox_id : `${JSON.stringify(onOneLine(inbox, 40))} (${inbox_id})`;
    return inbox_id === null ? list : `${list} of ${name}`;
  });
  const more = ages.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}
