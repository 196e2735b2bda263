import { SECOND } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import { thisProcess } from '../../session/lease/claim.ts';
import type { Session } from '../../session/session.ts';
import { readDetails, readJudgedStatus } from '../../status/observe.ts';
import type { Metrics } from './metrics.ts';
import { unknownParts } from './changes.ts';
import { createEndpoints, type Endpoints, type Role } from './server.ts';

/** A stand-by that has taken over tries to open the endpoints once in this many ms. */
const RETRY_MS = 10 * SECOND;

interface OpenEndpointsOptions {
  readonly metrics: Metrics;
  readonly version: string;
  readonly role: () => Role;
  readonly fault: () => string | null;
  /** Called with the address when the endpoints answer. */
  readonly onListening: (address: string) => void;
}

/**
 * Opens the HTTP endpoints of a daemon that may still have to stand by. The caller calls `listen` each time
 * the daemon gets the lease. If the port was in use, `listen` throws. In a daemon that has stood by, it
 * retries until the port is free, because the daemon before it may still use the port.
 */
export async function openEndpoints(
  session: Session,
  daemon: OpenEndpointsOptions,
): Promise<{ listen(hasStoodBy: boolean): Promise<void> }> {
  const { config, clock, log, mirror, keyUse, defer } = session;
  let listening: Endpoints | null = null;
  defer(() => listening?.close());
  const open = async (): Promise<void> => {
    const endpoints = createEndpoints({
      ...config.http,
      ...daemon,
      databaseUrl: config.databaseUrl,
      reportTimezone: config.reportTimezone,
      clock,
      log,
      ping: () => mirror.leaseHolder(),
      status: () => {
        const self = { ...thisProcess(), isWriter: daemon.role() === 'active' };
        return readJudgedStatus(mirror, { now: clock.now(), config, self, others: keyUse.others() });
      },
      details: (status) => readDetails(mirror, config, status),
      changes: (after, filter, limit) => mirror.feed.after(after, filter, limit),
      unknown: (filter) => unknownParts(mirror.names, filter),
      newestChange: () => mirror.history.newestCursor(),
      orders: mirror.orders,
      databaseBytes: () => mirror.bytes(),
    });
    const address = await endpoints.listen();
    listening = endpoints;
    log.info({ address }, answering(config.http.token !== null));
    daemon.onListening(address);
  };
  // The active daemon may use the same port.
  let failure: unknown = null;
  await open().catch((error: unknown) => {
    failure = error;
  });
  return {
    async listen(hasStoodBy) {
      if (listening !== null) return;
      if (!hasStoodBy) throw failure;
      const timer = setInterval(() => void retry(), RETRY_MS);
      const retry = async (): Promise<void> => {
        try {
          if (listening === null) await open();
          clearInterval(timer);
        } catch (error) {
          log.warn(
            { cause: messageOf(error) },
            `the endpoints cannot be opened; retrying in ${duration(RETRY_MS)}`,
          );
        }
      };
      defer(() => clearInterval(timer));
      await retry();
    },
  };
}

function answering(hasToken: boolean): string {
  const whom = hasToken ? 'those who have the token' : 'programs of this machine';
  return `answering /healthz and /readyz; the pages, /metrics, /status.json and /changes only to ${whom}`;
}
