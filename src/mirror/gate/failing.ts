import { DAY } from '../../core/clock.ts';
import { listId, type ListName } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';

/**
 * The last requests for pages of a list, or of a kind of list, none of which was answered: they failed, drew
 * 429s, or the process ended before their answer.
 */
export interface FailingRequests {
  readonly requests: number;
  /** The service has answered another request between them, so it was no outage. */
  readonly alone: boolean;
}

export interface Failing {
  /** By `listId`; without the lists whose last request was answered. */
  readonly lists: ReadonlyMap<string, FailingRequests>;
  /** Without the kinds of which a list was answered last. */
  readonly kinds: ReadonlyMap<ListName, FailingRequests>;
}

/** Only requests of the last three days count: a `sync` may run once a day. */
const SINCE_MS = 3 * DAY;

interface Request {
  readonly list: ListName | null;
  readonly inbox_id: string | null;
  readonly path: string;
  readonly status: number | null;
}

/** Reads from the ledger which lists the service did not answer before `now` (epoch ms). */
export async function readFailing(sql: Sql, now: number): Promise<Failing> {
  const requests = await sql.query<Request>(
    `SELECT list, inbox_id, path, status FROM requests WHERE sent_at > $1 ORDER BY sent_at, id`,
    iso(now - SINCE_MS),
  );
  const lists = new Failures<string>();
  const kinds = new Failures<ListName>();
  let served = 0;
  for (const { list, inbox_id: inboxId, path, status } of requests) {
    if (status !== null && status < 300) served += 1;
    // Other paths are those of single rows and of searches.
    if (list === null || !path.endsWith(`/${list}`)) continue;
    const isAnswered = status !== null && status < 500 && status !== 429;
    lists.note(listId({ list, inboxId }), isAnswered, served);
    kinds.note(list, isAnswered, served);
  }
  return { lists: lists.last, kinds: kinds.last };
}

/** The failures since the last answer, by name. */
class Failures<Name> {
  readonly last = new Map<Name, FailingRequests & { readonly servedBefore: number }>();

  /** @param served the requests for anything that were served so far */
  note(name: Name, isAnswered: boolean, served: number): void {
    if (isAnswered) {
      this.last.delete(name);
      return;
    }
    const { requests, servedBefore } = this.last.get(name) ?? { requests: 0, servedBefore: served };
    this.last.set(name, { requests: requests + 1, alone: served > servedBefore, servedBefore });
  }
}
