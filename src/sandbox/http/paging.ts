import { parseExact } from '../../core/json.ts';
import { lowerBound } from '../world/ids.ts';
import { idAsText, isObject } from './bodies.ts';
import { Refusal } from './messages.ts';
import { exactNumber } from './wire.ts';

interface PageRequest {
  limit: number;
  descending: boolean;
  /** The page starts after this id; null: at the start of the list. */
  cursor: string | null;
}

/**
 * Reads the pagination parameters of a query (spec §4.2). The order in a token overrides `sort_order`.
 * @throws Refusal 400 for a limit outside 10–100, a sort field other than `id`, or a bad order or token
 */
export function readPageRequest(query: URLSearchParams): PageRequest {
  const limit = query.get('limit') ?? '10';
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 10 || Number(limit) > 100)
    throw new Refusal(400, `limit must be from 10 to 100, not '${limit}'`);
  const sortBy = query.get('sort_by') ?? 'id';
  if (sortBy !== 'id') throw new Refusal(400, `cannot sort by '${sortBy}', only by 'id'`);
  const order = query.get('sort_order') ?? 'asc';
  if (order !== 'asc' && order !== 'desc')
    throw new Refusal(400, `sort_order must be 'asc' or 'desc', not '${order}'`);
  const token = query.get('next_page');
  return {
    limit: Number(limit),
    ...(token === null ? { descending: order === 'desc', cursor: null } : readToken(token)),
  };
}

/**
 * Returns the requested page of `sorted`, ids in ascending numeric order, and the token of the next page.
 * The token is null on the last page.
 */
export function pageOf(
  sorted: readonly string[],
  { limit, descending, cursor }: PageRequest,
): { ids: string[]; nextPage: string | null } {
  let ids: string[];
  let more: boolean;
  if (descending) {
    const end = cursor === null ? sorted.length : lowerBound(sorted, cursor);
    ids = sorted.slice(Math.max(0, end - limit), end).toReversed();
    more = end > limit;
  } else {
    let start = cursor === null ? 0 : lowerBound(sorted, cursor);
    if (cursor !== null && sorted[start] === cursor) start++;
    ids = sorted.slice(start, start + limit);
    more = sorted.length > start + limit;
  }
  const last = ids.at(-1);
  return { ids, nextPage: more && last !== undefined ? writeToken(last, descending) : null };
}

// The form of the published sample (docs/service.md): "after id X", twice encoded. The outer base64 is padded
// and may hold `+` and `/`, which a client must escape. A token needs no state on the server, and it stays
// valid after row X is removed.
function writeToken(cursor: string, descending: boolean): string {
  const inner = JSON.stringify({ gmailunit_id: exactNumber(cursor), _pointsToNextItems: true });
  return Buffer.from(
    JSON.stringify({
      cursor: Buffer.from(inner).toString('base64url'),
      sort_order: descending ? 'desc' : 'asc',
      sort_by: 'id',
    }),
  ).toString('base64');
}

function readToken(token: string): { descending: boolean; cursor: string } {
  const { cursor, sort_order: order, sort_by: by } = decoded(token);
  const id = typeof cursor === 'string' ? idAsText(decoded(cursor)['gmailunit_id']) : undefined;
  if (id === undefined || !/^\d+$/.test(id) || (order !== 'asc' && order !== 'desc') || by !== 'id')
    throw invalidToken();
  return { descending: order === 'desc', cursor: id };
}

/** The object that base64 of either alphabet encodes as JSON. @throws Refusal 400 if there is none */
function decoded(text: string): Record<string, unknown> {
  try {
    const read = parseExact(Buffer.from(text, 'base64').toString());
    if (isObject(read)) return read;
  } catch {
    // Not JSON: refused below, like any other invalid token.
  }
  throw invalidToken();
}

function invalidToken(): Refusal {
  return new Refusal(400, 'next_page is not a valid page token');
}
