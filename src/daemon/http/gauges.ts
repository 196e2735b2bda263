import { Gauge, type Registry } from 'prom-client';
import { requestsLeft } from '../../core/budget.ts';
import { SECOND } from '../../core/clock.ts';
import { GATE_WORDS } from '../../core/gate-state.ts';
import type { ListName } from '../../core/lists.ts';
import { isTelling } from '../../status/delay.ts';
import type { JudgedStatus } from '../../status/judge.ts';
import type { WholeStatus } from '../../status/observe.ts';

/** The state that a scrape reads, from which the gauges are set. */
export interface Scrape {
  readonly status: JudgedStatus;
  /** These take longer to read, so they can be a minute old. */
  readonly details: Pick<WholeStatus, 'now' | 'spent' | 'outlook'>;
  /** This process holds the lease. */
  readonly isActive: boolean;
  readonly databaseBytes: number;
}

type Update = (scrape: Scrape) => void;

/** The start of the names of the program's own metrics. */
export const PREFIX = 'inbox_mirror_';

/** Adds the gauges of the status. @returns a function that sets them all and drops lists that are gone */
export function createStatusGauges(registry: Registry): Update {
  const updates = [budgetGauges, pageGauges, delayGauges, listGauges, stateGauges].map((create) =>
    create(registry),
  );
  return (scrape) => {
    for (const update of updates) update(scrape);
  };
}

export function gauge<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: Label[] = [],
): Gauge<Label> {
  return new Gauge({ name: `${PREFIX}${name}`, help, labelNames, registers: [registry] });
}

function budgetGauges(registry: Registry): Update {
  const limit = gauge(registry, 'budget_limit', 'Requests that the account may send in 24 hours.');
  const reserved = gauge(
    registry,
    'budget_reserved',
    'Requests of the budget that scheduled work does not use.',
  );
  const used = gauge(registry, 'budget_used', 'Requests sent in the last 24 hours.');
  const others = gauge(registry, 'key_other_requests', 'Requests of other mirrors with the same key.');
  const left = gauge(registry, 'budget_left', 'Requests left, the reserved ones included.');
  const spent = gauge(registry, 'requests_spent', 'Requests of the last 24 hours, by what they were for.', [
    'kind',
  ]);
  return ({ status: { budget, sent, others: mirrors }, details }) => {
    const { wholeLists, singlePages, lookups, commands } = details.spent;
    spent.set({ kind: 'whole_lists' }, wholeLists);
    spent.set({ kind: 'single_pages' }, singlePages);
    spent.set({ kind: 'lookups' }, lookups);
    spent.set({ kind: 'commands' }, commands);
    limit.set(budget.perDay);
    reserved.set(budget.reserved);
    used.set(sent);
    others.set(mirrors.reduce((sum, mirror) => sum + mirror.sent, 0));
    left.set(requestsLeft(budget, sent));
  };
}

/** Of conversations that are read page by page. */
function pageGauges(registry: Registry): Update {
  const current = gauge(
    registry,
    'current_share',
    'Expected share of the conversations whose state the mirror has; absent without single pages.',
  );
  const oldest = gauge(
    registry,
    'oldest_page_seconds',
    'Seconds since the reading of the page that was read longest ago; absent without single pages.',
  );
  return ({ details: { now, outlook } }) => {
    current.remove();
    oldest.remove();
    if (outlook === null) return;
    current.set(outlook.current);
    if (outlook.oldestReading !== null) oldest.set((now - outlook.oldestReading) / SECOND);
  };
}

function delayGauges(registry: Registry): Update {
  const delay = gauge(
    registry,
    'change_delay_seconds',
    'How late the changes of conversations in 24 hours were seen at most; absent with fewer than 10.',
    ['quantile'],
  );
  return ({ status }) => {
    delay.reset();
    if (status.delay === null || !isTelling(status.delay)) return;
    delay.set({ quantile: '0.5' }, status.delay.medianMs / SECOND);
    delay.set({ quantile: '0.95' }, status.delay.p95Ms / SECOND);
  };
}

function listGauges(registry: Registry): Update {
  const labels: ('list' | 'inbox_id')[] = ['list', 'inbox_id'];
  const age = gauge(
    registry,
    'list_age_seconds',
    'Seconds since the time as of which the list is complete; absent if it never was.',
    labels,
  );
  const fresh = gauge(registry, 'list_fresh', '1 if the list is as fresh as promised, else 0.', labels);
  const promise = gauge(
    registry,
    'list_promise_seconds',
    'The age in seconds that a list of this kind may have by its schedule; the least among these lists.',
    ['list'],
  );
  const rows = gauge(registry, 'list_rows', 'Rows of the last complete sweep.', labels);
  const held = gauge(
    registry,
    'list_held_rows',
    'Rows that a person must accept before they are marked as deleted.',
    labels,
  );
  const failed = gauge(
    registry,
    'list_failed_walks',
    'Walks over all pages that have failed since the list was last complete.',
    labels,
  );
  const info = gauge(registry, 'inbox_info', 'Always 1: the name of each inbox.', ['inbox_id', 'inbox']);
  return ({ status: { judged, now } }) => {
    for (const each of [age, fresh, promise, rows, held, failed, info]) each.reset();
    const shortest = new Map<ListName, number>();
    for (const { list, inboxId, inbox, ...state } of judged) {
      const { completeAsOf, freshness, promiseMs, rows: known, held: waits, failures } = state;
      const of = { list, inbox_id: inboxId ?? '' };
      failed.set(of, failures?.sweeps ?? 0);
      if (inboxId !== null) info.set({ inbox_id: inboxId, inbox: inbox ?? '' }, 1);
      fresh.set(of, freshness === 'fresh' ? 1 : 0);
      shortest.set(list, Math.min(promiseMs, shortest.get(list) ?? promiseMs));
      held.set(of, waits);
      if (completeAsOf !== null) age.set(of, (now - completeAsOf.getTime()) / SECOND);
      if (known !== null) rows.set(of, known);
    }
    for (const [list, promiseMs] of shortest) promise.set({ list }, promiseMs / SECOND);
  };
}

/** The gate, the service, this process, its queues and the database. */
function stateGauges(registry: Registry): Update {
  const gate = gauge(registry, 'gate_state', '1 for the current state of the gate, 0 for the others.', [
    'state',
  ]);
  const foreign = gauge(registry, 'foreign_use', '1 while 429s show that others use the account.', ['limit']);
  const slowdown = gauge(registry, 'gate_slowdown', 'The gap between requests, in gaps of the full rate.');
  const outage = gauge(
    registry,
    'outage',
    '1 in an outage: the service is out of reach, or answers only HTTP 429.',
  );
  const account = gauge(registry, 'other_account', '1 while the service shows another account.');
  const lease = gauge(registry, 'lease_held', '1 if this process is the one that writes.');
  const orders = gauge(registry, 'orders_waiting', 'Orders of commands that have not started.');
  const pending = gauge(registry, 'webhook_pending', 'Changes not yet delivered; 0 without a webhook.');
  const failures = gauge(registry, 'webhook_failures', 'Failed webhook deliveries in a row.');
  const aside = gauge(
    registry,
    'webhook_set_aside',
    'Changes that the webhook refused alone while it accepted others.',
  );
  const bytes = gauge(registry, 'database_bytes', 'Bytes of the database on disk.');
  return ({ status, isActive, databaseBytes }) => {
    for (const state of GATE_WORDS) gate.set({ state }, state === status.gateWord ? 1 : 0);
    for (const limit of ['day', 'rate']) foreign.set({ limit }, status.foreign?.kind === limit ? 1 : 0);
    slowdown.set(status.foreign?.kind === 'rate' ? status.foreign.slowdown : 1);
    outage.set(status.outage === null ? 0 : 1);
    account.set(status.otherAccount === null ? 0 : 1);
    lease.set(isActive ? 1 : 0);
    orders.set(status.openPasses.filter(({ ordered, startedAt }) => ordered && startedAt === null).length);
    pending.set(status.webhook?.pending ?? 0);
    failures.set(status.webhook?.failures ?? 0);
    aside.set(status.webhook?.setAside ?? 0);
    bytes.set(databaseBytes);
  };
}
