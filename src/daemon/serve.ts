import { SECOND } from '../core/clock.ts';
import { keyFingerprint } from '../core/secrets.ts';
import type { Claim } from '../session/claim.ts';
import { logPassEvent } from '../session/pass-log.ts';
import type { Session } from '../session/session.ts';
import type { Io } from '../session/terminal.ts';
import type { PassEvent } from '../sync/events.ts';
import { cronsOf } from '../sync/planning/freshness.ts';
import { type Load, loadOf } from '../sync/planning/load.ts';
import { Daemon } from './daemon.ts';
import { housekeepDaily } from './housekeeping.ts';
import type { Metrics } from './http/metrics.ts';
import { watchFit } from './watches/budget-fit.ts';
import { endStuck } from './watches/last-resort.ts';
import { whenReplaced } from './watches/replaced-file.ts';
import { becomesStuck } from './watches/stuck.ts';
import { deliverChanges, type Post } from './webhook/deliver.ts';
import { postByHttp } from './webhook/post.ts';

/** How long the page in hand may take when the daemon is to stop. */
const GRACE_MS = 5 * SECOND;

/** And a webhook's delivery. */
const DELIVERY_GRACE_MS = 3 * SECOND;

export interface ServeOptions {
  readonly metrics: Metrics;
  /** Receives what the schedules will cost, once, before the first request. */
  readonly onPlan: (plan: Load) => void;
}

/** Runs the daemon with everything beside it until it is stopped or loses the lease. */
export async function serve(
  io: Io,
  session: Session,
  { mirror, signal }: Claim,
  { metrics, onPlan }: ServeOptions,
): Promise<void> {
  const { config, clock, log, keys, client } = session;
  const crons = cronsOf(config.schedules, config.timezone);
  const plan = await loadOf(mirror, crons, config.budget, clock.now());
  onPlan(plan);
  log.info({ database: mirror.name, pid: process.pid }, 'started');
  const onEvent = (event: PassEvent): void => {
    logPassEvent(event, log, 'debug');
    metrics.passEvent(event);
  };
  const daemon = new Daemon({
    client,
    mirror,
    clock,
    log,
    crons,
    budget: config.budget,
    key: () => keyFingerprint(keys.current()),
    onEvent,
  });
  const house = new AbortController();
  const cut = new AbortController();
  let delivering: Promise<void> | undefined;
  const gone = whenReplaced(session);
  try {
    const over = AbortSignal.any([signal, gone]);
    const beside = AbortSignal.any([over, house.signal]);
    void watchFit({ mirror, crons, budget: config.budget, clock, log, signal: beside }, plan);
    void becomesStuck(daemon, { clock, signal: beside }).then((stuck) => stuck && endStuck(session));
    void housekeepDaily(mirror, config, { clock, log, signal: beside });
    const { webhook } = config;
    const post: Post = (...delivery) => postByHttp(...delivery, cut.signal);
    if (webhook !== null) delivering = deliverChanges({ mirror, clock, log, post, webhook, signal: beside });
    await daemon.run(over);
    if (!io.signal.aborted) throw over.reason;
    log.info('stopping after the page in hand');
  } finally {
    house.abort();
    const stopped = new AbortController();
    const patience = clock.sleep(GRACE_MS, stopped.signal).catch(() => undefined);
    void clock.sleep(DELIVERY_GRACE_MS, stopped.signal).then(
      () => cut.abort(),
      () => undefined,
    );
    // A delivery under way is noted while the lease is held.
    await Promise.race([Promise.all([daemon.stop(), delivering]), patience]);
    stopped.abort();
  }
}
