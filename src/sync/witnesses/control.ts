import { MINUTE } from '../../core/clock.ts';
import { isMirrorError } from '../../core/errors.ts';
import { listId, type ListKey } from '../../core/lists.ts';
import type { Side } from '../../mirror/items/suspects/suspects.ts';
import type { CallOptions } from '../../service/client.ts';
import type { SweepDeps } from '../deps.ts';
import { isNoWitness, isThrottledQuestion } from './ask.ts';

type Deps = Pick<SweepDeps, 'client' | 'mirror' | 'clock'>;

/**
 * Whether the service returns a row by its id that the list shows. If it does not, or if the list shows no
 * other row, a 404 for an id says nothing.
 */
export type Control = 'returned' | 'not-returned' | 'no-other-row';

/**
 * After `not-returned`, a list asks no control question for this many ms. A row that was returned is never
 * remembered: the next moment the route may be broken.
 */
const NOT_RETURNED_MS = 10 * MINUTE;

/** For each mirror and list: until when `not-returned` is its answer, in ms of the monotonic clock. */
const NOT_RETURNED = new WeakMap<object, Map<string, number>>();

export interface ControlQuestion {
  /** The id of a suspect: its neighbours are asked for. Each suspect has other ones, which no cache knows. */
  readonly near: string;
  /** The side of the neighbour that is asked for first. */
  readonly side: Side;
  /** Rows that the list lacks, besides suspects: they prove nothing. */
  readonly lacking: readonly string[];
  /** An earlier run of the sweep had already read all pages. */
  readonly askedBefore: boolean;
}

/**
 * Asks the control question, for up to three rows that the list shows. One that cannot be returned must not
 * keep the deletions beside it unknown.
 * @throws MirrorError
 */
export async function control(
  deps: Deps,
  key: ListKey,
  { near, side, lacking, askedBefore }: ControlQuestion,
  options: CallOptions,
): Promise<Control> {
  const { client, mirror, clock } = deps;
  const notReturned = NOT_RETURNED.get(mirror) ?? new Map<string, number>();
  NOT_RETURNED.set(mirror, notReturned);
  if (clock.monotonic() < (notReturned.get(listId(key)) ?? -Infinity)) return 'not-returned';
  const examples = await mirror.suspects.listedExamples(key, { near, side, lacking });
  if (examples.length === 0) return 'no-other-row';
  const ask = (id: string) => askExample(client, key, { id, askedBefore }, options);
  let isFaulty = false;
  for (const [nth, id] of examples.entries()) {
    const answer = await ask(id);
    // The first one may be gone. If it is not, the service contradicts itself, and the ledger has it.
    if (answer === 'returned' && nth > 0 && !isFaulty) await ask(examples[0]!);
    if (answer === 'returned') return answer;
    isFaulty ||= answer === 'faulty';
  }
  // Answers that cannot be used may end in a moment.
  if (!isFaulty) notReturned.set(listId(key), clock.monotonic() + NOT_RETURNED_MS);
  return 'not-returned';
}

async function askExample(
  client: Deps['client'],
  { inboxId }: ListKey,
  { id, askedBefore }: { id: string; askedBefore: boolean },
  options: CallOptions,
): Promise<'returned' | 'not-returned' | 'faulty'> {
  try {
    const found =
      inboxId === null
        ? await client.getInbox(id, options)
        : await client.getConversation(inboxId, id, options);
    // The service also accepts thread ids, so it may return another conversation.
    return found?.item.id === id ? 'returned' : 'not-returned';
  } catch (error) {
    // Withdrawn access to one inbox says nothing of the others.
    if (isMirrorError(error, 'LIST_FORBIDDEN')) return 'not-returned';
    // Only this row is refused: another one may show what is asked.
    if (isMirrorError(error, 'ANSWER_FAILED') && error.status === 429) return 'faulty';
    if (isNoWitness(error, askedBefore)) return 'faulty';
    throw error;
  }
}

/**
 * True if the service's search finds one of up to three users or tags that the list shows: one may be gone,
 * or its search may fail. Otherwise a search without a hit says nothing.
 * @throws MirrorError
 */
export async function searchFinds(
  { client, mirror }: Deps,
  { list, inboxId }: ListKey,
  askedBefore: boolean,
  options: CallOptions,
): Promise<boolean> {
  if (inboxId === null || (list !== 'users' && list !== 'tags')) return false;
  for (const askBy of await mirror.suspects.listedAskBy({ list, inboxId })) {
    try {
      const { items } = await client.search({ list, inboxId }, askBy, options);
      if (items.length > 0) return true;
    } catch (error) {
      if (isMirrorError(error, 'LIST_FORBIDDEN') || isThrottledQuestion(error, askedBefore)) return false;
      if (!isNoWitness(error, askedBefore)) throw error;
    }
  }
  return false;
}
