import { scheduledCap } from '../core/budget.ts';
import type { Delivery } from '../mirror/history/deliveries.ts';
import { type Mirror, targetOf } from '../mirror/mirror.ts';
import type { Config } from '../session/config/config.ts';
import { nextWalk } from '../sync/planning/agenda.ts';
import { cronsOf } from '../sync/planning/cron.ts';
import { type Outlook, type PlannedReading, readOutlook } from '../sync/planning/pages/outlook.ts';
import { readWaiting } from '../sync/planning/waiting.ts';
import { measuredDelay } from './delay.ts';
import { type Circumstances, type FullUntil, judge, type JudgedStatus } from './judge.ts';
import { type SpentRequests, spentRequests } from './spent.ts';

/** All that `status` and `/status.json` show. */
export interface WholeStatus extends JudgedStatus {
  readonly spent: SpentRequests;
  /** The pages of conversations that are read singly; null: there are none. */
  readonly outlook: Pick<Outlook, 'pages' | 'rows' | 'current' | 'oldestReading' | 'missed'> | null;
  /** The page that the daemon reads next; null: no daemon runs, or it cannot send now. */
  readonly nextReading: PlannedReading | null;
  /** When a list of conversations that has no single pages is read whole again, epoch ms; null: none is. */
  readonly nextWalk: number | null;
}

/** Reads and judges what every endpoint shows. It only reads the database. */
export async function readJudgedStatus(
  mirror: Mirror,
  circumstances: Omit<Circumstances, 'databaseName'>,
): Promise<JudgedStatus> {
  const { now, config } = circumstances;
  const webhook = config.webhook === null ? null : await readWebhook(mirror, targetOf(config.webhook.url));
  const judged = judge(await mirror.status(now), { ...circumstances, databaseName: mirror.name });
  const delay = measuredDelay(await mirror.delays(now), now);
  const fullUntil = await readFullUntil(mirror, judged);
  // Without a daemon no list and no order waits, because none would start.
  if (!judged.daemonRuns) return { ...judged, delay, fullUntil, webhook, orderWait: null, waiting: null };
  const hasBegunOrder = judged.openPasses.some(({ ordered, startedAt }) => ordered && startedAt !== null);
  const orderWait = hasBegunOrder ? await mirror.readWait(config.budget, now) : null;
  return {
    ...judged,
    delay,
    fullUntil,
    webhook,
    orderWait,
    waiting: await readWaiting(mirror, { budget: config.budget, readsPages: config.readPages !== null }, now),
  };
}

/** Adds what only people and `/status.json` see. It reads the state of every page, which takes longer. */
export async function readDetails(
  mirror: Mirror,
  config: Pick<Config, 'readPages' | 'reportTimezone' | 'schedules' | 'timezone'>,
  status: JudgedStatus,
): Promise<WholeStatus> {
  const { now, budget, sent, daemonRuns, gateWord, outage, otherAccount } = status;
  const { readPages, reportTimezone: timezone } = config;
  // Only those that `sent` counts: the daemon may have sent more since.
  const spent = spentRequests(await mirror.budget.byKind(now, sent));
  if (readPages === null) return { ...status, spent, outlook: null, nextReading: null, nextWalk: null };
  const { stretches } = readPages;
  const cron = cronsOf(config.schedules, config.timezone).conversations;
  const outlook = await readOutlook(mirror, { budget, stretches, cron, timezone, now, most: 1 });
  const sends = daemonRuns && gateWord === 'open' && outage === null && otherAccount === null;
  return {
    ...status,
    spent,
    outlook: outlook.pages === 0 ? null : outlook,
    nextReading: sends ? (outlook.next[0] ?? null) : null,
    nextWalk: await nextWalk(mirror, budget, now),
  };
}

async function readFullUntil(
  mirror: Pick<Mirror, 'budget'>,
  { budget, sent, now }: Pick<JudgedStatus, 'budget' | 'sent' | 'now'>,
): Promise<FullUntil> {
  const roomAt = async (cap: number): Promise<Date | null> =>
    sent < cap ? null : await mirror.budget.leavesWindowAt(sent - cap + 1, now);
  return { manual: await roomAt(budget.perDay), scheduled: await roomAt(scheduledCap(budget)) };
}

async function readWebhook(mirror: Mirror, target: string): Promise<JudgedStatus['webhook']> {
  const stored = await mirror.deliveries.read(target);
  const known: Partial<Delivery> = stored ?? {};
  const { failures = 0, retryAt = null, cause = null, setAside = 0, setAsideId = null } = known;
  const pending = await mirror.deliveries.countPending(target);
  return { hasBegun: stored !== null, pending, failures, retryAt, cause, setAside, setAsideId };
}
