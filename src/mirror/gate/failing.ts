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
  /** From the first of them to the last, in ms. */
  readonly spanMs: number;
  /** The service has answered another request between them, so it was no outage. */
  readonly alone: boolean;
}

export interface Failing {
  /** By `listId`; without the lists whose last request was answered. */
  readonly lists: ReadonlyMap<string, FailingRequests>;
  /** Without the kinds of which a list was answered last. */
  readonly kinds: ReadonlyMap<ListName, FailingRequests>;
}

/** Only requests of so many ms count: a `sync` may run once a day, and try one of several lists each day. */
const SINCE_MS = 8 * DAY;

interface Request {
  readonly sent_at: Date;
  readonly list: ListName | null;
  readonly inbox_id: string | null;
  readonly path: string;
  readonly status: number | null;
}

/** Reads from the ledger which lists the service did not answer before `now` (epoch ms). */
export async function readFailing(sql: Sql, now: number): Promise<Failing> {
  const requests = await sql.query<Request>(
    `SELECT sent_at, list, inbox_id, path, status FROM requests WHERE sent_at > $1 ORDER BY sent_at, id`,
    iso(now - SINCE_MS),
  );
  const lists = new Failures<string>();
  const kinds = new Failures<ListName>();
  let served = 0;
  for (const { sent_at: sentAt, list, inbox_id: inboxId, path, status } of requests) {
    if (status !== null && status < 300) served += 1;
    // Other paths are those of single rows and of searches.
    if (list === null || !path.endsWith(`/${list}`)) continue;
    const isAnswered = status !== null && status < 500 && status !== 429 && status !== 408;
    const request = { isAnswered, served, at: sentAt.getTime() };
    lists.note(listId({ list, inboxId }), request);
    kinds.note(list, request);
  }
  return { lists: lists.last, kinds: kinds.last };
}

interface Sent {
  readonly isAnswered: boolean;
  /** The requests for anything that were served before. */
  readonly served: number;
  /** Epoch ms. */
  readonly at: number;
}

/** The failures since the last answer, by name. */
class Failures<Name> {
  readonly last = new Map<Name, FailingRequests & { readonly first: Sent }>();

  note(name: Name, sent: Sent): void {
    if (sent.isAnswered) {
      this.last.delete(name);
      return;
    }
    const { requests, first } = this.last.get(name) ?? { requests: 0, first: sent };
    const alone = sent.served > first.served;
    this.last.set(name, { requests: requests + 1, spanMs: sent.at - first.at, alone, first });
  }
}
