import { BUDGET_WINDOW_MS } from '../../core/budget.ts';
import { type Boot, CLOCK_TOLERANCE_MS, type LedgerTime, MINUTE, SECOND, wasSet } from '../../core/clock.ts';
import type { Confirmation } from '../../core/ledger.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso, isoOrNull } from '../../database/instants.ts';
import { lastHeartbeat, shiftDeletions, shiftRequests, shiftSuspicions, shiftSweeps } from './shift.ts';

/** A time off of up to this many ms is not confirmed: requests only seem that much younger. */
const SHORT_OFF_MS = MINUTE;

/** Hosts read a server's time before they get its locks: a row up to this many ms ahead is no wrong one. */
const SERVER_TOLERANCE_MS = MINUTE;

/** The `Date` header has whole seconds, rounded down. */
const DATE_ROUNDING_MS = SECOND;

/** At most this many requests back, one is sought whose answer had a date. */
const DATED_WITHIN = 1000;

interface ClockRow {
  clock_boot: string | null;
  clock_boot_at: Date | null;
  clock_seen_at: Date | null;
  clock_off_from: Date | null;
  clock_off_to: Date | null;
  paused_at: Date | null;
  paused_until: Date | null;
}

/** A time in which the machine was off: by the clock before it, and by the clock after it; epoch ms. */
interface Off {
  readonly from: number;
  readonly to: number;
}

/**
 * Follows the wall clock (docs/decisions/0003). If it was set during a run of the machine, the time of the
 * boot as the clock shows it has changed: the ledger's recent rows, the newest sweeps and all instants that
 * are compared with them shift by the same amount. A row that was 20 hours old stays 20 hours old.
 *
 * In a new run nothing vouches for the time off. Requests age by the time of the new run alone, until the
 * service confirms more ({@link confirmClock}). If the clock is behind, the latest heartbeat shifts to just
 * before `now`, and a pause that began in the future begins now.
 *
 * Without a run the time is a server's, and no host moves its rows, except from the future to the present.
 * @returns whether a time off is in doubt
 */
export async function followClock(tx: Sql, dialect: Dialect, { now, boot }: LedgerTime): Promise<boolean> {
  await tx.execute(`INSERT INTO gate_state (id) VALUES (1) ON CONFLICT (id) DO NOTHING`);
  const stored = await readClock(tx);
  const sameRun = boot === null || isSameRun(boot, stored);
  const shift = boot !== null && sameRun ? setBy(boot, stored) : 0;
  if (shift !== 0) {
    // If the clock was set back, older rows would lie in the future too.
    await shiftRequests(tx, dialect, shift, { since: Math.min(now - shift, now) - BUDGET_WINDOW_MS });
    // A page may be applied between the setting and this moment. Its instants lie ahead of the earlier clock.
    await shiftSweeps(tx, dialect, shift, shift > 0 ? { until: now - shift + CLOCK_TOLERANCE_MS } : {});
  }
  const off = sameRun ? movedOff(stored, shift) : await ageByRun(tx, dialect, boot, stored);
  const tolerance = boot === null ? SERVER_TOLERANCE_MS : CLOCK_TOLERANCE_MS;
  const behind = (await lastHeartbeat(tx)) - now;
  if (behind > tolerance) await shiftSweeps(tx, dialect, -behind - 1);
  await tx.execute(`UPDATE requests SET sent_at = $1 WHERE sent_at > $2`, iso(now), iso(now + tolerance));
  await tx.execute(
    `UPDATE gate_state SET day_limit_at = $1 WHERE day_limit_at > $2`,
    iso(now),
    iso(now + tolerance),
  );
  await shiftPause(tx, stored, shift, now);
  const isDoubted =
    off !== null && Math.abs(off.to - off.from) > SHORT_OFF_MS && off.to > now - BUDGET_WINDOW_MS;
  await tx.execute(
    `UPDATE gate_state SET clock_boot = $1, clock_boot_at = $2, clock_seen_at = $3, clock_off_from = $4,
       clock_off_to = $5`,
    boot?.id ?? null,
    isoOrNull(boot === null ? null : new Date(boot.at)),
    iso(now),
    isoOrNull(isDoubted ? new Date(off.from) : null),
    isoOrNull(isDoubted ? new Date(off.to) : null),
  );
  return isDoubted;
}

async function readClock(tx: Sql): Promise<ClockRow> {
  const [row] = await tx.query<ClockRow>(
    `SELECT clock_boot, clock_boot_at, clock_seen_at, clock_off_from, clock_off_to, paused_at, paused_until
     FROM gate_state`,
  );
  if (row === undefined) throw new Error('gate_state has no row');
  return row;
}

/** True if the clock was last followed in the same run of the machine, or never. */
function isSameRun(boot: Boot, { clock_boot: id, clock_boot_at: at }: ClockRow): boolean {
  if (at === null) return true;
  return id === boot.id && (id !== null || !wasSet(boot, { at: at.getTime() }));
}

/** The milliseconds by which the clock was set in this run. */
function setBy(boot: Boot, { clock_boot_at: at }: ClockRow): number {
  const last = { at: at?.getTime() ?? boot.at };
  return wasSet(boot, last) ? boot.at - last.at : 0;
}

function movedOff({ clock_off_from: from, clock_off_to: to }: ClockRow, shift: number): Off | null {
  return from === null || to === null ? null : { from: from.getTime(), to: to.getTime() + shift };
}

/**
 * Shifts requests to the present run: at its beginning they are as old as they were when the clock was last
 * seen. @returns the time off that they have not aged by; null if there are no requests
 */
async function ageByRun(tx: Sql, dialect: Dialect, boot: Boot, stored: ClockRow): Promise<Off | null> {
  const [last] = await tx.query<{ sent_at: Date }>(
    `SELECT sent_at FROM requests ORDER BY sent_at DESC LIMIT 1`,
  );
  if (last === undefined) return null;
  const seen = Math.max(last.sent_at.getTime(), stored.clock_seen_at?.getTime() ?? 0);
  // Requests of this run are later.
  const begin = Math.floor(boot.at) - 1;
  const shift = begin - seen;
  await shiftRequests(tx, dialect, shift, { since: Math.min(seen, begin) - BUDGET_WINDOW_MS });
  return movedOff(stored, shift) ?? { from: seen, to: begin };
}

/** See `Ledger.confirmClock`. */
export async function confirmClock(
  tx: Sql,
  dialect: Dialect,
  requestId: number,
  now: number,
): Promise<Confirmation | null> {
  const off = movedOff(await readClock(tx), 0);
  if (off === null) return null;
  const claimedMs = off.to - off.from;
  const [answer] = await tx.query<{ service_at: Date | null }>(
    `SELECT service_at FROM requests WHERE id = $1`,
    requestId,
  );
  const [before] = await tx.query<{ service_at: Date; sent_at: Date }>(
    `SELECT service_at, sent_at FROM (SELECT * FROM requests ORDER BY id DESC LIMIT ${DATED_WITHIN}) AS recent
     WHERE service_at IS NOT NULL AND sent_at <= $1 ORDER BY id DESC LIMIT 1`,
    iso(off.to),
  );
  const at = answer?.service_at ?? null;
  if (at === null || before === undefined) return { claimedMs, confirmedMs: null };
  const byService = at.getTime() - before.service_at.getTime() - DATE_ROUNDING_MS;
  const confirmedMs = byService - (now - before.sent_at.getTime());
  if (confirmedMs < -SHORT_OFF_MS) return { claimedMs, confirmedMs: null };
  const ageMs = Math.min(confirmedMs, claimedMs);
  if (ageMs > 0)
    await shiftRequests(tx, dialect, -ageMs, { since: off.to - BUDGET_WINDOW_MS, until: off.to });
  const aheadMs = claimedMs - Math.max(0, confirmedMs);
  // A clock that booted ahead makes no two sweeps independent, and the brake forgets no deletion of a day.
  // Otherwise sweeps stay: their lists are read once more.
  if (aheadMs > SHORT_OFF_MS) {
    await shiftSuspicions(tx, aheadMs, { until: off.to });
    await shiftDeletions(tx, dialect, aheadMs, { until: off.to });
  }
  await tx.execute(`UPDATE gate_state SET clock_off_from = NULL, clock_off_to = NULL`);
  return { claimedMs, confirmedMs: Math.max(0, confirmedMs) };
}

/**
 * Shifts the gate's pause; one that would begin in the future begins now and keeps its length. A pause that
 * has ended, and would have ended in the future, ended now.
 */
async function shiftPause(
  tx: Sql,
  { paused_at, paused_until }: ClockRow,
  shift: number,
  now: number,
): Promise<void> {
  const past = paused_at ?? paused_until;
  const ahead = past === null ? 0 : Math.max(0, past.getTime() + shift - now);
  if (shift === 0 && ahead === 0) return;
  const shifted = (at: Date | null): string | null =>
    at === null ? null : iso(at.getTime() + shift - ahead);
  await tx.execute(
    `UPDATE gate_state SET paused_at = $1, paused_until = $2`,
    shifted(paused_at),
    shifted(paused_until),
  );
}
