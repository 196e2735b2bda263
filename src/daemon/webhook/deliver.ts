import { Webhook } from 'standardwebhooks';
import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { isMirrorError, messageOf } from '../../core/errors.ts';
import { fromNow, duration } from '../../core/humanize.ts';
import { LONGEST_HINT_MS, pauseAfterStrike, retryAfter } from '../../core/retry-timing.ts';
import type { Deliveries, Delivery } from '../../mirror/history/deliveries.ts';
import type { History } from '../../mirror/history/read.ts';
import { changeAsJson, targetOf } from '../../mirror/mirror.ts';
import type { Log } from '../../session/log.ts';

/** Posts a body. `status` is null if no answer arrived; `problem` then names the reason. Never rejects. */
export type Post = (
  url: string,
  headers: Record<string, string>,
  body: string,
) => Promise<{
  readonly status: number | null;
  readonly retryAfter: string | undefined;
  readonly problem: string | null;
}>;

export interface WebhookDeps {
  readonly mirror: {
    readonly deliveries: Pick<Deliveries, 'read' | 'write'>;
    readonly history: Pick<History, 'after' | 'newestCursor'>;
  };
  readonly clock: Clock;
  readonly log: Log;
  readonly post: Post;
  readonly webhook: { readonly url: string; readonly secret: string };
  readonly signal: AbortSignal;
}

/** At most this many changes in one delivery. */
const MAX_CHANGES = 100;

/** The HTTP status with which a receiver refuses a body as too large. */
const TOO_LARGE = 413;

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
  // Shrinks for good when the receiver answers 413.
  const size = { max: MAX_CHANGES };
  while (!signal.aborted) {
    let wait: number;
    try {
      wait = await deliverNext(deps, size);
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
async function deliverNext(
  { mirror, clock, log, post, webhook, signal }: WebhookDeps,
  size: { max: number },
): Promise<number> {
  const target = targetOf(webhook.url);
  const before = (await mirror.deliveries.read(target)) ?? (await beginDelivery(mirror, target, clock.now()));
  const wait = (before.retryAt?.getTime() ?? 0) - clock.now();
  // A longer wait comes from a clock that was ahead.
  if (wait > 0 && wait <= LONGEST_HINT_MS) return Math.min(wait, MINUTE);
  // The target's place is in the same database as the changes: a backup brings both back.
  const place = { id: before.lastId, epoch: null };
  const changes = await mirror.history.after(place, {}, size.max);
  const [first] = changes;
  const last = changes.at(-1);
  if (first === undefined || last === undefined) return POLL_MS;

  const now = new Date(clock.now());
  const body = JSON.stringify({
    type: 'changes.observed',
    timestamp: now.toISOString(),
    data: { changes: changes.map(changeAsJson) },
  });
  // A dot would be ambiguous in what is signed. The epoch tells ids apart that a restored backup uses again.
  const id = `changes_${first.id}_${last.cursor}`;
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(webhook.secret).sign(id, now, body),
  };
  const answer = await post(webhook.url, headers, body);
  // We aborted the request while stopping: do not count it as a failed delivery.
  if (answer.status === null && signal.aborted) return 0;
  if (answer.status === TOO_LARGE) size.max = Math.ceil(changes.length / 2);
  const after = afterAnswer(before, answer, last.id, clock.now());
  await mirror.deliveries.write(target, after, clock.now());
  logOutcome(log, before, after, clock.now());
  return after.failures === 0 ? 0 : POLL_MS;
}

/** A new target receives only changes from now on. */
async function beginDelivery(mirror: WebhookDeps['mirror'], target: string, now: number): Promise<Delivery> {
  const { id: lastId } = await mirror.history.newestCursor();
  const begun = { lastId, failures: 0, retryAt: null, cause: null };
  await mirror.deliveries.write(target, begun, now);
  return begun;
}

function afterAnswer(
  before: Delivery,
  { status, problem, retryAfter: hint }: Awaited<ReturnType<Post>>,
  lastId: number,
  now: number,
): Delivery {
  if (status !== null && status >= 200 && status < 300)
    return { lastId, failures: 0, retryAt: null, cause: null };
  const failures = before.failures + 1;
  const wait = pauseAfterStrike(failures, retryAfter(hint, now), Math.random());
  return { ...before, failures, retryAt: new Date(now + wait), cause: problem ?? `HTTP ${status}` };
}

/** Logs the first failure and the success that ends the failures; those between at debug only. */
function logOutcome(
  log: Log,
  before: Delivery,
  { failures, retryAt, cause, lastId }: Delivery,
  now: number,
): void {
  const failed = `webhook delivery failed; retrying ${fromNow(retryAt, now)}`;
  if (failures === 1) log.warn({ cause }, `${failed}, then less often`);
  else if (failures > 1) log.debug({ cause, failure: failures }, failed);
  else if (before.failures > 0) log.info({ change: lastId }, 'the webhook accepts deliveries again');
}
