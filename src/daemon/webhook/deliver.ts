import { MINUTE, SECOND } from '../../core/clock.ts';
import { isMirrorError, messageOf } from '../../core/errors.ts';
import { fromNow, duration } from '../../core/humanize.ts';
import { LONGEST_HINT_MS, pauseAfterStrike, retryAfter } from '../../core/retry-timing.ts';
import type { Delivery } from '../../mirror/history/deliveries.ts';
import type { NamedChange } from '../../mirror/items/names.ts';
import { targetOf, wholeTargetOf } from '../../mirror/mirror.ts';
import type { Log } from '../../session/log.ts';
import { grow, type Learned, nothingLearned, setSize } from './learned.ts';
import { type Answer, causeOf, CONTENT_REFUSED, isAccepted, send, TOO_MUCH } from './send.ts';
import { accepted, sendSingly, setAside, type WebhookDeps } from './singly.ts';

/** Milliseconds between two checks for new changes, and before a retry after a failure of the database. */
const POLL_MS = SECOND;
const DATABASE_RETRY_MS = 30 * SECOND;

/**
 * Delivers changes to the webhook in order, each at least once, until the signal. A delivery that was not
 * accepted is sent again before any later change, also after a restart. The table `changes` is the outbox, so
 * a sync never waits for the webhook. Never rejects.
 */
export async function deliverChanges(deps: WebhookDeps): Promise<void> {
  const { clock, log, signal } = deps;
  const learned = nothingLearned();
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
  // The target's place is in the same database as the changes: a backup brings both back. `write` notices
  // a restore or a fail-over that happens while changes are on their way.
  const place = { id: before.lastId, epoch: null };
  const changes = await mirror.feed.after(place, {}, learned.size);
  const last = changes.at(-1);
  if (last === undefined) return POLL_MS;

  const answer = changes.length > 1 ? await send(deps, changes) : await sendSingly(deps, learned, last);
  // The stop has aborted the request, which is no failure of the receiver.
  if (answer.status === null && signal.aborted) return 0;
  learned.isFailing ??= before.failures > 0;
  const after = await deliveryAfter(deps, learned, before, { changes, last, answer });
  const sent = { afterId: before.lastId, last };
  if (!(await mirror.deliveries.write(target, after, clock.now(), sent))) return 0;
  logOutcome(log, learned, { before, after }, clock.now());
  return after.failures === 0 ? 0 : POLL_MS;
}

/** How far the target's deliveries are after an answer. */
async function deliveryAfter(
  deps: WebhookDeps,
  learned: Learned,
  before: Delivery,
  { changes, last, answer }: { changes: readonly NamedChange[]; last: NamedChange; answer: Answer },
): Promise<Delivery> {
  if (isAccepted(answer.status)) {
    if (changes.length === learned.size) grow(learned);
    return accepted(before, last.id);
  }
  if (changes.length > 1 && TOO_MUCH.has(answer.status)) {
    setSize(learned, Math.ceil(changes.length / 2));
    return narrowed(before, answer, deps.clock.now());
  }
  if (!CONTENT_REFUSED.has(answer.status)) return failed(before, answer, deps.clock.now());
  const aside = await setAside(deps, learned, before, { change: last, answer });
  // Its own refusals set the wait: those of the larger deliveries only led to it.
  const failures = (learned.alone?.times ?? 1) - 1;
  return aside ?? failed({ ...before, failures }, answer, deps.clock.now());
}

/**
 * After several changes that were too much, half as many follow soon, also to find one that is refused. A
 * refusal of their content costs the receiver nothing: they follow at once. Each halving then resets the
 * waits: for a receiver that is too busy for that, they would grow to hours before one change is alone.
 */
function narrowed(before: Delivery, answer: Answer, now: number): Delivery {
  const { retryAt, ...after } = failed({ ...before, failures: 0 }, answer, now);
  const isQuick = CONTENT_REFUSED.has(answer.status) && answer.retryAfter === undefined;
  return {
    ...after,
    failures: isQuick ? 1 : Math.max(1, before.failures),
    retryAt: isQuick ? new Date(now) : retryAt,
  };
}

function failed(before: Delivery, answer: Answer, now: number): Delivery {
  const failures = before.failures + 1;
  const wait = pauseAfterStrike(failures, retryAfter(answer, now), Math.random());
  return { ...before, failures, retryAt: new Date(now + wait), cause: causeOf(answer) };
}

/** A new target receives only changes from now on. */
async function beginDelivery(mirror: WebhookDeps['mirror'], target: string, now: number): Promise<Delivery> {
  const { id: lastId } = await mirror.history.newestCursor();
  const begun = { lastId, failures: 0, retryAt: null, cause: null, setAside: 0, setAsideId: null };
  await mirror.deliveries.write(target, begun, now);
  return begun;
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
    const report = `webhook delivery failed; retrying ${fromNow(retryAt, now)}`;
    const isFirst = !learned.isFailing && (retryAt?.getTime() ?? 0) > now;
    if (isFirst) log.warn({ cause }, `${report}, then less often`);
    else log.debug({ cause, failure: failures }, report);
    learned.isFailing ||= isFirst;
    return;
  }
  if (learned.isFailing && after.setAside === before.setAside)
    log.info({ change }, 'the webhook accepts deliveries again');
  learned.isFailing = false;
}
