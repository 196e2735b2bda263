import { randomUUID } from 'node:crypto';
import { BUDGET_WINDOW_MS, REQUEST_TIMEOUT_MS } from '../../core/budget.ts';
import { CLOCK_TOLERANCE_MS, SECOND } from '../../core/clock.ts';
import { MOST_SLOWDOWN } from '../../core/gate-state.ts';
import type { Grant, RequestEntry, SlotLimits } from '../../core/ledger.ts';
import { type Database, named } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso, isoOrNull } from '../../database/instants.ts';
import { REFUSED_LATELY, refusedEnds } from './refused-keys.ts';

/** No request takes longer than this, in ms: the time-out of a whole request, and 5 s to spare. */
const LONGEST_REQUEST_MS = REQUEST_TIMEOUT_MS + 5 * SECOND;
/** An answer within this many ms is quick: its request can block only if it was sent after `quickSince`. */
const QUICK_ANSWER_MS = SECOND;

/** Instants are whole milliseconds: the span between two of them can be up to this many ms wrong. */
const ROUNDING_MS = 1;

/** A process that waits for another's answer requests its slot again after this many ms. */
const POLL_MS = 250;

/** The name of transactions that grant a slot, pause the gate or shift instants: only one runs at a time. */
export const GATE = 'gate';

/** The name of the lease that claims the next slot, and the ms for which it is valid: a few polls. */
const CLAIM = 'slot';
const CLAIM_MS = SECOND;

/** The statements that grant a slot or explain a refusal. Both use the named values of {@link slotValues}. */
interface SlotSql {
  /** Inserts the request's row if every limit allows it, in one atomic statement. */
  readonly insert: string;
  /** Reads which limit refuses the slot, and for how long: an {@link Explanation}. */
  readonly explain: string;
}

function slotSql({ millisecondsBetween, texts }: Dialect): SlotSql {
  // As `readSlowdown`: any other value is not of this program.
  const slowdown = `(SELECT slowdown FROM gate_state WHERE slowdown BETWEEN 1 AND ${MOST_SLOWDOWN})`;
  // Another process's request blocks until a gap after its answer, or without one for `unansweredMs`.
  const blockedFor = `CASE WHEN status IS NULL THEN CAST(:unanswered AS DOUBLE PRECISION)
    ELSE duration_ms + CAST(:gap AS DOUBLE PRECISION) * COALESCE(${slowdown}, 1)
    END - ${millisecondsBetween('sent_at', ':now')}`;
  // Skips the arithmetic for requests whose quick answer came long ago.
  const mayBlock = `(sent_at > :quickSince OR status IS NULL OR duration_ms > ${QUICK_ANSWER_MS})`;
  const others = `requests WHERE sent_at > :recentSince AND ${mayBlock}
    AND CAST(id AS TEXT) NOT IN (SELECT value FROM ${texts(':own', 'own')}) AND ${blockedFor} > 0`;
  const othersClaim = `SELECT 1 FROM leases
    WHERE name = '${CLAIM}' AND holder <> :holder AND expires_at > :now AND expires_at <= :claimEnds`;
  // A pause that has ended keeps its end, which is in the future if the clock was set back since.
  const paused = `(paused_at IS NOT NULL AND paused_until > :now)`;
  const keyRefused = `SELECT 1 FROM gate_state WHERE refused_key = :access UNION ALL ${REFUSED_LATELY}`;
  // After a pause one request leaves alone: the trial of a half-open breaker.
  const trialOut = `SELECT 1 FROM gate_state, requests WHERE paused_at IS NOT NULL AND sent_at > :recentSince
    AND sent_at >= paused_until AND status IS NULL AND error IS NULL`;
  // The ledger's instants belong to another setting of the clock. Null without a boot, which refuses nothing.
  const otherClock = `SELECT 1 FROM gate_state
    WHERE ABS(${millisecondsBetween('clock_boot_at', ':bootAt')}) > ${CLOCK_TOLERANCE_MS}`;
  return {
    insert: `
      INSERT INTO requests (sent_at, method, path, list, inbox_id, reason)
      SELECT :now, :method, :path, :list, :inboxId, :reason
      WHERE (SELECT count(*) FROM requests WHERE sent_at > :windowStart) < :cap
        AND NOT EXISTS (SELECT 1 FROM ${others})
        AND NOT EXISTS (${othersClaim})
        AND NOT EXISTS (SELECT 1 FROM gate_state WHERE ${paused})
        AND NOT EXISTS (${keyRefused})
        AND NOT EXISTS (${trialOut})
        AND NOT EXISTS (${otherClock})
      RETURNING id, EXISTS (SELECT 1 FROM gate_state WHERE paused_at IS NOT NULL) AS is_trial,
        ${slowdown} AS slowdown`,
    explain: `
      SELECT (SELECT max(${blockedFor}) FROM ${others}) AS spacing,
        (SELECT ${millisecondsBetween(':now', 'paused_until')} FROM gate_state
         WHERE ${paused}) AS pause,
        EXISTS (${keyRefused}) AS key_refused,
        EXISTS (${othersClaim}) AS others_claim,
        EXISTS (${trialOut}) AS trial_out,
        EXISTS (${otherClock}) AS other_clock,
        (SELECT ${millisecondsBetween(':now', 'sent_at')} FROM requests
         WHERE sent_at > :windowStart ORDER BY sent_at DESC LIMIT 1 OFFSET :cap - 1) AS frees`,
  };
}

function slotValues(entry: RequestEntry, limits: SlotLimits, holder: string, now: number) {
  // A gap between two rounded instants can be too short.
  const gap = limits.gapMs + ROUNDING_MS;
  const longestGap = gap * MOST_SLOWDOWN;
  return {
    now: iso(now),
    ...entry,
    windowStart: iso(now - BUDGET_WINDOW_MS),
    recentSince: iso(now - Math.max(LONGEST_REQUEST_MS + longestGap, limits.unansweredMs)),
    quickSince: iso(now - longestGap - QUICK_ANSWER_MS - ROUNDING_MS),
    cap: limits.cap,
    own: JSON.stringify(limits.ownIds.map(String)),
    unanswered: limits.unansweredMs,
    gap,
    access: limits.access,
    refusedEnds: refusedEnds(now),
    holder,
    claimEnds: iso(now + CLAIM_MS),
    bootAt: isoOrNull(limits.bootAt),
  };
}

/**
 * Grants slots to one process. Only the process itself knows when its requests arrive, so a busy process
 * would always be first. A process that waits for another's requests therefore claims the next slot. The
 * claim expires by itself.
 */
export class Slots {
  readonly #database: Database;
  readonly #sql: SlotSql;
  readonly #holder = randomUUID();
  #claimed = false;

  constructor(database: Database) {
    this.#database = database;
    this.#sql = slotSql(database.dialect);
  }

  /** See `Ledger.grant`. */
  async grant(entry: RequestEntry, limits: SlotLimits, now: number): Promise<Grant> {
    if (limits.cap < 1) return { granted: false, because: 'budget', waitMs: BUDGET_WINDOW_MS };
    const values = slotValues(entry, limits, this.#holder, now);
    const [row] = await this.#database.transaction(
      (tx) => tx.query<Granted>(...named(this.#sql.insert, values)),
      GATE,
    );
    if (row !== undefined) {
      await this.#dropClaim();
      return { granted: true, id: row.id, isTrial: Boolean(row.is_trial), slowdown: row.slowdown ?? 1 };
    }
    const [explanation] = await this.#database.query<Explanation>(...named(this.#sql.explain, values));
    const denial = denialOf(explanation);
    if (denial.because === 'spacing') await this.#claimNext(now);
    return denial;
  }

  async #claimNext(now: number): Promise<void> {
    this.#claimed = true;
    const [claim, ...values] = named(
      `INSERT INTO leases (name, holder, host, pid, command, acquired_at, heartbeat_at, expires_at)
       VALUES ('${CLAIM}', :holder, '', :pid, 'gate', :now, :now, :ends)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, pid = excluded.pid,
         heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at
       WHERE leases.holder = excluded.holder OR leases.expires_at <= :now OR leases.expires_at > :ends`,
      { holder: this.#holder, pid: process.pid, now: iso(now), ends: iso(now + CLAIM_MS) },
    );
    await this.#database.execute(claim, ...values);
  }

  async #dropClaim(): Promise<void> {
    if (!this.#claimed) return;
    this.#claimed = false;
    await this.#database.execute(`DELETE FROM leases WHERE name = '${CLAIM}' AND holder = $1`, this.#holder);
  }
}

interface Granted {
  readonly id: number;
  readonly is_trial: boolean | number;
  readonly slowdown: number | null;
}

/** The limits that refuse a slot. `spacing` and `pause` are ms to wait; null if they refuse nothing. */
interface Explanation {
  readonly spacing: number | null;
  readonly pause: number | null;
  readonly key_refused: boolean | number;
  readonly others_claim: boolean | number;
  readonly trial_out: boolean | number;
  readonly other_clock: boolean | number;
  /** Ms from now to the sending of the request that must leave the window first; negative. */
  readonly frees: number | null;
}

function denialOf(limits: Explanation | undefined): Grant & { granted: false } {
  if (limits?.other_clock) return { granted: false, because: 'clock', waitMs: 0 };
  if (limits?.key_refused) return { granted: false, because: 'key', waitMs: 0 };
  if (limits?.pause) return { granted: false, because: 'pause', waitMs: limits.pause };
  if (typeof limits?.frees === 'number')
    return { granted: false, because: 'budget', waitMs: BUDGET_WINDOW_MS + limits.frees + 1 };
  if (limits?.trial_out) return { granted: false, because: 'trial', waitMs: POLL_MS };
  // The gate retries soon, even if a long wait is expected, because an answer can shorten it.
  const waitMs = Math.min(limits?.spacing ?? (limits?.others_claim ? POLL_MS : 1), POLL_MS);
  return { granted: false, because: 'spacing', waitMs: Math.max(1, waitMs) };
}
