import { listId, type ListKey } from '../core/lists.ts';
import { type Mirror, targetOf } from '../mirror/mirror.ts';
import { readAgenda } from '../sync/planning/agenda.ts';
import { type Circumstances, judge, type JudgedStatus, type Judgement } from './judge.ts';

/** Reads and judges everything that `status` and the endpoints show. It only reads the database. */
export async function readJudgedStatus(
  mirror: Mirror,
  circumstances: Omit<Circumstances, 'databaseName'>,
): Promise<JudgedStatus> {
  const { now, config } = circumstances;
  const webhook = config.webhook === null ? null : await readWebhook(mirror, targetOf(config.webhook.url));
  const judged = judge(await mirror.status(now), { ...circumstances, databaseName: mirror.name });
  // Without a daemon no list and no order waits, because none would start.
  if (!judged.daemonRuns) return { ...judged, webhook, orderWait: null, waiting: null };
  const hasBegunOrder = judged.openPasses.some(({ ordered, startedAt }) => ordered && startedAt !== null);
  const orderWait = hasBegunOrder ? await mirror.readWait(config.budget, now) : null;
  return { ...judged, webhook, orderWait, waiting: await readWaiting(mirror, judged) };
}

async function readWebhook(mirror: Mirror, target: string): Promise<JudgedStatus['webhook']> {
  const { failures = 0, retryAt = null, cause = null } = (await mirror.deliveries.read(target)) ?? {};
  return { pending: await mirror.deliveries.countPending(target), failures, retryAt, cause };
}

async function readWaiting(
  mirror: Mirror,
  { lists, budget, now }: Judgement,
): Promise<JudgedStatus['waiting']> {
  const running = new Set(lists.filter(({ sweep }) => sweep?.state === 'running').map(listId));
  // The number of waiting lists does not depend on their change rates, and those would cost a query per list.
  const sweeps = { latest: () => mirror.sweeps.latest(), completed: () => Promise.resolve([]) };
  const isRunning = (key: ListKey): boolean => running.has(listId(key));
  const { waiting, until } = await readAgenda({ ...mirror, sweeps }, budget, isRunning, now);
  if (waiting.length === 0) return null;
  return {
    lists: waiting.length,
    requests: waiting.reduce((sum, { requests }) => sum + requests, 0),
    until,
  };
}
