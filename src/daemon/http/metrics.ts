import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../../core/clock.ts';
import { LIST_NAMES, listId, type ListKey } from '../../core/lists.ts';
import type { Ended } from '../../session/session.ts';
import type { ListReport, PassEvent } from '../../sync/events.ts';
import { createStatusGauges, type Scrape } from './gauges.ts';

/** Those of a request that are told from the start; an alert on the first 429 needs the 0 before it. */
const KNOWN_STATUSES = ['200', '401', '403', '404', '429', '500', '502', '503', '504', 'none'];
const SWEEP_OUTCOMES = ['complete', 'paused', 'failed'] as const;
const ROW_OUTCOMES = ['inserted', 'changed', 'tombstoned', 'rejected'] as const;

// Seconds. A request waits for the pace, or for hours when the budget is spent; a sweep is a page, or half a day's budget.
const WAIT_BUCKETS = [0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200];
const REQUEST_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];
const SWEEP_BUCKETS = [1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200, 86_400];

/** What prom-client's gauges of the event loop say where two scrapes came too close to each other to measure anything between them. */
const NO_LAG = /^nodejs_eventloop_lag_\w+ (nan|9223372036\.\d+)\n/gim;

/** Looked at each 10 ms, as is the default, an idle process would be busy with that alone. */
const LOOP_PRECISION_MS = 100;

/** What this process has done, in Prometheus' words (docs/http.md). */
export interface Metrics {
  /** Of what `render` gives. */
  readonly contentType: string;
  passEvent(event: PassEvent): void;
  requestEnded(ended: Ended): void;
  /** Everything as text, the gauges as the status tells them. */
  render(scrape: Scrape): Promise<string>;
}

export function createMetrics({
  version,
  clock,
}: {
  version: string;
  clock: Pick<Clock, 'monotonic'>;
}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION_MS });
  const noteStatus = createStatusGauges(registry);

  const requests = new Counter({
    name: 'inbox_mirror_requests_total',
    help: 'Requests to the service by the status of their answer; none where no answer came.',
    labelNames: ['status'],
    registers,
  });
  const gateWait = new Histogram({
    name: 'inbox_mirror_gate_wait_seconds',
    help: 'How long the gate kept a request before it was sent.',
    buckets: WAIT_BUCKETS,
    registers,
  });
  const requestTime = new Histogram({
    name: 'inbox_mirror_request_seconds',
    help: 'How long a request took, from its start to the end of its answer.',
    buckets: REQUEST_BUCKETS,
    registers,
  });
  const pages = new Counter({
    name: 'inbox_mirror_pages_total',
    help: 'Pages applied to the mirror.',
    labelNames: ['list'],
    registers,
  });
  const rows = new Counter({
    name: 'inbox_mirror_rows_total',
    help: 'Rows by what became of them.',
    labelNames: ['list', 'outcome'],
    registers,
  });
  const sweepTime = new Histogram({
    name: 'inbox_mirror_sweep_seconds',
    help: 'How long a sweep took from its begin, or from where it was resumed, to its completion.',
    labelNames: ['list'],
    buckets: SWEEP_BUCKETS,
    registers,
  });
  const sweeps = new Counter({
    name: 'inbox_mirror_sweeps_total',
    help: 'Sweeps by how they ended; paused ones go on later.',
    labelNames: ['list', 'outcome'],
    registers,
  });
  const info = new Gauge({
    name: 'inbox_mirror_info',
    help: 'Always 1; the label tells the version of inbox-mirror.',
    labelNames: ['version'],
    registers,
  });

  info.set({ version }, 1);
  for (const status of KNOWN_STATUSES) requests.inc({ status }, 0);
  for (const list of LIST_NAMES) {
    pages.inc({ list }, 0);
    sweepTime.zero({ list });
    for (const outcome of ROW_OUTCOMES) rows.inc({ list, outcome }, 0);
    for (const outcome of SWEEP_OUTCOMES) sweeps.inc({ list, outcome }, 0);
  }

  const begun = new Map<string, number>();

  function sweepEnded({ key, outcome }: ListReport): void {
    const { list } = key;
    const seconds = secondsSince(key);
    // What the pass had read before, or left out, is no sweep.
    if (outcome === 'already' || outcome === 'skipped') return;
    sweeps.inc({ list, outcome });
    if (outcome === 'complete' && seconds !== null) sweepTime.observe({ list }, seconds);
  }

  function secondsSince(key: ListKey): number | null {
    const at = begun.get(listId(key));
    begun.delete(listId(key));
    return at === undefined ? null : (clock.monotonic() - at) / 1000;
  }

  return {
    contentType: registry.contentType,
    passEvent(event) {
      if (event.kind === 'list-begun') begun.set(listId(event.key), clock.monotonic());
      else if (event.kind === 'page') pages.inc({ list: event.key.list });
      else if (event.kind === 'rows') {
        for (const outcome of ROW_OUTCOMES)
          rows.inc({ list: event.key.list, outcome }, event.rows[outcome] ?? 0);
      } else if (event.kind === 'list-done') sweepEnded(event.report);
    },
    requestEnded({ status, waitedMs, durationMs }) {
      requests.inc({ status: status ?? 'none' });
      gateWait.observe(waitedMs / 1000);
      requestTime.observe(durationMs / 1000);
    },
    async render(scrape) {
      noteStatus(scrape);
      return (await registry.metrics()).replaceAll(NO_LAG, '');
    },
  };
}
