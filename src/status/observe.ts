import { DAY } from '../core/clock.ts';
import type { Delivery } from '../mirror/history/deliveries.ts';
import { type Mirror, targetOf } from '../mirror/mirror.ts';
import { readWaiting } from '../sync/planning/waiting.ts';
import { quantileOf } from './delay.ts';
import { type Circumstances, judge, type JudgedStatus } from './judge.ts';

/** Reads and judges everything that `status` and the endpoints show. It only reads the database. */
export async function readJudgedStatus(
  mirror: Mirror,
  circumstances: Omit<Circumstances, 'databaseName'>,
): Promise<JudgedStatus> {
  const { now, config } = circumstances;
  const webhook = config.webhook === null ? null : await readWebhook(mirror, targetOf(config.webhook.url));
  const judged = judge(await mirror.status(now), { ...circumstances, databaseName: mirror.name });
  // Without a daemon no list and no order waits, because none would start.
  const delay = delayOf(await mirror.delays(now - DAY));
  if (!judged.daemonRuns) return { ...judged, delay, webhook, orderWait: null, waiting: null };
  const hasBegunOrder = judged.openPasses.some(({ ordered, startedAt }) => ordered && startedAt !== null);
  const orderWait = hasBegunOrder ? await mirror.readWait(config.budget, now) : null;
  return {
    ...judged,
    delay,
    webhook,
    orderWait,
    waiting: await readWaiting(mirror, { budget: config.budget, readPages: config.readPages !== null }, now),
  };
}

function delayOf(ascending: readonly number[]): JudgedStatus['delay'] {
  const [medianMs, p95Ms] = [quantileOf(ascending, 0.5), quantileOf(ascending, 0.95)];
  return medianMs === null || p95Ms === null ? null : { changes: ascending.length, medianMs, p95Ms };
}

async function readWebhook(mirror: Mirror, target: string): Promise<JudgedStatus['webhook']> {
  const known: Partial<Delivery> = (await mirror.deliveries.read(target)) ?? {};
  const { failures = 0, retryAt = null, cause = null, setAside = 0, setAsideId = null } = known;
  const pending = await mirror.deliveries.countPending(target);
  return { pending, failures, retryAt, cause, setAside, setAsideId };
}
