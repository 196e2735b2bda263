import type { Sandbox, SandboxAnswer, SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import type { SandboxInbox } from '../../../src/sandbox/world/world.ts';

/** No rate and no day limit, for tests that are not about limits. */
export const UNLIMITED: Partial<SandboxOptions> = { rate: 0, perDay: 0 };

export const KEY = { authorization: 'Bearer sandbox-key' };

/** Sends one request with the right key. `path` is relative to `/v1`; an object body is sent as JSON. */
export function ask(sandbox: Sandbox, path: string, method = 'GET', body?: object): Promise<SandboxAnswer> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return sandbox.handle({
    method,
    path: `/v1${path}`,
    headers: { ...KEY, 'content-type': 'application/json' },
    ...sent,
  });
}

export interface Page {
  results: Record<string, unknown>[];
  pagination: { next_page: string | null };
}

/** The page in an answer with either envelope. */
export function pageIn({ body }: { body: string }): Page {
  const read: Page & { data?: Page } = JSON.parse(body);
  return read.data ?? read;
}

/** The JSON texts of all pages of a list, first to last. */
export async function walk(sandbox: Sandbox, path: string, query = 'limit=100'): Promise<string[]> {
  const pages: string[] = [];
  let token: string | null = null;
  do {
    const next: string = token === null ? '' : `&next_page=${encodeURIComponent(token)}`;
    const answer = await ask(sandbox, `${path}?${query}${next}`);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.body}`);
    pages.push(answer.body);
    token = pageIn(answer).pagination.next_page;
  } while (token !== null);
  return pages;
}

/** The row ids of a list by their digits in the JSON text, quoted or not. Leaves out ids of source users. */
export function idsIn(pages: readonly string[]): string[] {
  return pages.flatMap((text) =>
    Array.from(text.matchAll(/(?<=[[,])\{"id":"?(\d+)"?,/g), ([, id]) => id ?? ''),
  );
}

export function firstInbox({ world }: Sandbox): SandboxInbox {
  const [inbox] = world.inboxes.values();
  if (inbox === undefined) throw new Error('no inbox');
  return inbox;
}

/** The `nth` row of a list in the order of ids. */
export function rowAt<T>(rows: { order: readonly string[]; get(id: string): T | undefined }, nth: number): T {
  const row = rows.get(rows.order.at(nth) ?? '');
  if (row === undefined) throw new Error(`no row ${nth}`);
  return row;
}
