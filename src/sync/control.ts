import { HOUR } from '../core/clock.ts';
import type { ListKey, ListName } from '../core/lists.ts';
import type { CallOptions } from '../service/client.ts';
import type { SweepDeps } from './deps.ts';

type Deps = Pick<SweepDeps, 'client' | 'mirror' | 'clock'>;

/** An answer of this many ms ago still shows that the service returns rows by their id. */
const PROVEN_FOR_MS = HOUR;

/** The questions under way, by mirror: lists are swept side by side, and one answer serves them all. */
const underWay = new WeakMap<object, Map<ListName, Promise<boolean>>>();

/**
 * The control question: does the service return a row by its id that the lists show? If it does not, a 404
 * for another id says nothing. It costs a request if no row was returned by its id in the last hour.
 * @returns true also if there is no other row to ask for
 * @throws MirrorError
 */
export async function returnsById(deps: Deps, key: ListKey, options: CallOptions): Promise<boolean> {
  const questions = underWay.get(deps.mirror) ?? new Map<ListName, Promise<boolean>>();
  underWay.set(deps.mirror, questions);
  const other = questions.get(key.list);
  // If the other list's question fails, this list asks for itself.
  const heard = other === undefined ? null : await other.catch(() => null);
  if (heard !== null) return heard;
  const question = ask(deps, key, options);
  questions.set(key.list, question);
  try {
    return await question;
  } finally {
    questions.delete(key.list);
  }
}

async function ask({ client, mirror, clock }: Deps, key: ListKey, options: CallOptions): Promise<boolean> {
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
