import { SECOND } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import { claimantOf } from '../../session/claim.ts';
import type { Session } from '../../session/session.ts';
import { readJudgedStatus } from '../../status/observe.ts';
import type { Metrics } from './metrics.ts';
import { createEndpoints, type Endpoints, type Role } from './server.ts';

const LISTEN_AGAIN_MS = 10 * SECOND;

/**
 * Opens the HTTP endpoints of a daemon that may yet have to stand by. `listen` is for when it holds the lease: where the port was taken it fails,
 * or, in a daemon that has stood by until another one died, tries again until the port is free.
 */
export async function serveEndpoints(
  session: Session,
  { metrics, version, role }: { metrics: Metrics; version: string; role: () => Role },
): Promise<{ listen(hasStoodBy: boolean): Promise<void> }> {
  const { config, clock, log, mirror, defer } = session;
  let listening: Endpoints | null = null;
  defer(() => listening?.close());
  const open = async (): Promise<void> => {
    const endpoints = createEndpoints({
      ...config.http,
      version,
      clock,
      log,
      metrics,
      role,
      ping: () => mirror.leaseHolder(),
      status: () => {
        const self = { ...claimantOf('', clock), isWriter: role() === 'active' };
        return readJudgedStatus(mirror, { now: clock.now(), config, self });
      },
      changes: (afterId, filter, limit) => mirror.history.after(afterId, filter, limit),
      newestChange: () => mirror.history.lastId(),
      databaseBytes: () => mirror.bytes(),
    });
    const address = await endpoints.listen();
    listening = endpoints;
    log.info({ address }, 'answering /healthz, /readyz, /metrics, /status.json and /changes');
  };
  // Beside an active daemon the port may be that one's.
  let failure: unknown = null;
  await open().catch((error: unknown) => {
    failure = error;
  });
  return {
    async listen(hasStoodBy) {
      if (listening !== null) return;
      if (!hasStoodBy) throw failure;
      const again = setInterval(() => void retry(), LISTEN_AGAIN_MS);
      const retry = async (): Promise<void> => {
        try {
          if (listening === null) await open();
          clearInterval(again);
        } catch (error) {
          log.warn({ cause: messageOf(error) }, 'the endpoints cannot be opened yet');
        }
      };
      defer(() => clearInterval(again));
      await retry();
    },
  };
}
