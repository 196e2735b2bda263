import { type Clock, MINUTE } from '../../core/clock.ts';
import { isMirrorError } from '../../core/errors.ts';
import type { PageCall, SweepClient } from '../../sync/deps.ts';

/**
 * A spent budget is tried again after at least 1 minute, so that several requests fit, and after at most 10:
 * a person may lift a lowered budget.
 */
const BUDGET_WAIT_MS = { least: MINUTE, most: 10 * MINUTE };

/** A client whose every request is sent by `around`. */
export function clientAround(
  client: SweepClient,
  around: <Result>(send: () => Promise<Result>, options: PageCall) => Promise<Result>,
): SweepClient {
  return {
    pageSize: client.pageSize,
    listPage: (list, token, options) => around(() => client.listPage(list, token, options), options),
    getInbox: (inboxId, options) => around(() => client.getInbox(inboxId, options), options),
    getConversation: (inboxId, id, options) =>
      around(() => client.getConversation(inboxId, id, options), options),
    search: (list, by, options) => around(() => client.search(list, by, options), options),
    ping: (options) => around(() => client.ping(options), options),
    throwIfShut: () => client.throwIfShut(),
  };
}

/**
 * A client whose requests wait for a place in the day's budget, instead of failing.
 * @param onWait called before each wait
 */
export function patientClient(
  client: SweepClient,
  clock: Pick<Clock, 'now' | 'sleep'>,
  onWait: () => void,
): SweepClient {
  return clientAround(client, async (send, { signal }) => {
    for (;;)
      try {
        return await send();
      } catch (error) {
        if (!isMirrorError(error, 'BUDGET_SPENT') || error.resumeAt === undefined) throw error;
        onWait();
        const { least, most } = BUDGET_WAIT_MS;
        const waitMs = error.resumeAt.getTime() - clock.now();
        await clock.sleep(Math.min(Math.max(waitMs, least), most), signal);
      }
  });
}

/** A client whose every request waits for `take` before it goes to the gate. */
export function pacedClient(client: SweepClient, take: (options: PageCall) => Promise<void>): SweepClient {
  return clientAround(client, async (send, options) => {
    await take(options);
    return await send();
  });
}
