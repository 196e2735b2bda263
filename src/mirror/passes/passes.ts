import { HOUR } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import { storableJson } from '../../core/json.ts';
import type { ListName } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import type { FencedDatabase } from '../lease.ts';
import { readSetting, writeSetting } from '../settings/settings.ts';
import { CONSENT } from '../gate/account.ts';
import { coversInbox, listsText, type Scope } from './scope.ts';
import { OPEN_PASS } from './states.ts';

/**
 * A pass that was interrupted more hours ago than this is not resumed: the lists that it completed are out
 * of date. The limit is longer than a wait for the day's budget, which can take a day and some seconds.
 */
const RESUMABLE_HOURS = 36;

/** A pass as requested: its scope and its kind. */
export interface PassSpec extends Scope {
  readonly kind: 'sync' | 'resync';
  readonly acceptDeletes: boolean;
  /** The mirror changes to the account that the service shows. */
  readonly acceptAccount: boolean;
  readonly requestedBy: string;
  /** The row of an order, which the pass uses instead of a new one. */
  readonly orderId?: number;
}

/** One pass over a set of lists. */
export interface Pass {
  readonly id: number;
  readonly startedAt: Date;
  /** True if it resumes an interrupted pass. */
  readonly resumed: boolean;
}

/** How a pass ended. */
export interface PassEnd {
  readonly state: 'done' | 'failed';
  readonly error: string | null;
  /** A JSON value for the command that ordered the pass. */
  readonly report?: unknown;
}

/** Passes under way, for the holder of the lease. */
export class Passes {
  readonly #fenced: FencedDatabase;

  constructor(fenced: FencedDatabase) {
    this.#fenced = fenced;
  }

  /**
   * Begins the order, or resumes an interrupted pass of the same kind and scope, or begins a new one. A
   * consent to another account begins again until it is used, and after another one was: lists that were read
   * since it first began may be those of the earlier account.
   * @param access in use (`accessId`): a consent to another account is resumed with the same one only
   * @throws MirrorError `STOPPED` if a person has cancelled the order
   */
  async begin(spec: PassSpec, now: number, access: string | null = null): Promise<Pass> {
    const accepted = spec.acceptAccount ? access : null;
    const lists = listsText(spec);
    const oldest = iso(now - RESUMABLE_HOURS * HOUR);
    return await this.#fenced.write(async (tx) => {
      await tx.execute(
        `UPDATE sync_requests SET state = 'abandoned', finished_at = $1,
           error = 'interrupted over ${RESUMABLE_HOURS} hours ago'
         WHERE state = 'running' AND NOT ordered AND COALESCE(heartbeat_at, started_at) < $2`,
        iso(now),
        oldest,
      );
      const [found] = await tx.query<{ id: number; started_at: Date | null }>(
        `SELECT id, started_at FROM sync_requests
         WHERE state IN ${OPEN_PASS} AND kind = $1 AND lists = $2 AND inbox_id IS NOT DISTINCT FROM $3
           AND accept_deletes = $4 AND accept_account = $6
           AND CASE WHEN CAST($5 AS INTEGER) IS NULL
             THEN COALESCE(heartbeat_at, requested_at) >= $7 AND accept_access IS NOT DISTINCT FROM $8
             ELSE id = $5 END
         ORDER BY id DESC LIMIT 1`,
        spec.kind,
        lists,
        spec.inboxId,
        spec.acceptDeletes,
        spec.orderId ?? null,
        spec.acceptAccount,
        oldest,
        accepted,
      );
      if (found === undefined && spec.orderId !== undefined)
        throw new MirrorError('STOPPED', `Order ${spec.orderId} was cancelled before it began.`);
      const lastConsent = spec.acceptAccount ? await readConsent(tx) : null;
      const isReplaced = spec.orderId === undefined && found !== undefined && (lastConsent ?? 0) > found.id;
      if (isReplaced) await abandonReplaced(tx, found.id, now);
      const open = isReplaced ? undefined : found;
      // A person who runs the command again gives a consent of this moment. An order keeps its own.
      if (open !== undefined && spec.orderId === undefined)
        await tx.execute(`UPDATE sync_requests SET requested_at = $2 WHERE id = $1`, open.id, iso(now));
      const mayResume = !spec.acceptAccount || lastConsent === open?.id;
      if (open?.started_at && mayResume) return { id: open.id, startedAt: open.started_at, resumed: true };
      const startedAt = Math.max(now, (await lastSweepHeartbeat(tx)) + 1);
      const id = open?.id ?? (await insertPass(tx, { ...spec, lists, accepted }, now));
      // The ledger moves an order's time with a set clock, even if the order came after the clock was set.
      await tx.execute(
        `UPDATE sync_requests SET state = 'running', started_at = $2, heartbeat_at = $2,
           requested_at = CASE WHEN requested_at > $3 THEN $3 ELSE requested_at END
         WHERE id = $1`,
        id,
        iso(startedAt),
        iso(now),
      );
      return { id, startedAt: new Date(startedAt), resumed: false };
    });
  }

  /** Records that a consent to another account is used: the mirror has the inboxes that its pass has read. */
  async useConsent(passId: number): Promise<void> {
    await this.#fenced.write((tx) => writeSetting(tx, CONSENT, String(passId)));
  }

  /** The id of the pass whose consent to another account was used last; null if none was. */
  async lastConsent(): Promise<number | null> {
    return await readConsent(this.#fenced.database);
  }

  /** Records that a pass is under way, so that a long one does not look interrupted. */
  async touch(passId: number, now: number): Promise<void> {
    await this.#fenced.write(async (tx) => {
      await tx.execute(`UPDATE sync_requests SET heartbeat_at = $2 WHERE id = $1`, passId, iso(now));
    });
  }

  /**
   * Ends a pass, unless a person has cancelled it meanwhile. A pass that can be resumed must not be ended:
   * the next one of its kind resumes it.
   */
  async end(passId: number, { state, error, report = null }: PassEnd, now: number): Promise<void> {
    await this.#fenced.write(async (tx) => {
      const ended = await tx.execute(
        `UPDATE sync_requests SET state = $2, error = $3, finished_at = $4, report = $5
         WHERE id = $1 AND state IN ${OPEN_PASS}`,
        passId,
        state,
        error,
        iso(now),
        report === null ? null : storableJson(JSON.stringify(report)),
      );
      if (ended > 0 && state === 'done') await endCovered(tx, passId, now);
    });
  }
}

/** Ends a consent that another one has followed. The ids of consents show which one a person gave last. */
async function abandonReplaced(tx: Sql, passId: number, now: number): Promise<void> {
  await tx.execute(
    `UPDATE sync_requests SET state = 'abandoned', finished_at = $2,
       error = 'another account was accepted after it' WHERE id = $1`,
    passId,
    iso(now),
  );
}

async function readConsent(sql: Pick<Sql, 'query'>): Promise<number | null> {
  const id = await readSetting(sql, CONSENT);
  return id === null ? null : Number(id);
}

async function insertPass(
  tx: Sql,
  spec: Omit<PassSpec, 'lists'> & { lists: string; accepted: string | null },
  now: number,
): Promise<number> {
  const [inserted] = await tx.query<{ id: number }>(
    `INSERT INTO sync_requests (kind, lists, inbox_id, accept_deletes, accept_account, accept_access,
       state, requested_by, requested_at)
     VALUES ($1, $2, $3, $4, $7, $8, 'open', $5, $6) RETURNING id`,
    spec.kind,
    spec.lists,
    spec.inboxId,
    spec.acceptDeletes,
    spec.requestedBy,
    iso(now),
    spec.acceptAccount,
    spec.accepted,
  );
  if (inserted === undefined) throw new Error('the insert of a pass returned no id');
  return inserted.id;
}

/**
 * When a sweep was last active, epoch ms; 0 if never. A pass begins later than that, even if the clock was
 * set back: sweeps of earlier passes must not count as sweeps of this one.
 */
async function lastSweepHeartbeat(tx: Sql): Promise<number> {
  const [last] = await tx.query<{ heartbeat_at: Date }>(
    `SELECT heartbeat_at FROM (SELECT heartbeat_at FROM sweeps ORDER BY id DESC LIMIT 1000) AS latest
     ORDER BY heartbeat_at DESC LIMIT 1`,
  );
  return last?.heartbeat_at.getTime() ?? 0;
}

interface ScopeRow {
  readonly id: number;
  readonly lists: readonly ListName[];
  readonly inbox_id: string | null;
}

/** Ends the interrupted passes whose lists the complete pass has all read. */
async function endCovered(tx: Sql, passId: number, now: number): Promise<void> {
  const [complete] = await tx.query<ScopeRow>(
    `SELECT id, lists, inbox_id FROM sync_requests WHERE id = $1`,
    passId,
  );
  const interrupted = await tx.query<ScopeRow>(
    `SELECT id, lists, inbox_id FROM sync_requests WHERE state = 'running' AND NOT ordered`,
  );
  for (const { id, lists, inbox_id } of interrupted) {
    const covered =
      complete !== undefined &&
      lists.every((list) => complete.lists.includes(list)) &&
      coversInbox({ inboxId: complete.inbox_id }, inbox_id);
    if (covered)
      await tx.execute(
        `UPDATE sync_requests SET state = 'done', finished_at = $2 WHERE id = $1`,
        id,
        iso(now),
      );
  }
}
