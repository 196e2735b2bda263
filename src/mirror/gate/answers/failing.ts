import { DAY, HOUR } from '../../../core/clock.ts';
import { listId, type ListName } from '../../../core/lists.ts';
import type { Sql } from '../../../database/database.ts';
import { iso } from '../../../database/instants.ts';
import { IS_SERVED, isAnswerBetween, type RequestAround, requestsAround } from './around.ts';

/**
 * The last requests for pages of a list, or of a kind of list, none of which was answered: they failed, drew
 * 429s, or the process ended before their answer.
 */
export interface FailingRequests {
  readonly requests: number;
  /** From the first of them to the last, in ms. */
  readonly spanMs: number;
  /** The service has answered another request between two of them, minutes from one: it was no outage. */
  readonly alone: boolean;
}

export interface Failing {
  /** By `listId`; without the lists whose last request was answered. */
  readonly lists: ReadonlyMap<string, FailingRequests>;
  /** Without the kinds of which a list was answered last. */
  readonly kinds: ReadonlyMap<ListName, FailingRequests>;
  /** The lists whose last answer was a 403, by `listId`. */
  readonly refused: ReadonlySet<string>;
}

/** Requests of the last 8 days count: a `sync` may run once a day, and try one of several lists each day. */
const SINCE_MS = 8 * DAY;

/** A SQL condition: a request for a page of a list. Other paths are those of single rows and of searches. */
const OF_A_LIST = `list IS NOT NULL AND path LIKE '%/' || list`;

/** A SQL condition: the service did not answer, or not yet, or with something that cannot be read. */
const IS_UNANSWERED = `(status IS NULL OR status >= 500 OR status IN (408, 429)
  OR (status < 300 AND NOT ${IS_SERVED}))`;

/** The last answer of a list. */
interface Answered {
  readonly list: ListName;
  readonly inbox_id: string | null;
  /** The ids of its last answered request, and of its last one that was answered with a 403. */
  readonly id: number;
  readonly refused_id: number | null;
}

interface Unanswered extends RequestAround {
  readonly list: ListName;
  readonly inbox_id: string | null;
}

/** Reads from the ledger which lists the service did not answer before `now` (epoch ms). */
export async function readFailing(sql: Sql, now: number): Promise<Failing> {
  const since = iso(now - SINCE_MS);
  const answered = await sql.query<Answered>(
    `SELECT list, inbox_id, max(id) AS id, max(CASE WHEN status = 403 THEN id END) AS refused_id FROM requests
     WHERE sent_at > $1 AND ${OF_A_LIST} AND NOT ${IS_UNANSWERED} GROUP BY list, inbox_id`,
    since,
  );
  const lists = new Failures<string>();
  const kinds = new Failures<ListName>();
  const refused = new Set<string>();
  for (const { list, inbox_id: inboxId, id, refused_id: refusedId } of answered) {
    lists.noteAnswer(listId({ list, inboxId }), id);
    kinds.noteAnswer(list, id);
    if (refusedId === id) refused.add(listId({ list, inboxId }));
  }
  // The database counts: a ledger of 8 days can have hundreds of thousands of rows.
  const unanswered = await sql.query<Unanswered>(
    `SELECT id, sent_at, list, inbox_id, before, after FROM ${requestsAround()}
     WHERE ${OF_A_LIST} AND ${IS_UNANSWERED} ORDER BY id`,
    since,
  );
  for (const request of unanswered) {
    const { list, inbox_id: inboxId } = request;
    lists.noteFailure(listId({ list, inboxId }), request);
    kinds.noteFailure(list, request);
  }
  return { lists: lists.failing, kinds: kinds.failing, refused };
}

/** The failures since the last answer, by name. */
class Failures<Name> {
  readonly failing = new Map<
    Name,
    FailingRequests & { readonly first: Unanswered; readonly last: Unanswered }
  >();
  /** The id of the last answered request. */
  readonly #answered = new Map<Name, number>();

  noteAnswer(name: Name, id: number): void {
    this.#answered.set(name, Math.max(id, this.#answered.get(name) ?? 0));
  }

  noteFailure(name: Name, last: Unanswered): void {
    if (last.id < (this.#answered.get(name) ?? 0)) return;
    const before = this.failing.get(name);
    const { requests, first } = before ?? { requests: 0, first: last };
    const alone = before !== undefined && (before.alone || isAnswerBetween(before.last, last));
    const spanMs = last.sent_at.getTime() - first.sent_at.getTime();
    this.failing.set(name, { requests: requests + 1, spanMs, alone, first, last });
  }
}

/**
 * True if a request failed although the service answers others, so that its path alone fails. The service has
 * answered another request since the previous failure, or since the path's own previous failure: two broken
 * lists that are read one after the other are no outage. For a question about a single row, the failures of
 * other such questions do not count: their paths differ, and their cause is one. Only answers of the last
 * hour count. In a pause that no answer has ended yet, only those since it began count.
 */
export async function isFailingAlone(sql: Sql, requestId: number, now: number): Promise<boolean> {
  const before = 'SELECT id, path, status FROM requests WHERE id < $2';
  const isKin = `reason = 'probe' AND (SELECT reason FROM requests WHERE id = $2) = 'probe'`;
  const [row] = await sql.query<{ served: number }>(
    `SELECT count(*) AS served FROM requests WHERE sent_at > $1 AND id <> $2 AND ${IS_SERVED}
       AND sent_at > COALESCE((SELECT paused_at FROM gate_state), $1)
       AND (id > (SELECT COALESCE(max(id), 0) FROM (${before} AND sent_at > $1
           AND NOT (${isKin})) AS recent WHERE status >= 500)
         OR id > (SELECT id FROM (${before} AND path = (SELECT path FROM requests WHERE id = $2)
           ORDER BY id DESC LIMIT 1) AS own WHERE status >= 500))`,
    iso(now - HOUR),
    requestId,
  );
  return (row?.served ?? 0) > 0;
}
