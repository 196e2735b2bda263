import { isMirrorError, MirrorError, messageOf } from '../../core/errors.ts';
import { isCancelled, type Writer } from '../../mirror/mirror.ts';
import type { Order } from '../../mirror/passes/orders.ts';
import type { PassSpec } from '../../mirror/passes/passes.ts';
import { liveDaemon } from '../../session/lease/live-daemon.ts';
import { becomesReplaceable } from '../../session/lease/replaceable-daemon.ts';
import type { Session } from '../../session/session.ts';
import { AccountCheck } from '../../sync/account/account.ts';
import type { PassEvent } from '../../sync/events.ts';
import { runPass, type PassReport } from '../../sync/pass.ts';
import { markDue } from '../../sync/planning/due.ts';
import { stretchedCrons } from '../../sync/planning/stretch.ts';
import { fromRecord, type PassRecord } from '../../sync/record.ts';
import type { Followed } from './follow.ts';

/** The requests that a pass sent, and how long it took. */
export interface PassCost {
  readonly requests: number;
  readonly milliseconds: number;
}

/** A pass that ended, or that its follower left to the daemon. */
export interface EndedPass {
  readonly report: PassReport;
  readonly cost: PassCost;
  /** The order's id if the daemon does the pass, else null. */
  readonly order: number | null;
  /** Why the order ended early: the daemon gave it up, or a person cancelled it. Null if it did not. */
  readonly givenUp: string | null;
}

/**
 * Does a pass by the daemon if one holds the mirror, else in this process.
 * @param byDaemon returns null if this process is to do the pass
 * @param here throws MirrorError `LEASE_HELD` before its first request if another process holds the mirror
 */
export async function byDaemonOrHere<Result>(
  session: Session,
  { byDaemon, here }: { byDaemon: () => Promise<Result | null>; here: () => Promise<Result> },
): Promise<Result> {
  for (;;) {
    if ((await liveDaemon(session)) !== null) {
      const ended = await byDaemon();
      if (ended !== null) return ended;
    }
    try {
      return await here();
    } catch (error) {
      // A daemon that started between the query and the claim holds the lease now: it does the pass.
      if (!isMirrorError(error, 'LEASE_HELD') || (await liveDaemon(session)) === null) throw error;
    }
  }
}

/**
 * True if an order failed because the service refuses the daemon's key, and this process may do the pass with
 * its own key. Waits some seconds until this process may replace the daemon.
 */
export async function isForThisKey(
  session: Session,
  { report }: EndedPass,
  signal: AbortSignal,
): Promise<boolean> {
  return isMirrorError(report.stopped, 'KEY_REFUSED') && (await becomesReplaceable(session, signal));
}

export interface PassListeners {
  readonly onEvent: (event: PassEvent) => void;
  readonly onStopping?: () => void;
  /** Called while sums of many past days are counted after the pass. */
  readonly onCounting?: () => void;
}

/**
 * Does a pass in this process: claims the mirror, then sweeps the lists.
 * @throws MirrorError `LEASE_HELD` before the first request; `DATABASE` if the mirror's file is lost
 */
export async function passHere(
  session: Session,
  spec: PassSpec,
  { onEvent, onStopping, onCounting }: PassListeners,
): Promise<EndedPass> {
  const { config, clock, client, access } = session;
  const { mirror, signal } = await session.claim(spec.requestedBy);
  const file = watchFile(mirror);
  // The view `freshness` compares the lists with their schedules, even if no daemon ever runs.
  const keepSchedules = async (): Promise<void> => {
    const crons = await stretchedCrons(mirror, config, config.budget);
    await markDue(mirror.schedules, crons, clock.now());
    await mirror.keepSlots(crons, clock.now());
  };
  await keepSchedules();
  await deleteOldRows(session, mirror, signal);
  const startedAt = clock.now();
  const startedMonotonic = clock.monotonic();
  const stopping = (): void => onStopping?.();
  signal.addEventListener('abort', stopping);
  try {
    const { goneAfterMs, budget } = config;
    const account = new AccountCheck({ mirror, clock, access });
    const stop = AbortSignal.any([signal, file.lost]);
    const seen = (event: PassEvent): void => {
      file.check();
      onEvent(event);
    };
    const deps = { client, mirror, account, clock, goneAfterMs, budget, signal: stop, onEvent: seen };
    const report = await runPass(deps, spec);
    file.throwIfLost();
    // The pass may have found more lists.
    await keepSchedules();
    const requests = await mirror.budget.sentSince(startedAt - 1);
    const cost = { requests, milliseconds: clock.monotonic() - startedMonotonic };
    await countPastDays(session, mirror, { signal, onCounting });
    file.throwIfLost();
    return { report, cost, order: null, givenUp: null };
  } finally {
    signal.removeEventListener('abort', stopping);
  }
}

/**
 * Notices that a file of the mirror was deleted, replaced or cut, as the daemon does: what the pass reads
 * after that would be lost. `check` aborts `lost` then.
 */
function watchFile({ lostFile, name }: Pick<Writer, 'lostFile' | 'name'>) {
  const lost = new AbortController();
  const check = (): void => {
    const path = lost.signal.aborted ? null : lostFile();
    if (path === null) return;
    const message =
      `The file ${path} was deleted, replaced or made smaller while this pass ran. The rows that the pass ` +
      `has read since then may be missing in ${name}. Make sure that the right mirror is there, and run ` +
      'the command again. If the file was overwritten in place, restore a backup first.';
    lost.abort(new MirrorError('DATABASE', message, { isDamage: true }));
  };
  return {
    lost: lost.signal,
    check,
    /** @throws MirrorError `DATABASE` */
    throwIfLost(): void {
      check();
      lost.signal.throwIfAborted();
    },
  };
}

/** Stores the sums of past days: where no daemon runs, nothing else does. A failure leaves them for later. */
async function countPastDays(
  { clock, log }: Session,
  mirror: Pick<Writer, 'countDays'>,
  { signal, onCounting }: { signal: AbortSignal; onCounting: (() => void) | undefined },
): Promise<void> {
  try {
    await mirror.countDays(clock.now(), { signal, onMore: () => onCounting?.() });
  } catch (error) {
    if (signal.aborted) throw error;
    log.warn({ cause: messageOf(error) }, 'the sums of past days were not stored; the next sync tries again');
  }
}

/**
 * Deletes old rows, once a day, if no daemon does. Before the pass: where each run is stopped, its end never
 * comes. A failure, or a stop, leaves them for later.
 */
async function deleteOldRows(
  { clock, log }: Session,
  mirror: Pick<Writer, 'housekeep' | 'isHousekeepingOverdue' | 'ledger'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    // The requests must move with a set clock before any of them counts as old.
    await mirror.ledger.followClock(await clock.ledgerTime());
    if (await mirror.isHousekeepingOverdue(clock.now())) await mirror.housekeep(clock.now(), signal);
  } catch (error) {
    if (signal.aborted) return;
    log.warn({ cause: messageOf(error) }, 'old rows were not deleted; the next sync tries again');
  }
}

/** The order has ended, or its follower left it to the daemon. */
export type EndedOrLeft = Exclude<Followed, { kind: 'not-begun' }>;

/** An order's stored report, or without one the progress of its lists so far. */
export async function endedPassOf({ mirror, clock }: Session, followed: EndedOrLeft): Promise<EndedPass> {
  const { order, lists } = followed;
  const record = order.report === null ? { lists, stopped: null } : fromRecord(order.report as PassRecord);
  const hasReport = followed.kind === 'left' || order.report !== null || order.state === 'done';
  const begun = order.startedAt ?? order.requestedAt;
  const ended = order.finishedAt ?? new Date(clock.now());
  const resumed = record.lists.some(({ outcome }) => outcome === 'already');
  return {
    report: {
      pass: { id: order.id, startedAt: begun, resumed },
      lists: record.lists,
      stopped: followed.kind === 'left' ? followed.why : record.stopped,
    },
    cost: {
      // An order that never began has sent nothing: the requests meanwhile are of another order.
      requests: order.startedAt === null ? 0 : await mirror.orderSweeps.countRequests(begun, ended),
      milliseconds: Math.max(0, ended.getTime() - begun.getTime()),
    },
    order: order.id,
    givenUp: hasReport ? null : causeOf(order),
  };
}

function causeOf(order: Order): string {
  if (isCancelled(order)) return `order ${order.id} was cancelled by a person`;
  return `the daemon gave up order ${order.id}: ${order.error ?? 'cause unknown'}`;
}
