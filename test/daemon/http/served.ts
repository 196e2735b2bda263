import { request } from 'node:http';
import { createMetrics, type Metrics } from '../../../src/daemon/http/metrics.ts';
import { unknownParts } from '../../../src/daemon/http/changes.ts';
import { createEndpoints, type EndpointsOptions } from '../../../src/daemon/http/server.ts';
import { databaseBytes } from '../../../src/database/sqlite/file.ts';
import { readLease } from '../../../src/mirror/lease.ts';
import { mirrorOn } from '../../../src/mirror/mirror.ts';
import type { PassSpec } from '../../../src/mirror/passes/passes.ts';
import { readConfig } from '../../../src/session/config/config.ts';
import type { JudgedStatus } from '../../../src/status/judge.ts';
import { readDetails, readJudgedStatus, type WholeStatus } from '../../../src/status/observe.ts';
import { type PassReport, runPass } from '../../../src/sync/pass.ts';
import { accountCheck } from '../../support/account.ts';
import { TestClock } from '../../support/clock.ts';
import { atEnd } from '../../support/lasting.ts';
import { testLog } from '../../support/log.ts';
import { GONE_AFTER_MS, KEY, type MirrorOptions, type TestMirror } from '../../support/mirror.ts';
import { passSpec } from '../../support/pass-spec.ts';
import { urlOf } from '../../support/provider.ts';
import { freshMirrorFile, quickMirror } from '../../support/template.ts';

const CONFIG = readConfig(
  { REQUESTS_PER_DAY: '5000', REQUESTS_RESERVED: '250', SCHEDULE_CONVERSATIONS: '*/15 * * * *' },
  '/',
  { service: false },
);

export interface Answered {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
  /** The body, read as JSON. */
  readonly json: Record<string, unknown>;
}

/** A mirror of a sandbox with the daemon's endpoints on a real port. */
export interface Served {
  readonly mirror: TestMirror;
  readonly clock: TestClock;
  readonly metrics: Metrics;
  readonly url: string;
  readonly logged: string[];
  status(): Promise<WholeStatus>;
  /** Runs one pass and reports it to the metrics, as the daemon does. */
  sync(spec?: Partial<PassSpec>): Promise<PassReport>;
  ask(
    path: string,
    options?: {
      method?: string;
      headers?: Record<string, string>;
      body?: string;
      /** The client's own address: any of 127.0.0.0/8. */
      from?: string;
    },
  ): Promise<Answered>;
}

export async function served(
  options: MirrorOptions = {},
  endpoints: Partial<EndpointsOptions> = {},
): Promise<Served> {
  const clock = new TestClock();
  const metrics = createMetrics({ version: '1.2.3', clock });
  const place = options.path ?? (await freshMirrorFile());
  const mirror = await quickMirror({
    clock,
    ...options,
    path: place,
    sandbox: { conversations: [230, 40], usersPerInbox: 3, tagsPerInbox: 4, ...options.sandbox },
    gate: { ...options.gate, onEnded: metrics.requestEnded },
  });
  const { database, client, writer } = mirror;
  const { log, lines: logged } = testLog('trace', { secrets: () => [KEY] });
  const self = { host: 'test-host', pid: process.pid, isAlive: () => true, isWriter: true };
  const judged = (): Promise<JudgedStatus> =>
    readJudgedStatus(mirrorOn(database), { now: clock.now(), config: CONFIG, self });
  const details = (found: JudgedStatus): Promise<WholeStatus> =>
    readDetails(mirrorOn(database), CONFIG, found);
  const status = async (): Promise<WholeStatus> => await details(await judged());
  const { listen, close } = createEndpoints({
    host: '127.0.0.1',
    port: 0,
    allowedHosts: ['mirror.example'],
    token: null,
    version: '1.2.3',
    databaseUrl: urlOf(place),
    reportTimezone: CONFIG.reportTimezone,
    clock,
    log,
    metrics,
    role: () => 'active',
    fault: () => null,
    ping: () => readLease(database),
    status: judged,
    details,
    changes: (after, filter, limit) => mirrorOn(database).feed.after(after, filter, limit),
    unknown: (filter) => unknownParts(mirrorOn(database).names, filter),
    newestChange: () => mirrorOn(database).history.newestCursor(),
    orders: mirrorOn(database).orders,
    databaseBytes: () => databaseBytes(database.name),
    ...endpoints,
  });
  const url = await listen();
  atEnd(close);
  return {
    mirror,
    clock,
    metrics,
    url,
    logged,
    status,
    sync: (spec = {}) =>
      runPass(
        {
          client,
          mirror: writer,
          account: accountCheck({ mirror: writer, clock }),
          clock,
          goneAfterMs: GONE_AFTER_MS,
          onEvent: metrics.passEvent,
          signal: new AbortController().signal,
        },
        passSpec(spec),
      ),
    ask: (path, { method = 'GET', headers = {}, body, from = '127.0.0.1' } = {}) =>
      new Promise((resolve, reject) => {
        const sent = request(
          url + path,
          { method, headers, agent: false, localAddress: from },
          (response) => {
            let text = '';
            response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
            response.on('end', () =>
              resolve({
                status: response.statusCode ?? 0,
                headers: response.headers,
                body: text,
                get json() {
                  return JSON.parse(text) as Record<string, unknown>;
                },
              }),
            );
          },
        );
        sent.on('error', reject).end(body);
      }),
  };
}
