import { createHash } from 'node:crypto';
import type { Database, Sql } from '../../database/database.ts';
import { iso, isoOrNull } from '../../database/instants.ts';
import type { Fence } from '../lease.ts';

/** How far the changes have been delivered to one target. */
export interface Delivery {
  /** Up to this change all have been taken. */
  readonly lastId: number;
  /** In a row; 0 where the last delivery was taken. */
  readonly failures: number;
  readonly retryAt: Date | null;
  readonly cause: string | null;
}

/** Tells one target from another without its address, which may hold a token. */
export function targetOf(url: string): string {
  return createHash('sha256').update(url).digest('hex').slice(0, 16);
}

/** How many changes a target has not taken yet; 0 for one that was never delivered to, as its deliveries begin with what is new then. */
export async function countUndelivered(sql: Sql, target: string): Promise<number> {
  const [row] = await sql.query<{ n: number }>(
    `SELECT count(*) AS n FROM changes WHERE id > (SELECT last_id FROM webhooks WHERE target = $1)`,
    target,
  );
  return row?.n ?? 0;
}

/** Where the deliveries to a target stand; null for one that was never delivered to. */
export async function readDelivery(sql: Sql, target: string): Promise<Delivery | null> {
  const [row] = await sql.query<{
    last_id: number;
    failures: number;
    retry_at: Date | null;
    cause: string | null;
  }>(`SELECT last_id, failures, retry_at, cause FROM webhooks WHERE target = $1`, target);
  if (row === undefined) return null;
  return { lastId: row.last_id, failures: row.failures, retryAt: row.retry_at, cause: row.cause };
}

export async function writeDelivery(
  database: Database,
  fence: Fence,
  target: string,
  { lastId, failures, retryAt, cause }: Delivery,
  now: number,
): Promise<void> {
  await database.transaction(async (tx) => {
    await fence(tx);
    await tx.execute(
      `INSERT INTO webhooks (target, last_id, failures, retry_at, cause, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (target) DO UPDATE SET last_id = excluded.last_id, failures = excluded.failures, retry_at = excluded.retry_at,
         cause = excluded.cause, updated_at = excluded.updated_at`,
      target,
      lastId,
      failures,
      isoOrNull(retryAt?.getTime() ?? null),
      cause,
      iso(now),
    );
  });
}
