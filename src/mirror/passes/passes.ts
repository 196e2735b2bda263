import { storableJson } from '../../core/json.ts';
import { LIST_NAMES, type ListName } from '../../core/lists.ts';
import type { Database, Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import type { Fence } from '../lease.ts';

/**
 * A pass that was interrupted longer ago than this does not spare the lists that it had completed: they are old news. Waiting for the day's
 * budget, a day and some seconds, is no such interruption.
 */
const RESUMABLE_MS = 36 * 3_600_000;

/** What somebody asked for: which lists, of which inbox, and how. */
export interface PassSpec {
  readonly kind: 'sync' | 'resync';
  readonly lists: readonly ListName[];
  readonly inboxId: string | null;
  readonly acceptDeletes: boolean;
  readonly requestedBy: string;
  /** Where it was handed to the daemon: its row, which is begun instead of a new one. */
  readonly orderId?: number;
}

/** One pass over a set of lists. */
export interface Pass {
  readonly id: number;
  readonly startedAt: Date;
  /** True where it goes on with one that was interrupted. */
  readonly resumed: boolean;
}

/** Begins the order, or goes on with an interrupted pass of the same kind and scope, or begins a new one. */
export async function beginPass(
  database: Database,
  fence: Fence,
  spec: PassSpec,
  now: number,
): Promise<Pass> {
  const lists = JSON.stringify(LIST_NAMES.filter((list) => spec.lists.includes(list)));
  return await database.transaction(async (tx) => {
    await fence(tx);
    await tx.execute(
      `UPDATE sync_requests SET state = 'abandoned', finished_at = $1, error = 'interrupted over a day ago'
       WHERE state = 'running' AND NOT ordered AND COALESCE(heartbeat_at, started_at) < $2`,
      iso(now),
      iso(now - RESUMABLE_MS),
    );
    const [open] = await tx.query<{ id: number; started_at: Date | null }>(
      `SELECT id, started_at FROM sync_requests
       WHERE state IN ('open', 'running') AND kind = $1 AND lists = $2 AND inbox_id IS NOT DISTINCT FROM $3 AND accept_deletes = $4
         AND (CAST($5 AS INTEGER) IS NULL OR id = $5) ORDER BY id DESC LIMIT 1`,
      spec.kind,
      lists,
      spec.inboxId,
      spec.acceptDeletes,
      spec.orderId ?? null,
    );
    if (open?.started_at) return { id: open.id, startedAt: open.started_at, resumed: true };
    const startedAt = Math.max(now, (await lastHeartbeat(tx)) + 1);
    const id = open?.id ?? (await insertPass(tx, { ...spec, lists }, now));
    await tx.execute(
      `UPDATE sync_requests SET state = 'running', started_at = $2, heartbeat_at = $2 WHERE id = $1`,
      id,
      iso(startedAt),
    );
    return { id, startedAt: new Date(startedAt), resumed: false };
  });
}

async function insertPass(
  tx: Sql,
  spec: Omit<PassSpec, 'lists'> & { lists: string },
  now: number,
): Promise<number> {
  const [begun] = await tx.query<{ id: number }>(
    `INSERT INTO sync_requests (kind, lists, inbox_id, accept_deletes, state, requested_by, requested_at) VALUES ($1, $2, $3, $4, 'open', $5, $6)
     RETURNING id`,
    spec.kind,
    spec.lists,
    spec.inboxId,
    spec.acceptDeletes,
    spec.requestedBy,
    iso(now),
  );
  return begun?.id ?? 0;
}

/** Notes that a pass is under way, so that a long one is not taken for one that was left. */
export async function touchPass(
  database: Database,
  fence: Fence,
  passId: number,
  now: number,
): Promise<void> {
  await database.transaction(async (tx) => {
    await fence(tx);
    await tx.execute(`UPDATE sync_requests SET heartbeat_at = $2 WHERE id = $1`, passId, iso(now));
  });
}

/**
 * When a sweep last did anything, epoch ms; 0 where there was none. A pass begins after that, also where a clock that was set back says
 * otherwise: what was begun or completed before it must not look like its own.
 */
async function lastHeartbeat(tx: Sql): Promise<number> {
  const [last] = await tx.query<{ heartbeat_at: Date }>(
    `SELECT heartbeat_at FROM (SELECT heartbeat_at FROM sweeps ORDER BY id DESC LIMIT 1000) AS latest ORDER BY heartbeat_at DESC LIMIT 1`,
  );
  return last?.heartbeat_at.getTime() ?? 0;
}

/** How a pass ended. */
export interface PassEnd {
  readonly state: 'done' | 'failed';
  readonly error: string | null;
  /** For whoever ordered it: anything that JSON can hold. */
  readonly report?: unknown;
}

/** Ends a pass. One that stopped short stays open, so that the next of its kind goes on with it. */
export async function endPass(
  database: Database,
  fence: Fence,
  passId: number,
  { state, error, report = null }: PassEnd,
  now: number,
): Promise<void> {
  await database.transaction(async (tx) => {
    await fence(tx);
    await tx.execute(
      `UPDATE sync_requests SET state = $2, error = $3, finished_at = $4, report = $5 WHERE id = $1`,
      passId,
      state,
      error,
      iso(now),
      report === null ? null : storableJson(JSON.stringify(report)),
    );
    if (state === 'done') await endCovered(tx, passId, now);
  });
}

interface ScopeRow {
  readonly id: number;
  readonly lists: readonly ListName[];
  readonly inbox_id: string | null;
}

/** A complete pass has also done what an interrupted one over some of its lists had begun: nobody shall go on with that later, on old news. */
async function endCovered(tx: Sql, passId: number, now: number): Promise<void> {
  const [own] = await tx.query<ScopeRow>(
    `SELECT id, lists, inbox_id FROM sync_requests WHERE id = $1`,
    passId,
  );
  const open = await tx.query<ScopeRow>(
    `SELECT id, lists, inbox_id FROM sync_requests WHERE state = 'running' AND NOT ordered`,
  );
  for (const { id, lists, inbox_id } of open) {
    const covered =
      lists.every((list) => own?.lists.includes(list)) &&
      (own?.inbox_id === null || own?.inbox_id === inbox_id);
    if (covered)
      await tx.execute(
        `UPDATE sync_requests SET state = 'done', finished_at = $2 WHERE id = $1`,
        id,
        iso(now),
      );
  }
}
