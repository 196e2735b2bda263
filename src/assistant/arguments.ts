import { z } from 'zod';
import { MirrorError } from '../core/errors.ts';
import { type Cursor, cursorAt, cursorText, readCursor, refuseForeignCursor } from '../mirror/mirror.ts';
import type { BoundedRead, BoundedRows } from '../query/reads/bounded.ts';
import type { Cell } from '../query/result.ts';
import { asObjects } from './answer.ts';

/**
 * The arguments of a tool. One that it does not have is refused: without that filter, the answer would be
 * wrong and look right.
 */
export function argumentsOf<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape);
  const advice = known.length === 0 ? ': this tool takes none.' : `. The arguments are: ${known.join(', ')}.`;
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `There is no argument ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}${advice}`
        : undefined,
  });
}

/** The argument `after_id`. */
export const AFTER_ID = z.union([z.number().int().min(0), z.string()]);

/**
 * The id of the place that `after_id` names.
 * @throws MirrorError `USAGE` for a wrong text, `CURSOR_AHEAD` or `OTHER_EPOCH` for a place of another
 *   history
 */
export async function idOf(read: BoundedRead, afterId: z.infer<typeof AFTER_ID>): Promise<number> {
  const place = readCursor(String(afterId));
  if (place === null)
    throw new MirrorError(
      'USAGE',
      `after_id: expected the id or the cursor of a change, but got ${JSON.stringify(afterId)}.`,
    );
  await refuseForeignCursor(sqlOf(read), place);
  return place.id;
}

/** A sentence with the cursor after the last of these changes; none if there are no changes. */
export async function cursorNote(read: BoundedRead, { rows }: BoundedRows): Promise<string[]> {
  const last = rows.at(-1)?.[0];
  if (last === undefined) return [];
  const place: Cursor = await cursorAt(sqlOf(read), Number(last));
  return [`To read on, set after_id to ${JSON.stringify(cursorText(place))}.`];
}

/** At most this many rows of the program's own statements about places. */
const OF_PLACES = { rows: 100, characters: 10_000 };

/** The reads as the mirror's functions take them. */
function sqlOf(read: BoundedRead): Parameters<typeof cursorAt>[0] {
  return {
    query: async <Row>(sql: string, ...values: Cell[]) =>
      asObjects(await read(sql, values, OF_PLACES)) as Row[],
  };
}
