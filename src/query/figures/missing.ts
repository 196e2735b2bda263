import { plural } from '../../core/humanize.ts';
import { ITEM_WORDS, LIST_NAMES, listId, type ListName, TABLES } from '../../core/lists.ts';
import type { Read } from './lane.ts';

/** Rows of a list that are missing at the service and still count: their deletion waits for a person. */
export interface MissingRows {
  readonly list: ListName;
  /** Null for `inboxes`. */
  readonly inbox_id: string | null;
  readonly rows: number;
}

/** The lists with held deletions. The rule of `heldRows` in `mirror/status.ts`. */
export async function readMissing(read: Read): Promise<MissingRows[]> {
  const sweeps = await read<Omit<MissingRows, 'rows'> & { state: string; held: number }>(
    `SELECT list, inbox_id, state, held FROM sweeps WHERE id IN (
       SELECT max(id) FROM sweeps WHERE state IN ('reading', 'complete') GROUP BY list, inbox_id, state)`,
  );
  const missing: MissingRows[] = [];
  for (const own of Map.groupBy(sweeps, ({ list, inbox_id: inboxId }) =>
    listId({ list, inboxId }),
  ).values()) {
    const newest = own.find(({ state }) => state === 'reading') ?? own[0];
    if (newest === undefined || newest.held === 0) continue;
    const { list, inbox_id, held } = newest;
    const suspects = await countSuspects(read, list, inbox_id);
    const rows = newest.state === 'reading' ? suspects : Math.min(held, suspects);
    if (rows > 0) missing.push({ list, inbox_id, rows });
  }
  return missing;
}

async function countSuspects(read: Read, list: ListName, inboxId: string | null): Promise<number> {
  const sql = `SELECT CAST(count(*) AS INTEGER) AS n FROM ${TABLES[list]}
    WHERE missing_since IS NOT NULL AND deleted_at IS NULL`;
  const [row] = await (inboxId === null
    ? read<{ n: number }>(sql)
    : read<{ n: number }>(`${sql} AND inbox_id = $1`, inboxId));
  return row?.n ?? 0;
}

/** `35 conversations`. An inbox is named with its conversations, which count with it. */
function nameOf(list: ListName, rows: number): string {
  const named = plural(rows, ITEM_WORDS[list]);
  return list === 'inboxes' ? `${named} with ${rows === 1 ? 'its' : 'their'} conversations` : named;
}

/** A clause that says which rows count although the service lacks them; null if there are none. */
export function missingWords(missing: readonly MissingRows[]): string | null {
  const total = (of: readonly MissingRows[]): number => of.reduce((sum, { rows }) => sum + rows, 0);
  const all = total(missing);
  if (all === 0) return null;
  const kinds = LIST_NAMES.flatMap((name) => {
    const rows = total(missing.filter(({ list }) => list === name));
    return rows === 0 ? [] : [nameOf(name, rows)];
  });
  const [last, ...before] = kinds.toReversed();
  const subject = before.length === 0 ? last : `${before.toReversed().join(', ')} and ${last}`;
  return all === 1
    ? `${subject} is missing at the service and still counts, until a person confirms that it is gone`
    : `${subject} are missing at the service and still count, until a person confirms that they are gone`;
}
