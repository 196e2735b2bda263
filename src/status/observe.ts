import { listId } from '../core/lists.ts';
import type { Database } from '../database/database.ts';
import { readWait } from '../mirror/gate/wait.ts';
import { countUndelivered, readDelivery, targetOf } from '../mirror/history/deliveries.ts';
import { openReader } from '../mirror/mirror.ts';
import { readStatus } from '../mirror/status.ts';
import { readAgenda } from '../sync/planning/agenda.ts';
import { type Circumstances, judge, type JudgedStatus } from './judge.ts';

/** All that `status` and the endpoints show, from the database alone: no request is sent. */
export async function observe(
  database: Database,
  circumstances: Omit<Circumstances, 'databaseName'>,
): Promise<JudgedStatus> {
  const { now, config } = circumstances;
  const webhook = config.webhook === null ? null : await readWebhook(database, targetOf(config.webhook.url));
  const status = {
    ...judge(await readStatus(database, now), { ...circumstances, databaseName: database.name }),
    webhook,
  };
  const orders = status.openPasses.some(({ ordered, startedAt }) => ordered && startedAt !== null);
  const orderWait = orders && status.daemonRuns ? await readWait(database, config.requestsPerDay, now) : null;
  // Without a daemon nothing waits for the budget: nobody would begin it.
  if (!status.daemonRuns) return { ...status, orderWait };
  const running = new Set(status.lists.filter(({ sweep }) => sweep?.state === 'running').map(listId));
  // How much waits does not hang on how often each list changes, which would be a query a list.
  const reader = { ...openReader(database), completeSweeps: async () => [] };
  const { waiting, until } = await readAgenda(reader, config, (key) => running.has(listId(key)), now);
  if (waiting.length === 0) return { ...status, orderWait };
  return {
    ...status,
    waiting: {
      lists: waiting.length,
      requests: waiting.reduce((sum, { requests }) => sum + requests, 0),
      until,
    },
  };
}

async function readWebhook(database: Database, target: string): Promise<JudgedStatus['webhook']> {
  const { failures = 0, retryAt = null, cause = null } = (await readDelivery(database, target)) ?? {};
  return { pending: await countUndelivered(database, target), failures, retryAt, cause };
}
