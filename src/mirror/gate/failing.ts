import { listId, type ListName } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';

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

/** Reads from the ledger which lists the service does not answer. */
export async function readFailing(sql: Sql): Promise<Failing> {
  const lists = await readRows(sql, true);
  const kinds = await readRows(sql, false);
  return {
    lists: new Map(lists.map((row) => [listId({ list: row.list, inboxId: row.inbox_id }), row])),
    kinds: new Map(kinds.map((row) => [row.list, row])),
  };
}

interface Row extends FailingRequests {
  readonly list: ListName;
  readonly inbox_id: string | null;
}

const OF_PAGES = `list IS NOT NULL AND reason <> 'probe'`;

async function readRows(sql: Sql, isByInbox: boolean): Promise<Row[]> {
  const key = isByInbox ? 'list, inbox_id' : 'list';
  const sameInbox = isByInbox ? 'AND answered.inbox_id IS NOT DISTINCT FROM request.inbox_id' : '';
  const rows = await sql.query<Omit<Row, 'alone'> & { readonly alone: boolean | number }>(
    `WITH request AS (SELECT * FROM requests WHERE ${OF_PAGES}),
       answered AS (
         SELECT ${key}, max(id) AS id FROM request WHERE status < 500 AND status <> 429 GROUP BY ${key}),
       failing AS (
         SELECT ${key}, count(*) AS requests, min(id) AS earliest, max(id) AS latest FROM request
         WHERE id > COALESCE((SELECT id FROM answered WHERE answered.list = request.list ${sameInbox}), 0)
         GROUP BY ${key})
     SELECT list, ${isByInbox ? 'inbox_id' : 'NULL'} AS inbox_id, requests,
       EXISTS (SELECT 1 FROM requests WHERE id > earliest AND id < latest AND status < 300) AS alone
     FROM failing`,
  );
  return rows.map((row) => ({ ...row, alone: Boolean(row.alone) }));
}
