import { randomUUID } from 'node:crypto';
import { BUDGET_WINDOW_MS } from '../../core/budget.ts';
import type { GateState } from '../../core/gate-state.ts';
import type { Grant, Ledger, RequestEntry, SlotLimits } from '../../core/ledger.ts';
import type { Database, Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import { followClock } from './clock.ts';

/** No request is under way for longer: whole-request time-out (30 s) and some room. */
const LONGEST_REQUEST_MS = 35_000;
const QUICK_ANSWER_MS = 1000;

/** Another process's answer may come at any moment. */
const POLL_MS = 250;

/** What grants, pauses or moves the ledger's instants does so alone. */
const GATE = 'gate';

/** The name of the lease on the next slot, and how long it is good for: some polls. */
const TURN = 'slot';
const TURN_MS = 1000;

/** The gate's part of `gate_state`; all null where the row is not there yet. */
export interface GateRow {
  strikes: number | null;
  paused_at: Date | null;
  paused_until: Date | null;
  cause: string | null;
  refused_key: string | null;
  refused_at: Date | null;
}

/** The ledger on the mirror's own database: every process that uses the mirror debits the same one. */
export function ledgerOf(database: Database): Ledger {
  const { millisecondsBetween } = database.dialect;
  const holder = randomUUID();
  let claimed = false;
  const age = millisecondsBetween('sent_at', '$1');
  // Another process's request blocks until a gap after its answer, or for a while from its start where no answer proves its arrival.
  const blockedFor = `CASE WHEN status IS NULL THEN CAST($11 AS DOUBLE PRECISION) ELSE duration_ms + CAST($12 AS DOUBLE PRECISION) END - ${age}`;
  // The first condition spares the arithmetic for whatever was answered quickly and long ago.
  const mayBlock = `(sent_at > $16 OR status IS NULL OR duration_ms > ${QUICK_ANSWER_MS})`;
  const others = `requests WHERE sent_at > $8 AND ${mayBlock} AND CAST(id AS TEXT) NOT IN (SELECT value FROM ${database.dialect.texts('$10', 'own')}) AND ${blockedFor} > 0`;
  const othersTurn = `SELECT 1 FROM leases WHERE name = '${TURN}' AND holder <> $14 AND expires_at > $1 AND expires_at <= $15`;
  // After a pause one request goes ahead alone: the half-open probe.
  const probeOut = `SELECT 1 FROM gate_state, requests WHERE strikes > 0 AND sent_at > $8 AND sent_at >= paused_until AND status IS NULL AND error IS NULL`;
  const insert = `
    INSERT INTO requests (sent_at, method, path, list, inbox_id, reason)
    SELECT $1, $2, $3, $4, $5, $6
    WHERE (SELECT count(*) FROM requests WHERE sent_at > $7) < $9
      AND NOT EXISTS (SELECT 1 FROM ${others})
      AND NOT EXISTS (${othersTurn})
      AND NOT EXISTS (SELECT 1 FROM gate_state WHERE paused_until > $1 OR refused_key = $13)
      AND NOT EXISTS (${probeOut})
    RETURNING id, (SELECT max(strikes) FROM gate_state) AS strikes`;
  const explain = `
    SELECT (SELECT max(${blockedFor}) FROM ${others}) AS spacing,
      (SELECT ${millisecondsBetween('$1', 'paused_until')} FROM gate_state WHERE paused_until > $1) AS pause,
      EXISTS (SELECT 1 FROM gate_state WHERE refused_key = $13) AS key_refused,
      EXISTS (${othersTurn}) AS others_turn,
      EXISTS (${probeOut}) AS probe_out,
      (SELECT ${millisecondsBetween('$1', 'sent_at')} FROM requests WHERE sent_at > $7 ORDER BY sent_at DESC LIMIT 1 OFFSET $9 - 1) AS frees`;
  // A process knows when its own requests arrive and others do not, so one that is busy would always be first. Whoever is kept
  // waiting by another's requests therefore claims the next slot; the claim lapses by itself.
  const claim = `
    INSERT INTO leases (name, holder, host, pid, command, acquired_at, heartbeat_at, expires_at)
    VALUES ('${TURN}', $1, '', $2, 'gate', $3, $3, $4)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, pid = excluded.pid, heartbeat_at = excluded.heartbeat_at,
      expires_at = excluded.expires_at
    WHERE leases.holder = excluded.holder OR leases.expires_at <= $3 OR leases.expires_at > $4`;

  async function claimTurn(now: number): Promise<void> {
    claimed = true;
    await database.execute(claim, holder, process.pid, iso(now), iso(now + TURN_MS));
  }

  async function dropClaim(): Promise<void> {
    if (!claimed) return;
    claimed = false;
    await database.execute(`DELETE FROM leases WHERE name = '${TURN}' AND holder = $1`, holder);
  }

  return {
    async grant(entry, limits, now) {
      if (limits.cap < 1) return { granted: false, because: 'budget', waitMs: BUDGET_WINDOW_MS };
      const quick = iso(now - limits.gapMs - QUICK_ANSWER_MS - 2);
      const parameters = [...grantParameters(entry, limits, now), holder, iso(now + TURN_MS), quick];
      const [row] = await database.transaction(
        (tx) => tx.query<{ id: number; strikes: number | null }>(insert, ...parameters),
        GATE,
      );
      if (row !== undefined) {
        await dropClaim();
        return { granted: true, id: row.id, probe: (row.strikes ?? 0) > 0 };
      }
      const [why] = await database.query<Why>(explain, ...parameters);
      const refused = refusal(why);
      if (refused.because === 'spacing') await claimTurn(now);
      return refused;
    },

    async settle(id, { status, durationMs, items, error }) {
      await database.execute(
        `UPDATE requests SET status = $2, duration_ms = $3, items = $4, changed = $5, error = $6 WHERE id = $1`,
        id,
        status,
        Math.ceil(durationMs),
        items,
        items === null ? null : 0,
        error,
      );
    },

    state: () => readState(database),

    pause: (requestId, until, cause, now) =>
      database.transaction(async (tx) => {
        await tx.execute(`INSERT INTO gate_state (id) VALUES (1) ON CONFLICT (id) DO NOTHING`);
        const before = await readState(tx);
        const [sent] = await tx.query<{ sent_at: Date }>(
          `SELECT sent_at FROM requests WHERE id = $1`,
          requestId,
        );
        // Requests that were under way together are refused together: that is one strike.
        if (sent !== undefined && before.pausedAt !== null && sent.sent_at <= before.pausedAt) return null;
        const strikes = before.strikes + 1;
        const times = [iso(now), iso(until(strikes))];
        await tx.execute(
          `UPDATE gate_state SET strikes = $1, paused_at = $2, paused_until = $3, cause = $4`,
          strikes,
          ...times,
          cause,
        );
        return await readState(tx);
      }, GATE),

    async endPause(requestId) {
      const ended = await database.execute(
        `UPDATE gate_state SET strikes = 0, paused_at = NULL, paused_until = NULL, cause = CASE WHEN refused_key IS NULL THEN NULL ELSE cause END
         WHERE strikes > 0 AND paused_until <= (SELECT sent_at FROM requests WHERE id = $1)`,
        requestId,
      );
      return ended > 0;
    },

    async open() {
      await database.execute(
        `UPDATE gate_state SET strikes = 0, paused_at = NULL, paused_until = NULL, cause = NULL, refused_key = NULL, refused_at = NULL`,
      );
    },

    async refuseKey(key, cause, now) {
      await database.execute(
        `INSERT INTO gate_state (id, refused_key, refused_at, cause) VALUES (1, $1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET refused_key = excluded.refused_key, refused_at = excluded.refused_at, cause = excluded.cause`,
        key,
        iso(now),
        cause,
      );
    },

    async allowKey() {
      await database.execute(
        `UPDATE gate_state SET refused_key = NULL, refused_at = NULL, cause = CASE WHEN strikes = 0 THEN NULL ELSE cause END
         WHERE refused_key IS NOT NULL`,
      );
    },

    followClock: (boot, now) => database.transaction((tx) => followClock(tx, database, boot, now), GATE),
  };
}

function grantParameters(entry: RequestEntry, limits: SlotLimits, now: number): unknown[] {
  const lookBack = Math.max(LONGEST_REQUEST_MS + limits.gapMs, limits.unansweredMs);
  const what = [entry.method, entry.path, entry.list, entry.inboxId, entry.reason];
  const windows = [iso(now - BUDGET_WINDOW_MS), iso(now - lookBack)];
  // The ledger's instants are whole milliseconds: what it calls a gap may be one short.
  const spaces = [limits.unansweredMs, limits.gapMs + 1];
  return [
    iso(now),
    ...what,
    ...windows,
    limits.cap,
    JSON.stringify(limits.own.map(String)),
    ...spaces,
    limits.key,
  ];
}

type Why = Record<'spacing' | 'pause' | 'key_refused' | 'others_turn' | 'probe_out' | 'frees', number | null>;
type Refusal = Grant & { granted: false };

function refusal(why: Why | undefined): Refusal {
  if (why?.key_refused) return { granted: false, because: 'key', waitMs: 0 };
  if (why?.pause) return { granted: false, because: 'pause', waitMs: why.pause };
  // `frees` is how far from now the request lies that must leave the window first: a negative number.
  if (typeof why?.frees === 'number')
    return { granted: false, because: 'budget', waitMs: BUDGET_WINDOW_MS + why.frees + 1 };
  if (why?.probe_out) return { granted: false, because: 'probe', waitMs: POLL_MS };
  // Asked again soon though a long wait is to be expected: an answer shortens it.
  const waitMs = Math.min(why?.spacing ?? (why?.others_turn ? POLL_MS : 1), POLL_MS);
  return { granted: false, because: 'spacing', waitMs: Math.max(1, waitMs) };
}

async function readState(sql: Sql): Promise<GateState> {
  const [row] = await sql.query<GateRow>(
    `SELECT strikes, paused_at, paused_until, cause, refused_key, refused_at FROM gate_state`,
  );
  return asGateState(row);
}

export function asGateState(row: GateRow | undefined): GateState {
  return {
    strikes: row?.strikes ?? 0,
    pausedAt: row?.paused_at ?? null,
    pausedUntil: row?.paused_until ?? null,
    cause: row?.cause ?? null,
    refusedKey: row?.refused_key ?? null,
    refusedAt: row?.refused_at ?? null,
  };
}
