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

/** A SQL condition: a request for a page of a list. Other paths are those of single rows and of searches. */
const OF_A_LIST = `list IS NOT NULL AND path LIKE '%/' || list`;

/** A SQL condition: the service did not answer, or not yet. */
const IS_UNANSWERED = `(status IS NULL OR status >= 500 OR status IN (408, 429))`;

interface Unanswered {
  readonly id: number;
  readonly sent_at: Date;
  readonly list: ListName;
  readonly inbox_id: string | null;
  /** The requests for anything that were served before. */
  readonly served: number;
}

/** Reads from the ledger which lists the service did not answer before `now` (epoch ms). */
export async function readFailing(sql: Sql, now: number): Promise<Failing> {
  const since = iso(now - SINCE_MS);
  const answered = await sql.query<{ list: ListName; inbox_id: string | null; id: number }>(
    `SELECT list, inbox_id, max(id) AS id FROM requests
     WHERE sent_at > $1 AND ${OF_A_LIST} AND NOT ${IS_UNANSWERED} GROUP BY list, inbox_id`,
    since,
  );
  const lists = new Failures<string>();
  const kinds = new Failures<ListName>();
  for (const { list, inbox_id: inboxId, id } of answered) {
    lists.noteAnswer(listId({ list, inboxId }), id);
    kinds.noteAnswer(list, id);
  }
  // The database counts: a ledger of 8 days can have hundreds of thousands of rows.
  const unanswered = await sql.query<Unanswered>(
    `SELECT id, sent_at, list, inbox_id, served FROM (
       SELECT id, sent_at, list, inbox_id, path, status,
         CAST(sum(CASE WHEN status < 300 THEN 1 ELSE 0 END) OVER (ORDER BY id) AS INTEGER) AS served
       FROM requests WHERE sent_at > $1
     ) AS counted WHERE ${OF_A_LIST} AND ${IS_UNANSWERED} ORDER BY id`,
    since,
  );
  for (const request of unanswered) {
    const { list, inbox_id: inboxId } = request;
    lists.noteFailure(listId({ list, inboxId }), request);
    kinds.noteFailure(list, request);
  }
  return { lists: lists.failing, kinds: kinds.failing };
}

/** The failures since the last answer, by name. */
class Failures<Name> {
  readonly failing = new Map<Name, FailingRequests & { readonly first: Unanswered }>();
  /** The id of the last answered request. */
  readonly #answered = new Map<Name, number>();

  noteAnswer(name: Name, id: number): void {
    this.#answered.set(name, Math.max(id, this.#answered.get(name) ?? 0));
  }

  noteFailure(name: Name, sent: Unanswered): void {
    if (sent.id < (this.#answered.get(name) ?? 0)) return;
    const { requests, first } = this.failing.get(name) ?? { requests: 0, first: sent };
    const spanMs = sent.sent_at.getTime() - first.sent_at.getTime();
    this.failing.set(name, { requests: requests + 1, spanMs, alone: sent.served > first.served, first });
  }
}
