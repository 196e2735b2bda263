import type { Item } from '../../core/lists.ts';
import type { Database, Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import type { FencedDatabase } from '../lease.ts';
import { refuseEnded } from '../sweeps/ended.ts';
import type { Sweep } from '../sweeps/sweeps.ts';
import { itemSql, type KnownRow } from './statements.ts';
import { type AppliedItems, applyItems } from './upsert.ts';

/** A checked page of a list. */
export interface PageToApply {
  readonly items: readonly Item[];
  /** Rows that cannot be read; `id` is null if their id cannot be read either. */
  readonly rejects: readonly { readonly id: string | null; readonly reason: string; readonly raw: string }[];
  /** The next page's token; null on the last page. */
  readonly next: string | null;
  /** The ledger id of the page's request. */
  readonly requestId: number;
  /** Requests sent for the page, the retries included. */
  readonly requests: number;
}

/**
 * Applies a page in one transaction: rows, tags, changes, rejects, the page's ids and the sweep's next
 * token. A crash leaves all of it or nothing.
 * @returns the sweep after the page, and what became of its rows
 */
export async function applyPage(
  { database, write }: FencedDatabase,
  sweep: Sweep,
  page: PageToApply,
  now: number,
): Promise<{ sweep: Sweep; applied: AppliedItems }> {
  const pageNo = sweep.pages + 1;
  const observedAt = iso(now);
  const applied = await write(async (tx) => {
    await refuseEnded(tx, sweep);
    const context = {
      list: sweep.list,
      inboxId: sweep.inboxId,
      sweepId: sweep.id,
      baseline: sweep.baseline,
      observedAt,
      pageNo,
    };
    const written = await applyItems(tx, database.dialect, context, page.items);
    await writeRejects(tx, database, sweep, page, observedAt);
    await tx.execute(
      `INSERT INTO sweep_pages (sweep_id, page_no, token, item_ids, fetched_at)
       VALUES ($1, $2, $3, $4, $5)`,
      sweep.id,
      pageNo,
      sweep.nextPage,
      JSON.stringify(page.items.map(({ id }) => id)),
      observedAt,
    );
    await tx.execute(
      `UPDATE sweeps SET next_page = $2, pages = $3, items = items + $4, requests = requests + $5,
         inserted = inserted + $6, changed = changed + $7, rejected = rejected + $8, heartbeat_at = $9,
         without_id = without_id + $10
       WHERE id = $1`,
      sweep.id,
      page.next,
      pageNo,
      page.items.length,
      page.requests,
      written.inserted,
      written.changed,
      page.rejects.length,
      observedAt,
      withoutId(page),
    );
    const touched = written.inserted + written.changed;
    if (touched > 0)
      await tx.execute(`UPDATE requests SET changed = $2 WHERE id = $1`, page.requestId, touched);
    return written;
  });
  // The driver frees statements only when the event loop turns. Otherwise memory grows with every page.
  await new Promise(setImmediate);
  return { sweep: sweepAfter(sweep, page, pageNo), applied };
}

function sweepAfter(sweep: Sweep, page: PageToApply, pageNo: number): Sweep {
  // Adds in place: a copy of the set for each of thousands of pages would cost more than the pages.
  if (page.next !== null) sweep.tokens.add(page.next);
  return {
    ...sweep,
    nextPage: page.next,
    pages: pageNo,
    items: sweep.items + page.items.length,
    rejected: sweep.rejected + page.rejects.length,
    withoutId: sweep.withoutId + withoutId(page),
    walked: page.next === null,
  };
}

function withoutId({ rejects }: PageToApply): number {
  return rejects.filter(({ id }) => id === null).length;
}

/** Writes the rows that cannot be read. They are present, so that none of them stays a suspect. */
export async function writeRejects(
  tx: Sql,
  { dialect }: Database,
  sweep: Sweep,
  { rejects }: PageToApply,
  seenAt: string,
): Promise<void> {
  if (rejects.length === 0) return;
  await tx.execute(
    `INSERT INTO rejects (sweep_id, list, inbox_id, seen_at, item_id, reason, raw)
     SELECT $1, $2, $3, $4, id, reason, raw
     FROM ${dialect.records('$5', { id: 'text', reason: 'text', raw: 'json' }, 'new_rejects')}`,
    sweep.id,
    sweep.list,
    sweep.inboxId,
    seenAt,
    JSON.stringify(rejects),
  );
  const sql = itemSql(sweep.list, dialect);
  const ids = JSON.stringify(rejects.flatMap(({ id }) => id ?? []));
  const known = await tx.query<KnownRow>(sql.knownRows, sweep.inboxId, ids);
  const suspects = known.filter(({ missing_since: since }) => since !== null).map(({ id }) => id);
  if (suspects.length > 0) await tx.execute(sql.clear, sweep.inboxId, JSON.stringify(suspects));
}
