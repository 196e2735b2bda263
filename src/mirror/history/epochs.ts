import { randomBytes } from 'node:crypto';
import type { Sql } from '../../database/database.ts';

/** A query for the epoch of the change with the id `id`: that of the last epoch which began before it. */
export function epochOf(id: string): string {
  return `(SELECT epoch FROM epochs WHERE after_id < ${id} ORDER BY after_id DESC LIMIT 1)`;
}

/**
 * Begins an epoch after the newest change (docs/decisions/0018).
 * @param at the present, ISO 8601
 * @returns the epoch
 */
export async function beginEpoch(tx: Sql, at: string): Promise<string> {
  const epoch = randomBytes(6).toString('hex');
  const newest = await newestChange(tx);
  await tx.execute(`DELETE FROM epochs WHERE after_id > $1`, newest);
  await tx.execute(
    `INSERT INTO epochs (after_id, epoch, begun_at) VALUES ($1, $2, $3)
     ON CONFLICT (after_id) DO UPDATE SET epoch = excluded.epoch, begun_at = excluded.begun_at`,
    newest,
    epoch,
    at,
  );
  return epoch;
}

/**
 * The epoch of one holder of the lease. It begins before the holder's first changes. A new one begins if the
 * database then holds less than this process has seen, or another epoch: a backup has taken its place.
 */
export class WriterEpoch {
  #epoch: string | null = null;
  #newest = 0;

  /** Runs `write`, which writes changes, in the writer's epoch. */
  async around(tx: Sql, at: string, write: () => Promise<void>): Promise<void> {
    const [stored] = await tx.query<{ epoch: string }>(
      `SELECT epoch FROM epochs ORDER BY after_id DESC LIMIT 1`,
    );
    if (stored?.epoch !== this.#epoch || (await newestChange(tx)) < this.#newest)
      this.#epoch = await beginEpoch(tx, at);
    await write();
    // After a roll-back this id is too high. The next changes then begin an epoch, which costs nothing.
    this.#newest = await newestChange(tx);
  }
}

async function newestChange(tx: Sql): Promise<number> {
  const [row] = await tx.query<{ id: number | null }>(`SELECT max(id) AS id FROM changes`);
  return row?.id ?? 0;
}
