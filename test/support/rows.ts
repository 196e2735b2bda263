import type { Sql } from '../../src/database/database.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { SandboxInbox } from '../../src/sandbox/world/world.ts';
import type { Http } from '../../src/service/http.ts';
import type { ListReport } from '../../src/sync/events.ts';
import type { PassReport } from '../../src/sync/pass.ts';
import { ON_SQLITE } from './provider.ts';

/** The oldest inbox of the sandbox. */
export function firstInbox({ world }: Pick<Sandbox, 'world'>): SandboxInbox {
  return nthInbox({ world }, 0);
}

export function nthInbox({ world }: Pick<Sandbox, 'world'>, nth: number): SandboxInbox {
  const inbox = [...world.inboxes.values()][nth];
  if (inbox === undefined) throw new Error(`no inbox ${nth}`);
  return inbox;
}

/** The ids of `many` rows from position `from` on, in the service's order. */
export function firstIds(rows: { readonly order: readonly string[] }, many: number, from = 0): string[] {
  return rows.order.slice(from, from + many);
}

/** Removes conversations of the inbox from the service. */
export function removeConversations(
  { sandbox: { world } }: { readonly sandbox: Pick<Sandbox, 'world'> },
  inboxId: string,
  ids: readonly string[],
): void {
  for (const id of ids) world.removeConversation(inboxId, id);
}

/** The paths of all requests after the first `from` ones, without `/v1`: `/inboxes/7/tags?limit=100`. */
export function askedSince({ arrivals }: Pick<Sandbox, 'arrivals'>, from: number): string[] {
  return arrivals.slice(from).map(({ path }) => path.replace('/v1', ''));
}

/** The most requests that arrived in any 24 hours. */
export function mostInADay({ arrivals }: Pick<Sandbox, 'arrivals'>): number {
  let most = 0;
  let oldest = 0;
  for (const [newest, { at }] of arrivals.entries()) {
    while (arrivals[oldest]!.at <= at - 24 * 3_600_000) oldest += 1;
    most = Math.max(most, newest - oldest + 1);
  }
  return most;
}

/** The paths that request one item or a search. */
export function single(paths: readonly string[]): string[] {
  return paths.filter((path) => !/^\/inboxes(\/\d+\/(users|tags|conversations))?\?limit/.test(path));
}

export interface ChangeRow {
  readonly list: string;
  readonly item_id: string;
  readonly field: string;
  readonly old_value: string | null;
  readonly new_value: string | null;
  readonly previously_seen_at: Date | null;
  readonly observed_at: Date;
}

export async function changesIn(sql: Sql): Promise<ChangeRow[]> {
  return await sql.query<ChangeRow>(
    `SELECT list, item_id, field, old_value, new_value, previously_seen_at, observed_at FROM changes ORDER BY id`,
  );
}

/** An SQL expression for the text of a field in `raw`. */
export function rawText(field: string): string {
  return ON_SQLITE ? `raw ->> '$.${field}'` : `raw ->> '${field}'`;
}

export async function count(sql: Sql, from: string, ...parameters: unknown[]): Promise<number> {
  const [row] = await sql.query<{ n: number }>(`SELECT count(*) AS n FROM ${from}`, ...parameters);
  return row?.n ?? 0;
}

/** The report on one list of the pass. */
export function reportOn({ lists }: PassReport, list: string, inboxId: string | null = null): ListReport {
  const report = lists.find(({ key }) => key.list === list && (inboxId === null || key.inboxId === inboxId));
  if (report === undefined) throw new Error(`the pass tells nothing of ${list}`);
  return report;
}

/** A list page in the body of an answer, without its envelope. */
export interface PageBody {
  results: Record<string, unknown>[];
  pagination: { next_page: string | null };
}

/**
 * Changes answers before the client reads them. `change` receives every list page with status 200.
 * Use `idType: 'string'`, because numeric ids beyond 2^53 would lose digits.
 */
export function tampered(
  change: (page: PageBody, path: string, query: Readonly<Record<string, string>>) => void,
): (http: Http) => Http {
  return (http) => ({
    close: http.close,
    async get(path, query) {
      const answer = await http.get(path, query);
      if (answer.status !== 200) return answer;
      const body = JSON.parse(answer.body) as PageBody & { data?: PageBody };
      const page = body.data ?? body;
      if (Array.isArray(page.results)) change(page, path, query);
      return { ...answer, body: JSON.stringify(body) };
    },
  });
}

/** The values of a text with one JSON value a line. */
export function parseLines<Line>(text: string): Line[] {
  const lines = text.replace(/\n$/, '');
  return lines === '' ? [] : lines.split('\n').map((line) => JSON.parse(line) as Line);
}
