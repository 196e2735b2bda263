import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FINAL_STATUSES, type ListName, NO_STATUS, WAITING_STATUSES } from '../../core/lists.ts';
import { VIEW_NAMES } from '../catalogue.ts';
import type { Dialect } from '../dialect.ts';
import {
  firstValuesSql,
  isListedSql,
  meaningSql,
  nameSql,
  officeSql,
  overlapsSql,
  statusSql,
} from './expressions.ts';

/** Three folders up from src/database/views, and from dist/database/views. */
const FOLDER = join(import.meta.dirname, '../../../prisma/views');

/**
 * The kinds of stored intervals, each with its table, the column of its value, and the column of the value
 * of the interval before it (null: no such column). A kind is also the name of the definition's file.
 */
export const INTERVALS = {
  status: { table: 'status_spans', value: 'status', before: 'status_before' },
  assignee: { table: 'assignee_spans', value: 'assignee_id', before: null },
  tag: { table: 'tag_spans', value: 'tag_id', before: null },
} as const;
export type IntervalKind = keyof typeof INTERVALS;
export const INTERVAL_KINDS = Object.keys(INTERVALS) as IntervalKind[];

/** A condition on conversations; its arguments are the columns of the inbox's and the conversation's ids. */
export type Scope = (inboxId: string, id: string) => string;

/**
 * The definition of the stored intervals: a query that computes them from `changes`, for the conversations
 * within `scope`. Its columns are those of the table without `id`, and `by_sweep`: true if `from_earliest`
 * comes from `sweeps`, which housekeeping deletes.
 */
export function intervalsSql(dialect: Dialect, kind: IntervalKind, scope: Scope): string {
  return definition(dialect, join('intervals', kind), { scope });
}

/**
 * The tables of the stored sums of days. The key of each is `day` with the columns `key`. `inChunks`: it
 * reads rows of the tables for each edge, so a day with very many edges is counted in chunks.
 */
export const DAY_SUMS = {
  statuses: { table: 'day_statuses', key: ['inbox_id', 'status'], sum: 'difference', inChunks: false },
  moves: {
    table: 'day_moves',
    key: ['inbox_id', 'field', 'old_value', 'new_value'],
    sum: 'moves',
    inChunks: false,
  },
  assignees: {
    table: 'day_assignees',
    key: ['inbox_id', 'assignee_id', 'status'],
    sum: 'difference',
    inChunks: true,
  },
  turns: {
    table: 'day_turns',
    key: ['inbox_id', 'assignee_id', 'old_status', 'new_status'],
    sum: 'turns',
    inChunks: true,
  },
  tags: { table: 'day_tags', key: ['inbox_id', 'tag_id', 'status'], sum: 'difference', inChunks: true },
  taggings: { table: 'day_taggings', key: ['inbox_id', 'tag_id', 'edge'], sum: 'taggings', inChunks: true },
} as const;
export type DaySumKind = keyof typeof DAY_SUMS;
export const DAY_SUM_KINDS = Object.keys(DAY_SUMS) as DaySumKind[];

/** One of `of` parts of the edges of a day; the first is 0. */
export interface Chunk {
  readonly nth: number;
  readonly of: number;
}

/**
 * The definition of the stored sums: a query that computes them from the intervals and `changes`, for the
 * `counted_days` that start from `$1` to `$2`. Its columns are those of the table.
 * @param chunk of a kind that `inChunks`: the query counts only these edges; null: all
 */
export function daySumsSql(dialect: Dialect, kind: DaySumKind, chunk: Chunk | null = null): string {
  return definition(dialect, join('days', kind), { chunk });
}

/** A query for the number of `edges`: intervals that begin or end from `$1` to `$2`, the latter excluded. */
export function edgesSql(dialect: Dialect): string {
  return definition(dialect, join('days', 'edges'));
}

/** The parts of the whole that a definition computes. */
interface Extent {
  readonly scope?: Scope;
  readonly chunk?: Chunk | null;
}

/** The SQL of a definition's file without its lines of comment. */
function definition(dialect: Dialect, name: string, extent: Extent = {}): string {
  const sql = readSql(dialect, name).replaceAll(/^ *--.*\n/gm, '');
  return expand(sql, dialect, null, extent);
}

/** The statements that create the indexes and the views, in order. `now` is null for the database's clock. */
export function viewStatements(dialect: Dialect, now: string | null): string[] {
  const indexes = readSql(dialect, 'indexes')
    .replaceAll(/^--.*$/gm, '')
    .trim()
    .split(/\s*;\s*/)
    .filter((statement) => statement !== '');
  return [...indexes, ...VIEW_NAMES.map((name) => expand(readSql(dialect, name), dialect, now))];
}

/**
 * The SQL of `name`: the provider's file if it exists, else the common one. Each `PART(name, a, b)` is
 * replaced by the file `parts/name`, found in the same way, with `a` for its `$1` and `b` for its `$2`.
 */
function readSql(dialect: Dialect, name: string): string {
  const specific = join(FOLDER, dialect.provider, `${name}.sql`);
  const sql = readFileSync(existsSync(specific) ? specific : join(FOLDER, 'common', `${name}.sql`), 'utf8');
  return sql.replaceAll(/\bPART\((\w+(?:, [$\w]+)*)\)/g, (_part, list: string) => {
    const [part = '', ...values] = list.split(', ');
    const text = readSql(dialect, join('parts', part)).trimEnd();
    return text.replaceAll(/\$(\d)/g, (_word, nth: string) => values[Number(nth) - 1] ?? '');
  });
}

/**
 * Expands the words in capitals of the views' files: expressions that differ between databases, and some that
 * all views share (docs/decisions/0013).
 */
function expand(sql: string, dialect: Dialect, now: string | null, extent: Extent = {}): string {
  const { scope = () => 'TRUE', chunk = null } = extent;
  const { millisecondsBetween, instantAgo, readBy, inSmallLetters } = dialect;
  return (
    sql
      .replaceAll(/\bFIRST_VALUES\((\w+)\)/g, (_call, list: ListName) => firstValuesSql(dialect, list))
      .replaceAll(/\bMEANING_OF\(([\w.]+)\)/g, (_call, status: string) => meaningSql(status))
      .replaceAll(/\bIS_FINAL\(([\w.]+)\)/g, (_call, status: string) =>
        isListedSql(dialect, status, 'final_statuses', FINAL_STATUSES),
      )
      .replaceAll(/\bIS_WAITING\(([\w.]+)\)/g, (_call, status: string) =>
        isListedSql(dialect, status, 'waiting_statuses', WAITING_STATUSES),
      )
      .replaceAll(/\bLOWERED\(([\w.]+)\)/g, (_call, status: string) =>
        inSmallLetters(`coalesce(${status}, '${NO_STATUS}')`),
      )
      .replaceAll(/\bOFFICE_UNTIL\(([\w.]+)\)/g, (_call, instant: string) => officeSql(instant))
      .replaceAll(/\bIN_SCOPE\(([\w.]+), ([\w.]+)\)/g, (_call, inboxId: string, id: string) =>
        scope(inboxId, id),
      )
      .replaceAll(/\bIN_CHUNK\((\w+)\)/g, (_call, spans: string) =>
        chunk === null ? 'TRUE' : `${spans}.id % ${chunk.of} = ${chunk.nth}`,
      )
      .replaceAll(/\bSTATUS_OF\(([\w.]+)\)/g, (_call, status: string) => statusSql(status))
      .replaceAll(/\bNAME_OF\((\w+)\)/g, (_call, users: string) => nameSql(users))
      // An empty text stands for no id: in SQL, null does not equal null.
      .replaceAll(/\bID_OF\(([\w.]+)\)/g, (_call, id: string) => `coalesce(${id}, '')`)
      .replaceAll(/\bNOTHING_OF\(([\w.]+)\)/g, `''`)
      .replaceAll(
        /\bMILLISECONDS_BETWEEN\(([\w.]+), ([\w.]+|NOW\(\))\)/g,
        (_call, from: string, to: string) => `CAST(${millisecondsBetween(from, to)} AS BIGINT)`,
      )
      .replaceAll(/\b(FIRST|LAST)_OF\((\w+), (\w+)\)/g, (_call, end: string, value: string, at: string) =>
        end === 'FIRST' ? dialect.firstOf(value, at) : dialect.lastOf(value, at),
      )
      .replaceAll(/\bDAY_OF\((\w+)\)/g, (_call, instant: string) =>
        dialect.dayOf(instant, instantAgo(0, now)),
      )
      .replaceAll(/\bOVERLAPS\((\w+), (\w+)\)/g, (_call, one: string, other: string) =>
        overlapsSql(one, other),
      )
      // After the words within its condition.
      .replaceAll(
        /\bLOOK_UP\((\w+), (\w+)\) ([^;]+);/g,
        (_call, table: string, alias: string, condition: string) => dialect.lookUp(table, alias, condition),
      )
      .replaceAll(/\bREAD_BY\((\w+)\)/g, (_call, index: string) => readBy(index))
      .replaceAll(/\bSECONDS_AGO\((\d+)\)/g, (_call, seconds: string) => instantAgo(Number(seconds), now))
      .replaceAll('NOW()', instantAgo(0, now))
  );
}

/** A condition as in the views: FINAL_STATUSES lists the status. @param status a column */
export function isFinalSql(dialect: Dialect, status: string): string {
  return expand(`IS_FINAL(${status})`, dialect, null);
}
