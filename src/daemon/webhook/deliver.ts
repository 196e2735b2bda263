import { Webhook } from 'standardwebhooks';
import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { isMirrorError, messageOf } from '../../core/errors.ts';
import { ago } from '../../core/humanize.ts';
import { LONGEST_HINT, pauseAfterStrike, retryAfter } from '../../core/retry-timing.ts';
import type { Deliveries, Delivery } from '../../mirror/history/deliveries.ts';
import type { History } from '../../mirror/history/read.ts';
import { changeAsJson, targetOf } from '../../mirror/mirror.ts';
import type { Log } from '../../session/log.ts';

/** Posts a body; `status` is null where no answer came. Never rejects. */
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
    readonly history: Pick<History, 'after' | 'lastId'>;
  };
  readonly clock: Clock;
  readonly log: Log;
  readonly post: Post;
  readonly webhook: { readonly url: string; readonly secret: string };
  readonly signal: AbortSignal;
}

/** Changes in one delivery, at the most. */
const AT_ONCE = 100;
const TOO_LARGE = 413;
const POLL_MS = SECOND;
const DATABASE_REST_MS = 30 * SECOND;

/**
 * Delivers changes to the webhook as they are found, in order, each at least once, until the signal: what was not taken is sent again, also after a
 * restart, before anything later. `changes` is the outbox, so a sync neither waits for it nor knows of it. Never rejects.
 */
export async function deliverChanges(deps: WebhookDeps): Promise<void> {
  const { clock, log, signal } = deps;
  // What a receiver finds too large it would find so for ever.
  const size = { most: AT_ONCE };
  while (!signal.aborted) {
    let wait: number;
    try {
      wait = await deliverNext(deps, size);
    } catch (error) {
      // What matters to the mirror is said by whoever needs the database next.
      if (isMirrorError(error, 'LEASE_LOST') || signal.aborted) return;
      log.warn({ cause: messageOf(error) }, 'the webhook cannot be served');
      wait = DATABASE_REST_MS;
    }
    await clock.sleep(wait, signal).catch(() => undefined);
  }
}

/** @returns the milliseconds to wait before the next look */
async function deliverNext(
  { mirror, clock, log, post, webhook, signal }: WebhookDeps,
  size: { most: number },
): Promise<number> {
  const target = targetOf(webhook.url);
  const before = (await mirror.deliveries.read(target)) ?? (await beginDelivery(mirror, target, clock.now()));
  const rest = (before.retryAt?.getTime() ?? 0) - clock.now();
  // A longer one is the work of a clock that was ahead.
  if (rest > 0 && rest <= LONGEST_HINT) return Math.min(rest, MINUTE);
  const changes = await mirror.history.after(before.lastId, {}, size.most);
  const [first] = changes;
  const last = changes.at(-1);
  if (first === undefined || last === undefined) return POLL_MS;

  const now = new Date(clock.now());
  const body = JSON.stringify({
    type: 'changes.observed',
    timestamp: now.toISOString(),
    data: { changes: changes.map(changeAsJson) },
  });
  const id = `changes_${first.id}_${last.id}`;
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'inbox-mirror',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(webhook.secret).sign(id, now, body),
  };
  const answer = await post(webhook.url, headers, body);
  // Cut short by our own end: that is no failure of the receiver's.
  if (answer.status === null && signal.aborted) return 0;
  if (answer.status === TOO_LARGE) size.most = Math.ceil(changes.length / 2);
  const after = afterAnswer(before, answer, last.id, clock.now());
  await mirror.deliveries.write(target, after, clock.now());
  note(log, before, after, clock.now());
  return after.failures === 0 ? 0 : POLL_MS;
}

/** To a new target the deliveries begin with the changes from now on. */
async function beginDelivery(mirror: WebhookDeps['mirror'], target: string, now: number): Promise<Delivery> {
  const begun = { lastId: await mirror.history.lastId(), failures: 0, retryAt: null, cause: null };
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

/** Says when it begins to fail and when that is over, not each time between. */
function note(log: Log, before: Delivery, { failures, retryAt, cause, lastId }: Delivery, now: number): void {
  if (failures === 1)
    log.warn(
      { cause },
      `the webhook did not take a delivery; it is sent again ${ago(retryAt, now)}, then more and more seldom`,
    );
  else if (failures > 1)
    log.debug(
      { cause, failure: failures },
      `the webhook did not take a delivery; it is sent again ${ago(retryAt, now)}`,
    );
  else if (before.failures > 0) log.info({ change: lastId }, 'the webhook takes deliveries again');
}
