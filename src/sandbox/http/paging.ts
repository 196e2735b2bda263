import { exactNumber, isObject, parseExact } from '../../core/json.ts';
import type { SandboxOptions } from '../options.ts';
import { lowerBound } from '../world/ids.ts';
import { idAsText } from './bodies.ts';
import { Refusal } from './messages.ts';

/** The order of a list's rows: by their ids, or one that has nothing to do with the ids. */
type Order = 'asc' | 'desc' | 'mixed';

interface PageRequest {
  limit: number;
  order: Order;
  /** The page starts after this id, or after this many rows; null: at the start of the list. */
  after: string | number | null;
}

/** The options of lists that the specification leaves open. */
export type PagingOptions = Pick<SandboxOptions, 'listOrder' | 'pageTokens' | 'tokenLifeMs' | 'now'>;

/**
 * Reads the pagination parameters of a query (spec §4.2). The order in a token overrides `sort_order`.
 * @throws Refusal 400 for a limit outside 10–100, a sort field other than `id`, or a bad order or token
 */
export function readPageRequest(query: URLSearchParams, options: PagingOptions): PageRequest {
  const limit = query.get('limit') ?? '10';
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 10 || Number(limit) > 100)
    throw new Refusal(400, `limit must be from 10 to 100, not '${limit}'`);
  const sortBy = query.get('sort_by') ?? 'id';
  if (sortBy !== 'id') throw new Refusal(400, `cannot sort by '${sortBy}', only by 'id'`);
  const wanted = query.get('sort_order');
  if (wanted !== null && wanted !== 'asc' && wanted !== 'desc')
    throw new Refusal(400, `sort_order must be 'asc' or 'desc', not '${wanted}'`);
  const token = query.get('next_page');
  const order = options.listOrder === 'mixed' ? 'mixed' : (wanted ?? options.listOrder);
  return { limit: Number(limit), ...(token === null ? { order, after: null } : readToken(token, options)) };
}

/**
 * Returns the requested page of `sorted`, ids in ascending numeric order, and the token of the next page.
 * The token is null on the last page.
 */
export function pageOf(
  sorted: readonly string[],
  { limit, order, after }: PageRequest,
  options: PagingOptions,
): { ids: string[]; nextPage: string | null } {
  const start = startOf(sorted, order, after);
  const ids = idsFrom(sorted, order, { start, limit });
  const last = ids.at(-1);
  const isLast = last === undefined || start + limit >= sorted.length;
  const next = options.pageTokens === 'positions' ? start + limit : last;
  return { ids, nextPage: isLast || next === undefined ? null : writeToken(next, order, options) };
}

/** How many rows lie before the page. */
function startOf(sorted: readonly string[], order: Order, after: string | number | null): number {
  if (after === null) return 0;
  if (typeof after === 'number') return Math.min(after, sorted.length);
  if (order === 'desc') return sorted.length - lowerBound(sorted, after);
  if (order === 'mixed') return mixed(sorted).filter((id) => mixedKey(id) <= mixedKey(after)).length;
  const index = lowerBound(sorted, after);
  return sorted[index] === after ? index + 1 : index;
}

function idsFrom(
  sorted: readonly string[],
  order: Order,
  { start, limit }: { start: number; limit: number },
): string[] {
  if (order === 'mixed') return mixed(sorted).slice(start, start + limit);
  if (order === 'asc') return sorted.slice(start, start + limit);
  return sorted.slice(Math.max(0, sorted.length - start - limit), sorted.length - start).toReversed();
}

function mixed(sorted: readonly string[]): string[] {
  return sorted.toSorted((a, b) => (mixedKey(a) < mixedKey(b) ? -1 : 1));
}

/** The last digits first: an order that new rows enter anywhere. */
function mixedKey(id: string): string {
  return Array.from(id, (_, index) => id.at(-1 - index)).join('');
}

// The form of the published sample (docs/service.md): "after id X", twice encoded. The outer base64 is padded
// and may hold `+` and `/`, which a client must escape. A token needs no state on the server, and it stays
// valid after row X is removed.
function writeToken(next: string | number, order: Order, { tokenLifeMs, now }: PagingOptions): string {
  const place = typeof next === 'number' ? { offset: next } : { gmailunit_id: exactNumber(next) };
  const inner = JSON.stringify({ ...place, _pointsToNextItems: true });
  return Buffer.from(
    JSON.stringify({
      cursor: Buffer.from(inner).toString('base64url'),
      sort_order: order,
      sort_by: 'id',
      ...(tokenLifeMs === 0 ? {} : { issued_at: now() }),
    }),
  ).toString('base64');
}

function readToken(
  token: string,
  { tokenLifeMs, now }: PagingOptions,
): { order: Order; after: string | number } {
  const { cursor, sort_order: order, sort_by: by, issued_at: issuedAt } = decoded(token);
  const place = typeof cursor === 'string' ? decoded(cursor) : {};
  const id = idAsText(place['gmailunit_id']);
  const offset = Number(place['offset'] ?? Number.NaN);
  const after = id !== undefined && /^\d+$/.test(id) ? id : offset >= 0 ? offset : undefined;
  if (after === undefined || (order !== 'asc' && order !== 'desc' && order !== 'mixed') || by !== 'id')
    throw invalidToken();
  const age = now() - Number(issuedAt ?? Number.NaN);
  if (tokenLifeMs > 0 && !(age <= tokenLifeMs)) throw new Refusal(400, 'next_page has expired');
  return { order, after };
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
