import { BUDGET_WINDOW_MS, requestsLeft } from '../core/budget.ts';
import { HOUR } from '../core/clock.ts';
import { LIST_NAMES } from '../core/lists.ts';
import type { JudgedList, JudgedStatus } from './judge.ts';

/** `status --json` and `/status.json` as text (docs/commands.md). A stable shape: fields are added, never renamed. */
export function statusAsJson(status: JudgedStatus): string {
  return JSON.stringify(statusRecord(status), null, 2);
}

/** `/readyz` (docs/http.md): which lists are not as fresh as promised. */
export function readinessOf({ judged, now }: JudgedStatus): {
  ready: boolean;
  lists: number;
  not_fresh: unknown[];
} {
  const late = judged.filter(({ freshness }) => freshness !== 'fresh');
  return {
    ready: late.length === 0,
    lists: judged.length,
    not_fresh: late.map((list) => freshnessRecord(list, now)),
  };
}

function statusRecord(status: JudgedStatus): unknown {
  const { now, sent, config, gate, lease, leaseHeld, outage, schedules, webhook } = status;
  return {
    generated_at: new Date(now).toISOString(),
    healthy: status.healthy,
    database: status.databaseName,
    lists: status.judged.map((list) => listRecord(list, now)),
    budget: {
      window_hours: Math.floor(BUDGET_WINDOW_MS / HOUR),
      limit: config.budget.perDay,
      reserved: config.budget.reserved,
      sent,
      left: requestsLeft(config.budget, sent),
      oldest_leaves_at: instant(status.oldestLeavesAt),
    },
    gate: {
      state: status.gateWord,
      strikes: gate.strikes,
      paused_until: instant(gate.pausedUntil),
      cause: gate.cause,
    },
    lease:
      lease === null || !leaseHeld
        ? null
        : {
            command: lease.command,
            host: lease.host,
            pid: lease.pid,
            acquired_at: instant(lease.acquiredAt),
            heartbeat_at: instant(lease.heartbeatAt),
            expires_at: instant(lease.expiresAt),
          },
    open_passes: status.openPasses.map(({ id, kind, requestedBy, requestedAt, startedAt, ordered }) => ({
      id,
      kind,
      requested_by: requestedBy,
      requested_at: instant(requestedAt),
      started_at: instant(startedAt),
      ordered,
      waits:
        ordered && startedAt !== null && status.orderWait !== null
          ? { for: status.orderWait.kind, until: instant(status.orderWait.until) }
          : null,
    })),
    waiting: status.waiting === null ? null : { ...status.waiting, until: instant(status.waiting.until) },
    schedules: schedules
      .toSorted((a, b) => LIST_NAMES.indexOf(a.list) - LIST_NAMES.indexOf(b.list))
      .map(({ list, expression, timezone, nextAt, dueSince }) => ({
        list,
        expression,
        timezone,
        next_at: instant(nextAt),
        due_since: instant(dueSince),
      })),
    webhook:
      webhook === null
        ? null
        : {
            pending: webhook.pending,
            failures: webhook.failures,
            retry_at: instant(webhook.retryAt),
            cause: webhook.cause,
          },
    outage:
      outage === null
        ? null
        : { since: instant(outage.since), until: instant(outage.until), cause: outage.cause },
  };
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
    rejected: list.rejected,
    failure,
    sweep:
      sweep === null
        ? null
        : {
            reason: sweep.reason,
            state: sweep.state,
            pages: sweep.pages,
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
    age_seconds: completeAsOf === null ? null : Math.round((now - completeAsOf.getTime()) / 1000),
    promise_seconds: promiseMs / 1000,
    failure,
  };
}

function instant(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}
