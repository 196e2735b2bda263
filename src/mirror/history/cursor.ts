import { MirrorError } from '../../core/errors.ts';
import type { Sql } from '../../database/database.ts';
import { epochOf } from './epochs.ts';

/** A place in the feed: after the change with this id, or before the first one at 0. */
export interface Cursor {
  readonly id: number;
  /** The epoch of that change; null: a plain id, which fits every epoch. */
  readonly epoch: string | null;
}

/** Twelve hexadecimal digits. An id of 15 digits is exact in a JavaScript number. */
const CURSOR = /^(\d{1,15})(?:-([0-9a-f]{12}))?$/;

/** Reads `4712-3f9c0a7b21de` or a plain id; null if the text is neither. */
export function readCursor(text: string): Cursor | null {
  const [, id, epoch = null] = CURSOR.exec(text) ?? [];
  return id === undefined ? null : { id: Number(id), epoch };
}

/** The cursor as text. A change that was written before there were epochs has its plain id. */
export function cursorText({ id, epoch }: Cursor): string {
  return epoch === null ? String(id) : `${id}-${epoch}`;
}

type Reads = Pick<Sql, 'query'>;

/** The place after the newest change. */
export async function newestCursor(sql: Reads): Promise<Cursor> {
  const [row] = await sql.query<{ id: number | null; epoch: string | null }>(
    `SELECT id, ${epochOf('newest.id')} AS epoch FROM (SELECT max(id) AS id FROM changes) AS newest`,
  );
  return { id: row?.id ?? 0, epoch: row?.epoch ?? null };
}

/** The place after the change with this id. */
export async function cursorAt(sql: Reads, id: number): Promise<Cursor> {
  const [row] = await sql.query<{ epoch: string | null }>(
    `SELECT ${epochOf('CAST($1 AS BIGINT)')} AS epoch`,
    id,
  );
  return { id, epoch: row?.epoch ?? null };
}

/**
 * Refuses a cursor that is not of this history.
 * @throws MirrorError `CURSOR_AHEAD` for an id beyond the newest change, `OTHER_EPOCH` if the change with
 *   this id is of another epoch than the cursor
 */
export async function refuseForeignCursor(sql: Reads, after: Cursor): Promise<void> {
  if (after.id === 0) return;
  const newest = await newestCursor(sql);
  if (after.id > newest.id) throw await refusal(sql, { code: 'CURSOR_AHEAD', after, newest });
  if (after.epoch === null) return;
  const stored = await cursorAt(sql, after.id);
  if (stored.epoch !== after.epoch) throw await refusal(sql, { code: 'OTHER_EPOCH', after, newest });
}

interface Refused {
  readonly code: 'CURSOR_AHEAD' | 'OTHER_EPOCH';
  readonly after: Cursor;
  readonly newest: Cursor;
}

async function refusal(sql: Reads, { code, after, newest }: Refused): Promise<MirrorError> {
  const common = await commonCursor(sql, after, newest);
  const finding =
    code === 'CURSOR_AHEAD'
      ? `The mirror has no change ${after.id}: the newest is ${newest.id}.`
      : `The mirror's change ${after.id} is another one than that of the cursor ${cursorText(after)}.`;
  const again = common.id === 0 ? 'all changes after 0' : `the changes after ${cursorText(common)} again`;
  // Without a change since the common place, both ways are the same.
  const or = cursorText(common) === cursorText(newest) ? '' : `; or read ${again}`;
  // While a restore on PostgreSQL runs, the tables are there and still empty.
  const instead =
    newest.id === 0
      ? ' If a backup is being restored now, wait for its end instead, and use the same cursor again.'
      : '';
  return new MirrorError(
    code,
    `${finding} The cursor is from another mirror, or this one was restored from a backup: new changes` +
      ' get ids that were used before. Copy the rows that you need from the tables again, then read on ' +
      `after ${cursorText(newest)}${or}.${instead}`,
  );
}

/** The last place that is the same in the cursor's history and in this one; id 0 if that is unknown. */
async function commonCursor(sql: Reads, { id, epoch }: Cursor, newest: Cursor): Promise<Cursor> {
  const rows = await sql.query<{ ends: number | null }>(
    `SELECT (SELECT min(after_id) FROM epochs AS later WHERE later.after_id > epochs.after_id) AS ends
     FROM epochs WHERE epoch = $1`,
    epoch,
  );
  const [own] = rows;
  return own === undefined ? { id: 0, epoch: null } : { id: Math.min(id, own.ends ?? newest.id), epoch };
}
