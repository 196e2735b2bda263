import { BUDGET_WINDOW_MS } from '../core/ledger.ts';
import type { JudgedList, JudgedStatus } from './status-judge.ts';

/** `status --json` (docs/commands.md). A stable shape: fields are added, never renamed. */
export function statusAsJson(status: JudgedStatus): unknown {
  const { now, sent, config, gate, lease, leaseHeld } = status;
  return {
    generated_at: new Date(now).toISOString(),
    healthy: status.healthy,
    database: status.databaseName,
    lists: status.judged.map((list) => listAsJson(list, now)),
    budget: {
      window_hours: Math.floor(BUDGET_WINDOW_MS / 3_600_000),
      limit: config.requestsPerDay,
      reserved: config.requestsReserved,
      sent,
      left: Math.max(0, config.requestsPerDay - sent),
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
    })),
  };
}

function listAsJson(list: JudgedList, now: number): unknown {
  const { sweep } = list;
  return {
    list: list.list,
    inbox_id: list.inboxId,
    inbox: list.inbox,
    is_authorised: list.authorised,
    state: list.freshness,
    complete_as_of: instant(list.completeAsOf),
    age_seconds: list.completeAsOf === null ? null : Math.round((now - list.completeAsOf.getTime()) / 1000),
    promise_seconds: list.promiseMs / 1000,
    rows: list.rows,
    requests: list.pages,
    suspects: list.suspects,
    rejected: list.rejected,
    failure: list.failure,
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

function instant(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}
