import type { Budget } from '../core/budget.ts';
import { DAY, MINUTE } from '../core/clock.ts';
import { foreignUse, type ForeignUse, type GateWord, judgeGate } from '../core/gate-state.ts';
import type { Wait } from '../mirror/gate/wait.ts';
import type { Delivery } from '../mirror/history/deliveries.ts';
import type { Claimant } from '../mirror/lease.ts';
import { isLeaseValid, mayBeAlive } from '../mirror/mirror.ts';
import type { ListStatus, MirrorStatus } from '../mirror/status.ts';
import type { Config } from '../session/config/config.ts';
import type { OtherMirror } from '../session/key/records.ts';
import { isDaemon } from '../session/lease/live-daemon.ts';
import { failedCosts, nextTry } from '../sync/planning/due.ts';
import { type Freshness, freshnessOf, promiseOf } from '../sync/planning/freshness.ts';
import { recordedCrons, type Stretch, stretchOf } from '../sync/planning/stretch.ts';
import type { Waiting } from '../sync/planning/waiting.ts';
import type { MeasuredDelay } from './delay.ts';

/**
 * Without a live writer an outage is ignored this many ms after its retry was due. A live daemon deletes it
 * once the service answers. (`troubleOf` ignores it once the retry is due, so that the retry can begin.)
 */
const OUTAGE_KEPT_MS = MINUTE;

/** A person should look at a list if one of its suspects has waited for more than this many ms. */
const LONG_WAIT_MS = 2 * DAY;

/** No process has this id. */
const NO_PID = -1;

/**
 * A list's status and its freshness now. The list is stale if it is older than `promiseMs`. `restsUntil`: the
 * daemon does not try it before; null if it may.
 */
export type JudgedList = ListStatus & {
  readonly freshness: Freshness;
  readonly promiseMs: number;
  readonly restsUntil: Date | null;
  /** A person should look at it (docs/commands.md, "status"). A list that is healthy may need a look. */
  readonly needsLook: boolean;
};

/** All that `status` shows, judged at one moment. `outage` is null if the stored one is out of date. */
export interface JudgedStatus extends MirrorStatus {
  readonly now: number;
  readonly databaseName: string;
  readonly budget: Budget;
  readonly judged: readonly JudgedList[];
  readonly gateWord: GateWord;
  /** Signs that others use the account: 429s inside the mirror's limits. */
  readonly foreign: ForeignUse | null;
  /** The schedules that are stretched; null: none. */
  readonly stretch: Stretch | null;
  /** The other mirrors of this machine's user with the same key. */
  readonly others: readonly OtherMirror[];
  readonly leaseHeld: boolean;
  /** A daemon holds the lease, so lists are swept on schedule. */
  readonly daemonRuns: boolean;
  /** A daemon's lease has run out, and this host cannot tell that its process has ended. */
  readonly daemonIsSilent: boolean;
  /** Until when the day's budget is full. */
  readonly fullUntil: FullUntil;
  /** Why a started order waits; null if no started order waits. */
  readonly orderWait: Wait | null;
  /** Due lists whose sweep has not begun, because other sweeps have every place. */
  readonly waiting: Waiting | null;
  /** How late the changes of conversations in the last 24 hours were seen at most; null: there were none. */
  readonly delay: MeasuredDelay | null;
  /** The state of the deliveries to WEBHOOK_URL; null if it is not set. */
  readonly webhook:
    | (Omit<Delivery, 'lastId'> & {
        readonly pending: number;
        /** False until a daemon with this address has started: it gets the changes from then on. */
        readonly hasBegun: boolean;
      })
    | null;
  /**
   * Every list is fresh, no sweep failed, no deletions are held, the gate is open, there is no outage and
   * the service shows the mirror's account.
   */
  readonly healthy: boolean;
}

/** When the day's budget has room again; null: it has room now. */
export interface FullUntil {
  /** For commands. */
  readonly manual: Date | null;
  /** For scheduled work, which leaves the reserve to commands. */
  readonly scheduled: Date | null;
}

/** A status without the parts that need further queries. */
export type Judgement = Omit<JudgedStatus, 'delay' | 'fullUntil' | 'orderWait' | 'waiting' | 'webhook'>;

/**
 * The process that reads the status. If `isWriter`, a lease with its process id is its own; otherwise an
 * earlier process with the same id left it.
 */
export type Observer = Pick<Claimant, 'host' | 'pid' | 'origin' | 'isAlive'> & { readonly isWriter: boolean };

export interface Circumstances {
  /** Epoch ms. */
  readonly now: number;
  readonly config: Config;
  readonly databaseName: string;
  readonly self: Observer;
  /** The other mirrors with the same key. */
  readonly others?: readonly OtherMirror[];
}

/** Compares the mirror's status with the schedules' promises. */
export function judge(
  status: MirrorStatus,
  { now, config, databaseName, self, others = [] }: Circumstances,
): Judgement {
  const { lease } = status;
  const observer = { ...self, pid: self.isWriter ? NO_PID : self.pid };
  const leaseHeld = lease !== null && isLeaseValid(lease, observer, now);
  const crons = recordedCrons(status.schedules, config);
  const costs = failedCosts(status.lists.map(({ failures }) => failures));
  const judged = status.lists.map((list) => {
    // Pages that are read over several days have a day of grace for each day more.
    const graceMs = list.list === 'conversations' ? (status.coverDays - 1) * DAY : 0;
    const promiseMs = promiseOf(crons[list.list], list.completeAsOf, now) + graceMs;
    const rest = nextTry(list, list.newestByState, list.failures, {
      budget: config.budget,
      readsPages: config.readPages !== null,
      costs,
      slot: {
        last: status.schedules.find((schedule) => schedule.list === list.list)?.dueSince ?? null,
        next: new Date(crons[list.list].next(now)),
      },
    });
    const restsNow = rest !== null && rest.getTime() > now ? rest : null;
    const freshness = freshnessOf(list.completeAsOf, promiseMs, now);
    const needsLook = freshness !== 'fresh' || isOdd(list, leaseHeld, now);
    return { ...list, promiseMs, freshness, restsUntil: restsNow, needsLook };
  });
  const gateWord = judgeGate(status.gate, now).word;
  const isOutdated =
    !leaseHeld && status.outage !== null && status.outage.until.getTime() < now - OUTAGE_KEPT_MS;
  const outage = isOutdated ? null : status.outage;
  const isKept = judged.every(
    ({ freshness, failure, held }) => freshness === 'fresh' && failure === null && held === 0,
  );
  return {
    ...status,
    now,
    budget: config.budget,
    databaseName,
    judged,
    gateWord,
    stretch: stretchOf(status.schedules, config),
    foreign: foreignUse(status.gate, now),
    others,
    leaseHeld,
    daemonRuns: leaseHeld && isDaemon(lease),
    daemonIsSilent: lease !== null && !leaseHeld && isDaemon(lease) && mayBeAlive(lease, observer),
    outage,
    healthy: isKept && gateWord === 'open' && outage === null && status.otherAccount === null,
  };
}

/** True if a person should look at the list, however fresh it is. */
function isOdd(list: ListStatus, leaseHeld: boolean, now: number): boolean {
  return (
    list.failure !== null ||
    list.held > 0 ||
    isEmptied(list) ||
    hasLongMissed(list.missingSince, now) ||
    list.rejected > 0 ||
    list.withoutId > 0 ||
    list.authorised === false ||
    (list.sweep !== null && !leaseHeld)
  );
}

/** The list shows nothing, although the service returns its rows. */
function isEmptied({ rows, unlisted }: ListStatus): boolean {
  return rows === 0 && unlisted > 0;
}

/** True if a list's suspects have waited since then for more than 2 days: a person should look at it. */
export function hasLongMissed(since: Date | null, now: number): since is Date {
  return since !== null && now - since.getTime() > LONG_WAIT_MS;
}
