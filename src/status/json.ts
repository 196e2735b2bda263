import { BUDGET_WINDOW_MS, requestsLeft } from '../core/budget.ts';
import { HOUR, SECOND } from '../core/clock.ts';
import { LIST_NAMES } from '../core/lists.ts';
import type { PlannedReading } from '../sync/planning/pages/outlook.ts';
import type { MeasuredDelay } from './delay.ts';
import type { JudgedList, JudgedStatus } from './judge.ts';
import type { WholeStatus } from './observe.ts';
import type { SpentRequests } from './spent.ts';

/** The text of `status --json` and `/status.json` (docs/commands.md). Fields may be added, never renamed. */
export function statusAsJson(status: WholeStatus): string {
  return JSON.stringify(statusRecord(status), null, 2);
}

/**
 * The body of `/readyz` (docs/http.md): lists that are not as fresh as promised, or whose deletions wait,
 * and another account behind the address.
 */
export function readinessOf({ judged, now, otherAccount }: JudgedStatus): {
  ready: boolean;
  lists: number;
  not_fresh: unknown[];
  held: unknown[];
  other_account: unknown;
} {
  const late = judged.filter(({ freshness }) => freshness !== 'fresh');
  const held = judged.filter((list) => list.held > 0);
  return {
    ready: late.length === 0 && held.length === 0 && otherAccount === null,
    lists: judged.length,
    not_fresh: late.map((list) => freshnessRecord(list, now)),
    held: held.map(({ list, inboxId, held: rows }) => ({ list, inbox_id: inboxId, rows })),
    other_account: waitRecord(otherAccount),
  };
}

function statusRecord(status: WholeStatus): unknown {
  const { now } = status;
  return {
    generated_at: new Date(now).toISOString(),
    healthy: status.healthy,
    database: status.databaseName,
    lists: status.judged.map((list) => listRecord(list, now)),
    budget: budgetRecord(status),
    spent: spentRecord(status.spent),
    measured_delay: status.delay === null ? null : delayRecord(status.delay),
    pages: pagesRecord(status),
    next_reading: status.nextReading === null ? null : readingRecord(status.nextReading),
    gate: {
      state: status.gateWord,
      strikes: status.gate.strikes,
      paused_until: instant(status.gate.pausedUntil),
      cause: status.gate.cause,
    },
    lease: leaseRecord(status),
    open_passes: status.openPasses.map((pass) => passRecord(pass, status.orderWait)),
    waiting: status.waiting === null ? null : { ...status.waiting, until: instant(status.waiting.until) },
    schedules: schedulesRecord(status),
    webhook: webhookRecord(status),
    foreign_use: foreignRecord(status.foreign),
    other_mirrors: status.others.map(({ name, sent }) => ({ database: name, sent })),
    outage: waitRecord(status.outage),
    other_account: waitRecord(status.otherAccount),
  };
}

function budgetRecord({ budget, sent, oldestLeavesAt }: JudgedStatus): unknown {
  return {
    window_hours: Math.floor(BUDGET_WINDOW_MS / HOUR),
    limit: budget.perDay,
    reserved: budget.reserved,
    sent,
    left: requestsLeft(budget, sent),
    oldest_leaves_at: instant(oldestLeavesAt),
  };
}

function spentRecord({ wholeLists, singlePages, lookups, commands, byHour }: SpentRequests): unknown {
  return { whole_lists: wholeLists, single_pages: singlePages, lookups, commands, by_hour: byHour };
}

/** A measured delay, as `status` and `plan` print it. */
export function delayRecord({ changes, medianMs, p95Ms, medianByHour }: MeasuredDelay): unknown {
  return {
    changes,
    median_seconds: seconds(medianMs),
    p95_seconds: seconds(p95Ms),
    median_seconds_by_hour: medianByHour.map((ms) => (ms === null ? null : seconds(ms))),
  };
}

function pagesRecord({ outlook, coverDays }: WholeStatus): unknown {
  if (outlook === null) return null;
  const { pages, rows, current, oldestReading } = outlook;
  return {
    pages,
    rows,
    current_share: current,
    oldest_reading: oldestReading === null ? null : new Date(oldestReading).toISOString(),
    cover_days: coverDays,
  };
}

/** A reading to come, as `status` and `plan` print it. */
export function readingRecord({ at, inboxId, page, pages, why, ageMs, expected }: PlannedReading): unknown {
  return {
    at: new Date(at).toISOString(),
    inbox_id: inboxId,
    page,
    pages,
    why,
    age_seconds: seconds(ageMs),
    expected_changes: expected,
  };
}

function seconds(ms: number): number {
  return Math.round(ms / SECOND);
}

function leaseRecord({ lease, leaseHeld }: JudgedStatus): unknown {
  if (lease === null || !leaseHeld) return null;
  return {
    command: lease.command,
    host: lease.host,
    pid: lease.pid,
    acquired_at: instant(lease.acquiredAt),
    heartbeat_at: instant(lease.heartbeatAt),
    expires_at: instant(lease.expiresAt),
  };
}

function passRecord(
  { id, kind, requestedBy, requestedAt, startedAt, ordered }: JudgedStatus['openPasses'][number],
  orderWait: JudgedStatus['orderWait'],
): unknown {
  return {
    id,
    kind,
    requested_by: requestedBy,
    requested_at: instant(requestedAt),
    started_at: instant(startedAt),
    ordered,
    waits:
      ordered && startedAt !== null && orderWait !== null
        ? { for: orderWait.kind, until: instant(orderWait.until) }
        : null,
  };
}

function schedulesRecord({ schedules }: JudgedStatus): unknown {
  return schedules
    .toSorted((a, b) => LIST_NAMES.indexOf(a.list) - LIST_NAMES.indexOf(b.list))
    .map(({ list, expression, timezone, nextAt, dueSince }) => ({
      list,
      expression,
      timezone,
      next_at: instant(nextAt),
      due_since: instant(dueSince),
    }));
}

function webhookRecord({ webhook }: JudgedStatus): unknown {
  if (webhook === null) return null;
  const { hasBegun, pending, failures, retryAt, cause, setAside, setAsideId } = webhook;
  return {
    has_begun: hasBegun,
    pending,
    failures,
    retry_at: instant(retryAt),
    cause,
    set_aside: setAside,
    set_aside_id: setAsideId,
  };
}

function foreignRecord(use: JudgedStatus['foreign']): unknown {
  if (use === null) return null;
  if (use.kind === 'rate') return { limit: 'rate', slowdown: use.slowdown };
  return { limit: 'day', sent: use.sent, at: instant(use.at), until: instant(use.until) };
}

function waitRecord(wait: JudgedStatus['outage' | 'otherAccount']): unknown {
  if (wait === null) return null;
  return { since: instant(wait.since), until: instant(wait.until), cause: wait.cause };
}

function listRecord(list: JudgedList, now: number): unknown {
  const { sweep } = list;
  const { list: name, inbox_id, failure, ...freshness } = freshnessRecord(list, now);
  return {
    list: name,
    inbox_id,
    inbox: list.inbox,
    is_authorised: list.authorised,
    ...freshness,
    rows: list.rows,
    requests: list.pages,
    suspects: list.suspects,
    unlisted: list.unlisted,
    rejected: list.rejected,
    without_id: list.withoutId,
    held: list.held,
    failure,
    failure_code: list.failureCode,
    failing_pages_since: instant(list.failingPages?.since ?? null),
    failed_walks: list.failures?.sweeps ?? 0,
    failed_requests: list.failures?.requests ?? 0,
    rests_until: instant(list.restsUntil),
    sweep:
      sweep === null
        ? null
        : {
            reason: sweep.reason,
            state: sweep.state,
            pages: sweep.pages,
            restarts: sweep.restarts,
            items: sweep.items,
            started_at: instant(sweep.startedAt),
            error: sweep.error,
          },
  };
}

function freshnessRecord(
  { list, inboxId, freshness, completeAsOf, promiseMs, failure }: JudgedList,
  now: number,
) {
  return {
    list,
    inbox_id: inboxId,
    state: freshness,
    complete_as_of: instant(completeAsOf),
    age_seconds: completeAsOf === null ? null : seconds(now - completeAsOf.getTime()),
    promise_seconds: promiseMs / SECOND,
    failure,
  };
}

function instant(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}
