import { hostname } from 'node:os';
import type { LedgerTime } from '../../core/clock.ts';
import {
  faster,
  type GateState,
  MOST_STRIKES_ALONE,
  nextStrike,
  readSlowdown,
  slower,
} from '../../core/gate-state.ts';
import type { Ledger, Outcome, RequestEntry, SlotLimits } from '../../core/ledger.ts';
import type { Database, Sql } from '../../database/database.ts';
import { iso, isoOrNull } from '../../database/instants.ts';
import { BudgetReader } from './budget-use.ts';
import { confirmClock, followClock } from './clock.ts';
import { isFailingAlone } from './answers/failing.ts';
import { countServed, type SentRequest, throttledAloneSince } from './answers/throttling.ts';
import { forgetAllRefusals, forgetRefusals, lastRefusal, mayRetry, recordRefusal } from './refused-keys.ts';
import { GATE, Slots } from './slot.ts';

/**
 * The gate's columns of `gate_state`; all null if the row does not exist yet. After a good answer has ended a
 * pause, `paused_at` is null, and `paused_until` and the strikes stay.
 */
export interface GateRow {
  strikes: number | null;
  paused_at: Date | null;
  paused_until: Date | null;
  cause: string | null;
  refused_key: string | null;
  refused_at: Date | null;
  slowdown: number | null;
  day_limit: number | null;
  day_limit_at: Date | null;
}

/** The ledger in the mirror's database. All processes of a mirror share it. */
export class DatabaseLedger implements Ledger {
  readonly #database: Database;
  readonly #host: string;
  readonly #slots: Slots;
  readonly #use: BudgetReader;

  /** @param host the name of this machine */
  constructor(database: Database, host = hostname()) {
    this.#database = database;
    this.#host = host;
    this.#slots = new Slots(database);
    this.#use = new BudgetReader(database);
  }

  async grant(entry: RequestEntry, limits: SlotLimits, now: number) {
    const grant = await this.#slots.grant(entry, limits, now);
    // A process with another key may have opened the gate. A daemon reads it before it begins a sweep.
    if (!grant.granted && grant.because === 'key') await shutAgain(this.#database, limits.access, now);
    return grant;
  }

  budgetLeft(cap: number, now: number) {
    return this.#use.budgetLeft(cap, now);
  }

  async settle(id: number, { status, durationMs, items, error, serviceAt }: Outcome): Promise<void> {
    await this.#database.execute(
      `UPDATE requests SET status = $2, duration_ms = $3, items = $4, changed = $5, error = $6,
         service_at = $7 WHERE id = $1`,
      id,
      status,
      Math.ceil(durationMs),
      items,
      items === null ? null : 0,
      error,
      isoOrNull(serviceAt),
    );
  }

  async withdraw(id: number): Promise<void> {
    await this.#database.execute(`DELETE FROM requests WHERE id = $1`, id);
  }

  async gateState(): Promise<GateState> {
    return await readState(this.#database);
  }

  async pauseGate(
    requestId: number,
    until: (strikes: number, alone: boolean) => number,
    cause: string,
    now: number,
    dayLimit: number | null = null,
  ) {
    return await this.#database.transaction(async (tx) => {
      await tx.execute(`INSERT INTO gate_state (id) VALUES (1) ON CONFLICT (id) DO NOTHING`);
      const before = await readState(tx);
      const [sent] = await tx.query<SentRequest & { readonly sent_at: Date }>(
        `SELECT sent_at, path, reason, list, inbox_id FROM requests WHERE id = $1`,
        requestId,
      );
      // Requests that were under way together and all draw a 429 count as one strike.
      if (sent !== undefined && before.pausedAt !== null && sent.sent_at <= before.pausedAt) return null;
      const since = sent === undefined ? null : await throttledAloneSince(tx, sent, now);
      const alone = since !== null;
      // Only time ends a limit of the day, however many requests were served.
      const served = dayLimit === null ? await countServed(tx, before.endedAt, now) : 0;
      const strike = nextStrike(before, now, served);
      const strikes = alone ? Math.min(strike, MOST_STRIKES_ALONE) : strike;
      await tx.execute(
        `UPDATE gate_state SET strikes = $1, paused_at = $2, paused_until = $3, cause = $4, slowdown = $5`,
        strikes,
        iso(now),
        iso(until(strikes, alone)),
        cause,
        alone || dayLimit !== null ? before.slowdown : slower(before, now),
      );
      // Others are served, so the account's day was not full when the path first drew a 429.
      if (alone)
        await tx.execute(
          `UPDATE gate_state SET day_limit = NULL, day_limit_at = NULL WHERE day_limit_at >= $1`,
          iso(since),
        );
      else if (dayLimit !== null)
        await tx.execute(`UPDATE gate_state SET day_limit = $1, day_limit_at = $2`, dayLimit, iso(now));
      return { ...(await readState(tx)), alone };
    }, GATE);
  }

  async pauseForFailure(
    requestId: number | null,
    until: number,
    cause: string,
    now: number,
  ): Promise<boolean> {
    return await this.#database.transaction(async (tx) => {
      if (requestId !== null && (await isFailingAlone(tx, requestId, now))) return false;
      await tx.execute(
        `INSERT INTO gate_state (id, strikes, paused_at, paused_until, cause) VALUES (1, 0, $1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET strikes = excluded.strikes, paused_at = excluded.paused_at,
           paused_until = excluded.paused_until, cause = excluded.cause
         WHERE gate_state.paused_at IS NULL OR gate_state.paused_until < excluded.paused_until`,
        iso(now),
        iso(until),
        cause,
      );
      return true;
    }, GATE);
  }

  async endPause(requestId: number): Promise<boolean> {
    const ended = await this.#database.execute(
      `UPDATE gate_state SET paused_at = NULL,
         cause = CASE WHEN refused_key IS NULL THEN NULL ELSE cause END
       WHERE paused_at IS NOT NULL AND paused_until <= (SELECT sent_at FROM requests WHERE id = $1)`,
      requestId,
    );
    return ended > 0;
  }

  async ease(now: number): Promise<number> {
    return await this.#database.transaction(async (tx) => {
      const state = await readState(tx);
      if (state.pausedAt !== null || state.slowdown === 1) return state.slowdown;
      const eased = faster(state, now);
      await tx.execute(`UPDATE gate_state SET slowdown = $1`, eased);
      return eased;
    }, GATE);
  }

  async openGate(now: number): Promise<number> {
    await forgetAllRefusals(this.#database);
    await this.#database.execute(
      `UPDATE gate_state SET strikes = 0, paused_at = NULL, paused_until = NULL, cause = NULL,
         refused_key = NULL, refused_at = NULL, slowdown = NULL, day_limit = NULL,
         day_limit_at = NULL, outage_until = outage_since`,
    );
    return await this.#database.execute(
      `UPDATE sweeps SET retry_at = NULL WHERE retry_at > $1 AND state = 'paused'`,
      iso(now),
    );
  }

  async refuseKey(access: string, cause: string, now: number): Promise<void> {
    await this.#database.transaction(async (tx) => {
      await tx.execute(
        `INSERT INTO gate_state (id, refused_key, refused_at, cause) VALUES (1, $1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET refused_key = excluded.refused_key, refused_at = excluded.refused_at,
           cause = excluded.cause`,
        access,
        iso(now),
        cause,
      );
      await recordRefusal(tx, access, this.#host, now);
    }, GATE);
  }

  async lastRefusal(access: string) {
    return await lastRefusal(this.#database, access);
  }

  async allowKey(access: string): Promise<void> {
    await this.#database.transaction(async (tx) => {
      await forgetRefusals(tx, access);
      await tx.execute(`${CLEAR_REFUSAL} WHERE refused_key IS NOT NULL`);
    }, GATE);
  }

  async retryKey(access: string, now: number): Promise<void> {
    await this.#database.transaction(async (tx) => {
      if (await mayRetry(tx, access, this.#host, now))
        await tx.execute(`${CLEAR_REFUSAL} WHERE refused_key IS NOT NULL`);
      else await clearOtherRefusal(tx, access);
    }, GATE);
  }

  async clearOtherRefusal(access: string): Promise<void> {
    await clearOtherRefusal(this.#database, access);
  }

  async followClock(time: LedgerTime): Promise<boolean> {
    const { dialect } = this.#database;
    return await this.#database.transaction((tx) => followClock(tx, dialect, time), GATE);
  }

  async confirmClock(requestId: number, now: number) {
    const { dialect } = this.#database;
    return await this.#database.transaction((tx) => confirmClock(tx, dialect, requestId, now), GATE);
  }
}

const CLEAR_REFUSAL = `UPDATE gate_state SET refused_key = NULL, refused_at = NULL,
  cause = CASE WHEN paused_at IS NULL THEN NULL ELSE cause END`;

async function clearOtherRefusal(sql: Sql, access: string): Promise<void> {
  await sql.execute(`${CLEAR_REFUSAL} WHERE refused_key <> $1`, access);
}

/**
 * Shuts the gate at `now` (epoch ms) for an access that was refused lately, if it is open or shut for another
 * one. A daemon with another key opens it again at its next tick.
 */
async function shutAgain(sql: Sql, access: string, now: number): Promise<void> {
  await sql.execute(
    `INSERT INTO gate_state (id, refused_key, refused_at) VALUES (1, $1, $2)
     ON CONFLICT (id) DO UPDATE SET refused_key = excluded.refused_key, refused_at = excluded.refused_at
     WHERE (gate_state.refused_key IS NULL OR gate_state.refused_key <> excluded.refused_key)
       AND EXISTS (SELECT 1 FROM leases WHERE holder = $1)`,
    access,
    iso(now),
  );
}

async function readState(sql: Sql): Promise<GateState> {
  const [row] = await sql.query<GateRow>(
    `SELECT strikes, paused_at, paused_until, cause, refused_key, refused_at, slowdown, day_limit,
       day_limit_at FROM gate_state`,
  );
  return asGateState(row);
}

export function asGateState(row: GateRow | undefined): GateState {
  const pausedAt = row?.paused_at ?? null;
  const until = row?.paused_until ?? null;
  return {
    strikes: row?.strikes ?? 0,
    pausedAt,
    pausedUntil: pausedAt === null ? null : until,
    endedAt: pausedAt === null ? until : null,
    cause: row?.cause ?? null,
    refusedKey: row?.refused_key ?? null,
    refusedAt: row?.refused_at ?? null,
    slowdown: readSlowdown(row?.slowdown),
    dayLimit: row?.day_limit ?? null,
    dayLimitAt: row?.day_limit_at ?? null,
  };
}
