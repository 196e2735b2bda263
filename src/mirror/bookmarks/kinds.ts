import { DAY, HOUR, MINUTE } from '../../core/clock.ts';

/**
 * The kinds of conversation that the planner tells apart: final or not, and how long ago the mirror saw it
 * appear or change. How often rows of a kind change is learned (`sync/planning/pages/rates.ts`).
 */

/** The ages in ms at which a conversation moves on to the next kind. */
export const AGE_EDGES: readonly number[] = [15 * MINUTE, HOUR, 4 * HOUR, DAY, 3 * DAY, 10 * DAY];

/** For each of two states: one kind for each age, and one for rows that were never seen to change. */
export const AGES = AGE_EDGES.length + 2;
export const NEVER = AGES - 1;
export const KINDS = 2 * AGES;

/** The columns that decide a conversation's kind. */
export interface SeenRow {
  readonly id: string;
  /** Its status is one of FINAL_STATUSES: it needs no more work. */
  readonly isFinal: boolean;
  readonly changedAt: number;
  readonly firstSeenAt: number;
}

/**
 * The index of an age in ms; never {@link NEVER}. A clock that was ahead has dated a change that lies 15
 * minutes in the future, or more: it counts as an old one, because it would seem new until then.
 */
export function ageIndex(ageMs: number): number {
  if (ageMs <= -(AGE_EDGES[0] ?? 0)) return AGE_EDGES.length;
  const index = AGE_EDGES.findIndex((edge) => ageMs < edge);
  return index === -1 ? AGE_EDGES.length : index;
}

/**
 * The kind of a conversation at an instant (epoch ms).
 * @param baselineAt a row that is as old as the first complete sweep was not seen to appear
 */
export function kindOf(row: SeenRow, { at, baselineAt }: { at: number; baselineAt: number }): number {
  const isEvent = row.changedAt > row.firstSeenAt || row.firstSeenAt > baselineAt;
  const age = isEvent ? ageIndex(at - row.changedAt) : NEVER;
  return (row.isFinal ? 0 : AGES) + age;
}

/** The kinds of a page that was not read yet: it may hold any rows. */
export const UNREAD: readonly number[] = [];

/** True if the page was not read yet: {@link UNREAD}. */
export function isUnread({ kinds }: { readonly kinds: readonly number[] }): boolean {
  return kinds.length === 0;
}

/** Counts rows by kind: {@link KINDS} numbers. */
export function countKinds(
  rows: readonly SeenRow[],
  moment: { readonly at: number; readonly baselineAt: number },
): number[] {
  const counts = Array.from({ length: KINDS }, () => 0);
  for (const row of rows) counts[kindOf(row, moment)]! += 1;
  return counts;
}
