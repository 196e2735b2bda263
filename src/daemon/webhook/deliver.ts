import { MINUTE, SECOND } from '../../core/clock.ts';
import { isMirrorError, messageOf } from '../../core/errors.ts';
import { fromNow, duration } from '../../core/humanize.ts';
import { LONGEST_HINT_MS, pauseAfterStrike, retryAfter } from '../../core/retry-timing.ts';
import type { Deliveries, Delivery } from '../../mirror/history/deliveries.ts';
import type { Feed } from '../../mirror/history/feed.ts';
import type { History } from '../../mirror/history/read.ts';
import { targetOf, wholeTargetOf } from '../../mirror/mirror.ts';
import type { NamedChange } from '../../mirror/items/names.ts';
import type { Log } from '../../session/log.ts';
import {
  type Answer,
  causeOf,
  CONTENT_REFUSED,
  isAccepted,
  send,
  sendAlone,
  type Sending,
  TOO_MUCH,
} from './send.ts';

export interface WebhookDeps extends Sending {
  readonly mirror: {
    readonly deliveries: Pick<Deliveries, 'read' | 'write'>;
    readonly history: Pick<History, 'newestCursor'>;
    readonly feed: Pick<Feed, 'after'>;
  };
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** At most this many changes in one delivery. */
const MAX_CHANGES = 100;

/** After this many full deliveries in a row that were accepted, a delivery may have twice as many changes. */
const ACCEPTED_TO_GROW = 100;

/** A change that is refused alone this many times may be set aside. */
const ATTEMPTS_ALONE = 3;

/** At most this many later changes are tried after such a refusal, to find one that is accepted. */
const MOST_TRIED = 100;

/** Milliseconds between two checks for new changes, and before a retry after a failure of the database. */
const POLL_MS = SECOND;
const DATABASE_RETRY_MS = 30 * SECOND;

/** Milliseconds between two single changes in a row at first, and at most. */
const FIRST_GAP_MS = SECOND;
const LONGEST_GAP_MS = MINUTE;

/** This process's findings about the receiver. */
interface Learned {
  /** Changes in one delivery. It shrinks if several are too much for the receiver, and grows again. */
  size: number;
  /** Full deliveries of this size that were accepted. */
  accepted: number;
  /**
   * The change that was refused alone last, and how often; the last of those after it that were as well, and
   * the one that was accepted.
   */
  alone: {
    readonly id: number;
    readonly times: number;
    readonly refusedTo: number;
    readonly acceptedId: number | null;
  } | null;
  /** A change that was accepted although an earlier one is refused. */
  ahead: number;
  /** Milliseconds between two single changes in a row: a receiver may be too busy for the second one. */
  gapMs: number;
  /**
   * True if the log last reported that deliveries fail. Null before the first answer: the stored failures of
   * an earlier process then decide.
   */
  isFailing: boolean | null;
}

/**
 * Delivers changes to the webhook in order, each at least once, until the signal. A delivery that was not
 * accepted is sent again before any later change, also after a restart. The table `changes` is the outbox, so
 * a sync never waits for the webhook. Never rejects.
 */
export async function deliverChanges(deps: WebhookDeps): Promise<void> {
  const { clock, log, signal } = deps;
  const learned: Learned = {
    size: MAX_CHANGES,
    accepted: 0,
    alone: null,
    ahead: 0,
    gapMs: FIRST_GAP_MS,
    isFailing: null,
  };
  while (!signal.aborted) {
    let wait: number;
    try {
      wait = await deliverNext(deps, learned);
    } catch (error) {
      if (isMirrorError(error, 'LEASE_LOST') || signal.aborted) return;
      // A warning only: the next operation that needs the database reports its failure.
      log.warn(
        { cause: messageOf(error) },
        `webhook delivery is interrupted; retrying in ${duration(DATABASE_RETRY_MS)}`,
      );
      wait = DATABASE_RETRY_MS;
    }
    await clock.sleep(wait, signal).catch(() => undefined);
  }
}

/** @returns the milliseconds to wait before the next call */
async function deliverNext(deps: WebhookDeps, learned: Learned): Promise<number> {
  const { mirror, clock, log, webhook, signal } = deps;
  const target = targetOf(webhook.url);
  const before =
    (await mirror.deliveries.read(target)) ??
    (await mirror.deliveries.read(wholeTargetOf(webhook.url))) ??
    (await beginDelivery(mirror, target, clock.now()));
  const wait = (before.retryAt?.getTime() ?? 0) - clock.now();
  // A longer wait comes from a clock that was ahead.
  if (wait > 0 && wait <= LONGEST_HINT_MS) return Math.min(wait, MINUTE);
  // The target's place is in the same database as the changes: a backup brings both back.
  const place = { id: before.lastId, epoch: null };
  const changes = await mirror.feed.after(place, {}, learned.size);
  const last = changes.at(-1);
  if (last === undefined) return POLL_MS;

  const answer = changes.length > 1 ? await send(deps, changes) : await sendSingly(deps, learned, last);
  // The stop has aborted the request, which is no failure of the receiver.
  if (answer.status === null && signal.aborted) return 0;
  learned.isFailing ??= before.failures > 0;
  let after = afterAnswer(before, answer, last.id, clock.now());
  if (changes.length > 1 && TOO_MUCH.has(answer.status)) {
    setSize(learned, Math.ceil(changes.length / 2));
    after = narrowed(before, answer, clock.now());
  } else if (CONTENT_REFUSED.has(answer.status)) {
    const aside = await setAside(deps, learned, before, { change: last, answer });
    // Its own refusals set the wait: those of the larger deliveries only led to it.
    const failures = (learned.alone?.times ?? 1) - 1;
    after = aside ?? afterAnswer({ ...before, failures }, answer, last.id, clock.now());
  } else if (isAccepted(answer.status) && changes.length === learned.size) grow(learned);
  await mirror.deliveries.write(target, after, clock.now());
  logOutcome(log, learned, { before, after }, clock.now());
  return after.failures === 0 ? 0 : POLL_MS;
}

function setSize(learned: Learned, size: number): void {
  learned.size = size;
  learned.accepted = 0;
}

/** A receiver that refused everything for a while, as with a wrong secret, gets whole deliveries again. */
function grow(learned: Learned): void {
  learned.accepted += 1;
  if (learned.accepted >= ACCEPTED_TO_GROW) setSize(learned, Math.min(MAX_CHANGES, 2 * learned.size));
}

/**
 * After several changes that were too much, half as many follow soon, also to find one that is refused. A
 * refusal of their content costs the receiver nothing: they follow at once.
 */
function narrowed(before: Delivery, answer: Answer, now: number): Delivery {
  const failed = afterAnswer({ ...before, failures: 0 }, answer, before.lastId, now);
  const isQuick = CONTENT_REFUSED.has(answer.status) && answer.retryAfter === undefined;
  return {
    ...failed,
    failures: Math.max(1, before.failures),
    retryAt: isQuick ? new Date(now) : failed.retryAt,
  };
}

/**
 * Sets a change aside that the receiver has refused alone several times, if it accepts a later one. A
 * receiver that refuses all of them refuses every change, for example because of a wrong secret.
 * @returns null if the change stays the next
 */
async function setAside(
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
  refused: NonNullable<Learned['alone']>,
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
async function sendSingly(deps: WebhookDeps, learned: Learned, change: NamedChange): Promise<Answer> {
  const answer = await sendAlone(deps, change, () => deps.clock.sleep(learned.gapMs, deps.signal));
  if (isAccepted(answer.status)) learned.gapMs = FIRST_GAP_MS;
  else if (!CONTENT_REFUSED.has(answer.status)) learned.gapMs = Math.min(LONGEST_GAP_MS, 10 * learned.gapMs);
  return answer;
}

/** A new target receives only changes from now on. */
async function beginDelivery(mirror: WebhookDeps['mirror'], target: string, now: number): Promise<Delivery> {
  const { id: lastId } = await mirror.history.newestCursor();
  const begun = { lastId, failures: 0, retryAt: null, cause: null, setAside: 0, setAsideId: null };
  await mirror.deliveries.write(target, begun, now);
  return begun;
}

function afterAnswer(before: Delivery, answer: Answer, lastId: number, now: number): Delivery {
  if (isAccepted(answer.status)) return accepted(before, lastId);
  const failures = before.failures + 1;
  const wait = pauseAfterStrike(failures, retryAfter(answer.retryAfter, now), Math.random());
  return { ...before, failures, retryAt: new Date(now + wait), cause: causeOf(answer) };
}

function accepted(before: Delivery, lastId: number): Delivery {
  return { ...before, lastId, failures: 0, retryAt: null, cause: null };
}

/**
 * Logs the first failure that is waited for, and the success that ends the failures; those between at debug
 * only. A change that is set aside has had its own line.
 */
function logOutcome(
  log: Log,
  learned: Learned,
  { before, after }: { before: Delivery; after: Delivery },
  now: number,
): void {
  const { failures, retryAt, cause, lastId: change } = after;
  if (failures > 0) {
    const failed = `webhook delivery failed; retrying ${fromNow(retryAt, now)}`;
    const isFirst = !learned.isFailing && (retryAt?.getTime() ?? 0) > now;
    if (isFirst) log.warn({ cause }, `${failed}, then less often`);
    else log.debug({ cause, failure: failures }, failed);
    learned.isFailing ||= isFirst;
    return;
  }
  if (learned.isFailing && after.setAside === before.setAside)
    log.info({ change }, 'the webhook accepts deliveries again');
  learned.isFailing = false;
}
