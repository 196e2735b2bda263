import { DAY } from '../core/clock.ts';
import type { ListKey } from '../core/lists.ts';
import type { CallOptions } from '../service/client.ts';
import type { SweepDeps } from './deps.ts';

/** An answer of this many ms ago still shows that the service returns rows by their id. */
const PROVEN_FOR_MS = DAY;

/**
 * The control question: does the service return a row by its id that the lists show? If it does not, a 404
 * for another id says nothing. It costs a request if no row was returned by its id in the last day.
 * @returns true also if there is no other row to ask for
 * @throws MirrorError
 */
export async function returnsById(
  { client, mirror, clock }: Pick<SweepDeps, 'client' | 'mirror' | 'clock'>,
  key: ListKey,
  options: CallOptions,
): Promise<boolean> {
  if (await mirror.suspects.wasFoundById(key.list, clock.now() - PROVEN_FOR_MS)) return true;
  const example = await mirror.suspects.listedExample(key);
  if (example === null) return true;
  const { inboxId, id } = example;
  const found =
    inboxId === null
      ? await client.getInbox(id, options)
      : await client.getConversation(inboxId, id, options);
  return found?.item.id === id;
}
