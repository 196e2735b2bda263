import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import { type Clock, SECOND } from '../../core/clock.ts';
import { withMarks } from '../../core/humanize.ts';
import { LIST_NAMES, listId, type ListKey } from '../../core/lists.ts';
import type { RequestEnd } from '../../session/session.ts';
import type { ListReport, PassEvent } from '../../sync/events.ts';
import { createStatusGauges, gauge, PREFIX, type Scrape } from './gauges.ts';

/** Label values that exist from the start, with 0: an alert on the first 429 needs the 0 before it. */
const KNOWN_STATUSES = ['200', '401', '403', '404', '429', '500', '502', '503', '504', 'none'];
const SWEEP_OUTCOMES = ['complete', 'paused', 'failed'] as const;
/** Each count of rows with its label: deleted rows are published as `tombstoned`. */
const ROW_OUTCOMES = [
  ['inserted', 'inserted'],
  ['changed', 'changed'],
  ['deleted', 'tombstoned'],
  ['rejected', 'rejected'],
] as const;

// Seconds. The gate delays a request for the pace, or for hours if the budget is spent. A sweep takes one
// page, or half a day's budget.
const WAIT_BUCKETS = [0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200];
const REQUEST_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];
const SWEEP_BUCKETS = [1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200, 86_400];

/** prom-client's event-loop lag when two scrapes are too close together to measure anything. */
const NO_LAG = /^nodejs_eventloop_lag_\w+ (nan|9223372036\.\d+)\n/gim;

/** The event loop's lag is sampled once in this many ms. The default of 10 keeps an idle process busy. */
const LOOP_PRECISION_MS = 100;

/** Counts the work of this process, in Prometheus' text format (docs/http.md). */
export interface Metrics {
  /** The media type of `render`'s text. */
  readonly contentType: string;
  passEvent(event: PassEvent): void;
  requestEnded(ended: RequestEnd): void;
  /** All metrics as text, with the gauges set from the status. */
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
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION_MS });
  const setGauges = createStatusGauges(registry);
  const { info, ...meters } = createMeters(registry);
  info.set({ version }, 1);
  startAtZero(meters);
  const { requests, gateWait, requestTime, pages, rows } = meters;
  const sweeps = sweepTimer(meters, clock);
  return {
    contentType: registry.contentType,
    passEvent(event) {
      if (event.kind === 'list-begun') sweeps.begun(event.key);
      else if (event.kind === 'page') pages.inc({ list: event.key.list });
      else if (event.kind === 'rows') {
        for (const [count, outcome] of ROW_OUTCOMES)
          rows.inc({ list: event.key.list, outcome }, event.rows[count] ?? 0);
      } else if (event.kind === 'list-done') sweeps.ended(event.report);
    },
    requestEnded({ status, waitedMs, durationMs }) {
      requests.inc({ status: status ?? 'none' });
      gateWait.observe(waitedMs / SECOND);
      requestTime.observe(durationMs / SECOND);
    },
    async render(scrape) {
      setGauges(scrape);
      // Labels hold names of the service.
      return withMarks((await registry.metrics()).replaceAll(NO_LAG, ''));
    },
  };
}

/** Adds the counters and histograms of requests, rows and sweeps, and the gauge of the version. */
function createMeters(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(
    name: string,
    help: string,
    ...labelNames: Label[]
  ): Counter<Label> => new Counter({ name: `${PREFIX}${name}`, help, labelNames, registers });
  const histogram = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    ...labelNames: Label[]
  ): Histogram<Label> => new Histogram({ name: `${PREFIX}${name}`, help, labelNames, buckets, registers });
  return {
    requests: counter('requests_total', 'Requests to the service by HTTP status; none: no answer.', 'status'),
    gateWait: histogram('gate_wait_seconds', 'How long the gate delayed a request.', WAIT_BUCKETS),
    requestTime: histogram(
      'request_seconds',
      'From the start of a request to the end of its answer.',
      REQUEST_BUCKETS,
    ),
    pages: counter('pages_total', 'Pages applied to the mirror.', 'list'),
    rows: counter('rows_total', 'Rows by outcome; unchanged rows are not counted.', 'list', 'outcome'),
    sweepTime: histogram(
      'sweep_seconds',
      'Duration of complete sweeps, each from its start or its last resumption.',
      SWEEP_BUCKETS,
      'list',
    ),
    sweeps: counter('sweeps_total', 'Sweeps by outcome; paused ones are resumed later.', 'list', 'outcome'),
    info: gauge(registry, 'info', 'Always 1; the label is the version of inbox-mirror.', ['version']),
  };
}

type Meters = Omit<ReturnType<typeof createMeters>, 'info'>;

function startAtZero({ requests, pages, rows, sweepTime, sweeps }: Meters): void {
  for (const status of KNOWN_STATUSES) requests.inc({ status }, 0);
  for (const list of LIST_NAMES) {
    pages.inc({ list }, 0);
    sweepTime.zero({ list });
    for (const [, outcome] of ROW_OUTCOMES) rows.inc({ list, outcome }, 0);
    for (const outcome of SWEEP_OUTCOMES) sweeps.inc({ list, outcome }, 0);
  }
}

/** Counts sweeps, and times those that complete. */
function sweepTimer({ sweeps, sweepTime }: Meters, clock: Pick<Clock, 'monotonic'>) {
  const startedAt = new Map<string, number>();
  return {
    begun(key: ListKey): void {
      startedAt.set(listId(key), clock.monotonic());
    },
    ended({ key, outcome }: ListReport): void {
      const { list } = key;
      const started = startedAt.get(listId(key));
      startedAt.delete(listId(key));
      // The pass did not sweep this list: it was already complete, or its inbox may be gone.
      if (outcome === 'already' || outcome === 'skipped') return;
      sweeps.inc({ list, outcome });
      if (outcome === 'complete' && started !== undefined)
        sweepTime.observe({ list }, (clock.monotonic() - started) / SECOND);
    },
  };
}
