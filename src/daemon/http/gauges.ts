import { Gauge, type Registry } from 'prom-client';
import { requestsLeft } from '../../core/budget.ts';
import { GATE_WORDS } from '../../core/gate-state.ts';
import type { ListName } from '../../core/lists.ts';
import type { JudgedStatus } from '../../status/judge.ts';

/** What the gauges are set from when somebody asks for them. */
export interface Scrape {
  readonly status: JudgedStatus;
  /** This process holds the lease. */
  readonly isActive: boolean;
  readonly databaseBytes: number;
}

/** Adds the gauges that tell the mirror's status; the function sets them all, and forgets lists that are gone. */
export function createStatusGauges(registry: Registry): (scrape: Scrape) => void {
  const plain = (name: string, help: string): Gauge =>
    new Gauge({ name: `inbox_mirror_${name}`, help, registers: [registry] });
  const labelled = <Label extends string>(name: string, labelNames: Label[], help: string): Gauge<Label> =>
    new Gauge({ name: `inbox_mirror_${name}`, help, labelNames, registers: [registry] });

  const budgetLimit = plain('budget_limit', 'Requests that the account has in 24 hours.');
  const budgetReserved = plain('budget_reserved', 'Requests of the budget that scheduled work leaves alone.');
  const budgetUsed = plain('budget_used', 'Requests sent in the last 24 hours.');
  const budgetLeft = plain('budget_left', 'Requests left, the reserved ones included.');
  const age = labelled(
    'list_age_seconds',
    ['list', 'inbox_id'],
    'Seconds since the last complete sweep; none where there was none.',
  );
  const fresh = labelled(
    'list_fresh',
    ['list', 'inbox_id'],
    '1 where the list is as fresh as promised, 0 where it is not.',
  );
  const promise = labelled(
    'list_promise_seconds',
    ['list'],
    'Seconds that a list of this kind may be old by its schedule, the shortest of them.',
  );
  const rows = labelled('list_rows', ['list', 'inbox_id'], 'Rows of the last complete sweep.');
  const gate = labelled('gate_state', ['state'], '1 for the state that the gate is in.');
  const outage = plain('outage', '1 while the service is out of reach.');
  const lease = plain('lease_held', '1 where this process is the one that writes.');
  const orders = plain('orders_waiting', 'Orders of the command line that have not been begun.');
  const webhookPending = plain(
    'webhook_pending',
    'Changes that the webhook has not taken yet; 0 where there is no webhook.',
  );
  const webhookFailures = plain('webhook_failures', 'Deliveries in a row that the webhook did not take.');
  const bytes = plain('database_bytes', 'Bytes of the database file and its write-ahead log.');

  return ({ status, isActive, databaseBytes }) => {
    const { config, sent, gateWord, judged, openPasses } = status;
    budgetLimit.set(config.budget.perDay);
    budgetReserved.set(config.budget.reserved);
    budgetUsed.set(sent);
    budgetLeft.set(requestsLeft(config.budget, sent));
    for (const gauge of [age, fresh, promise, rows]) gauge.reset();
    const shortest = new Map<ListName, number>();
    for (const { list, inboxId, completeAsOf, freshness, promiseMs, rows: known } of judged) {
      const labels = { list, inbox_id: inboxId ?? '' };
      fresh.set(labels, freshness === 'fresh' ? 1 : 0);
      shortest.set(list, Math.min(promiseMs, shortest.get(list) ?? promiseMs));
      if (completeAsOf !== null) age.set(labels, (status.now - completeAsOf.getTime()) / 1000);
      if (known !== null) rows.set(labels, known);
    }
    for (const [list, promiseMs] of shortest) promise.set({ list }, promiseMs / 1000);
    for (const state of GATE_WORDS) gate.set({ state }, state === gateWord ? 1 : 0);
    outage.set(status.outage === null ? 0 : 1);
    lease.set(isActive ? 1 : 0);
    orders.set(openPasses.filter(({ ordered, startedAt }) => ordered && startedAt === null).length);
    webhookPending.set(status.webhook?.pending ?? 0);
    webhookFailures.set(status.webhook?.failures ?? 0);
    bytes.set(databaseBytes);
  };
}
