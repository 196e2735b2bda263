import type { Deliveries, Delivery } from '../../mirror/history/deliveries.ts';
import type { Feed } from '../../mirror/history/feed.ts';
import type { History } from '../../mirror/history/read.ts';
import type { NamedChange } from '../../mirror/items/names.ts';
import type { Log } from '../../session/log.ts';
import {
  FIRST_GAP_MS,
  type Learned,
  LONGEST_GAP_MS,
  MAX_CHANGES,
  type RefusedAlone,
  setSize,
} from './learned.ts';
import { type Answer, causeOf, CONTENT_REFUSED, isAccepted, sendAlone, type Sending } from './send.ts';

export interface WebhookDeps extends Sending {
  readonly mirror: {
    readonly deliveries: Pick<Deliveries, 'read' | 'write'>;
    readonly history: Pick<History, 'newestCursor'>;
    readonly feed: Pick<Feed, 'after'>;
  };
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** A change that is refused alone this many times may be set aside. */
const ATTEMPTS_ALONE = 3;

/** At most this many later changes are tried after such a refusal, to find one that is accepted. */
const MOST_TRIED = 100;

/**
 * Sets a change aside that the receiver has refused alone several times, if it accepts a later one. A
 * receiver that refuses all of them refuses every change, for example because of a wrong secret.
 * @returns null if the change stays the next
 */
export async function setAside(
  deps: WebhookDeps,
  learned: Learned,
  before: Delivery,
  { change, answer }: { change: NamedChange; answer: Answer },
): Promise<Delivery | null> {
  const { id } = change;
  const known = learned.alone?.id === id ? learned.alone : { id, times: 0, refusedTo: id, acceptedId: null };
  const alone = { ...known, times: known.times + 1 };
  learned.alone = alone;
  if (alone.times < ATTEMPTS_ALONE) return null;
  const acceptedId = alone.acceptedId ?? (await findAccepted(deps, learned, alone));
  if (acceptedId === null) return null;
  if (alone.acceptedId === null) {
    // The receiver may have begun to accept all of them meanwhile.
    const { status } = await sendNext(deps, learned, change);
    if (isAccepted(status)) return accepted(before, id);
    if (!CONTENT_REFUSED.has(status)) {
      // No refusal, as of a receiver that is busy: the next answer to this change decides.
      learned.alone = { ...alone, acceptedId };
      return null;
    }
  }
  deps.log.error(
    { change: id, cause: causeOf(answer) },
    'the webhook refuses this change alone and accepts a later one: it is set aside',
  );
  const [next] = await deps.mirror.feed.after({ id, epoch: null }, {}, 1);
  const isNext = next?.id === acceptedId;
  // Those between the two are refused as well: they are tried singly.
  setSize(learned, isNext ? MAX_CHANGES : 1);
  learned.ahead = acceptedId;
  const after = accepted(before, isNext ? acceptedId : id);
  return { ...after, setAside: before.setAside + 1, setAsideId: id };
}

/**
 * Sends changes after a refused one, each alone and in order, until one is accepted. The one that was
 * accepted before is sent first: a receiver may get it several times. The next call tries those that follow,
 * and after the last change begins again: the receiver may have refused all of them for a while only.
 * @returns the id of the accepted change
 */
async function findAccepted(
  deps: WebhookDeps,
  learned: Learned,
  refused: RefusedAlone,
): Promise<number | null> {
  const { feed } = deps.mirror;
  const read = async (after: number, many: number) => await feed.after({ id: after, epoch: null }, {}, many);
  const again = learned.ahead > refused.id ? await read(learned.ahead - 1, 1) : [];
  const following = await read(refused.refusedTo, MOST_TRIED);
  for (const change of [...again, ...following]) {
    const { status } = await sendNext(deps, learned, change);
    if (isAccepted(status)) return change.id;
    if (!CONTENT_REFUSED.has(status)) return null;
    if (change.id > refused.refusedTo) learned.alone = { ...refused, refusedTo: change.id };
  }
  // Long values end a reading early: only an empty one shows that none is left.
  const left = await read(following.at(-1)?.id ?? refused.refusedTo, 1);
  if (left.length === 0) learned.alone = { ...refused, refusedTo: refused.id };
  return null;
}

/** Sends a further change of the same turn. @throws the signal's reason */
async function sendNext(deps: WebhookDeps, learned: Learned, change: NamedChange): Promise<Answer> {
  await deps.clock.sleep(learned.gapMs, deps.signal);
  return await sendSingly(deps, learned, change);
}

/** Sends one change. If the receiver neither accepts nor refuses it, the gap grows until one is accepted. */
export async function sendSingly(deps: WebhookDeps, learned: Learned, change: NamedChange): Promise<Answer> {
  const answer = await sendAlone(deps, change, () => deps.clock.sleep(learned.gapMs, deps.signal));
  if (isAccepted(answer.status)) learned.gapMs = FIRST_GAP_MS;
  else if (!CONTENT_REFUSED.has(answer.status)) learned.gapMs = Math.min(LONGEST_GAP_MS, 10 * learned.gapMs);
  return answer;
}

export function accepted(before: Delivery, lastId: number): Delivery {
  return { ...before, lastId, failures: 0, retryAt: null, cause: null };
}
