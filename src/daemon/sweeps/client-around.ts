import { isMirrorError } from '../../core/errors.ts';
import type { Client } from '../../sync/deps.ts';

/** A client whose every request is sent by `around`. */
export function clientAround(
  client: Client,
  around: <Result>(send: () => Promise<Result>) => Promise<Result>,
): Client {
  const wrapped =
    <Parameters extends unknown[], Result>(send: (...parameters: Parameters) => Promise<Result>) =>
    async (...parameters: Parameters): Promise<Result> =>
      await around(() => send(...parameters));
  return {
    listPage: wrapped((...call: Parameters<Client['listPage']>) => client.listPage(...call)),
    getInbox: wrapped((...call: Parameters<Client['getInbox']>) => client.getInbox(...call)),
    getConversation: wrapped((...call: Parameters<Client['getConversation']>) =>
      client.getConversation(...call),
    ),
    search: wrapped((...call: Parameters<Client['search']>) => client.search(...call)),
    ping: wrapped((...call: Parameters<Client['ping']>) => client.ping(...call)),
  };
}

/** A client whose requests wait for a place in the day's budget, instead of failing. */
export function patientClient(client: Client, wait: (resumeAt: Date) => Promise<void>): Client {
  return clientAround(client, async (send) => {
    for (;;)
      try {
        return await send();
      } catch (error) {
        if (!isMirrorError(error, 'BUDGET_SPENT') || error.resumeAt === undefined) throw error;
        await wait(error.resumeAt);
      }
  });
}
