import { keyFingerprint } from '../core/secrets.ts';
import type { Claim } from '../session/claim.ts';
import { logPassEvent } from '../session/pass-log.ts';
import type { Session } from '../session/session.ts';
import type { Io } from '../session/terminal.ts';
import type { PassEvent } from '../sync/events.ts';
import { cronsOf } from '../sync/planning/freshness.ts';
import { type Outlook, outlookOf } from '../sync/planning/outlook.ts';
import { Daemon } from './daemon.ts';
import { keepHouse } from './housekeeping.ts';
import type { Metrics } from './http/metrics.ts';
import { watchFit } from './watches/budget-fit.ts';
import { endStuck } from './watches/last-resort.ts';
import { whenReplaced } from './watches/replaced-file.ts';
import { becomesStuck } from './watches/stuck.ts';
import { deliverChanges, type Post } from './webhook/deliver.ts';
import { postByHttp } from './webhook/post.ts';

/** How long the page in hand may take when the daemon is to stop. */
const GRACE_MS = 5000;

/** And a webhook's delivery. */
const DELIVERY_GRACE_MS = 3000;

export interface ServeOptions {
  readonly metrics: Metrics;
  /** Receives what the schedules will cost, once, before the first request. */
  readonly onPlan: (plan: Outlook) => void;
}

/** Runs the daemon with everything beside it until it is stopped or loses the lease. */
export async function serve(
  io: Io,
  session: Session,
  { store, signal }: Claim,
  { metrics, onPlan }: ServeOptions,
): Promise<void> {
  const { config, clock, log, keys, client } = session;
  const crons = cronsOf(config.schedules, config.timezone);
  const plan = await outlookOf(store, crons, config, clock.now());
  onPlan(plan);
  log.info({ database: session.database.name, pid: process.pid }, 'started');
  const onEvent = (event: PassEvent): void => {
    logPassEvent(event, log, 'debug');
    metrics.passEvent(event);
  };
  const daemon = new Daemon({
    client,
    store,
    clock,
    log,
    crons,
    limits: config,
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
    void watchFit({ store, crons, limits: config, clock, log, signal: beside }, plan);
    void becomesStuck(daemon, { clock, signal: beside }).then((stuck) => stuck && endStuck(session));
    void keepHouse(store, { database: session.database, settings: config }, { clock, log, signal: beside });
    const { webhook } = config;
    const post: Post = (...delivery) => postByHttp(...delivery, cut.signal);
    if (webhook !== null) delivering = deliverChanges({ store, clock, log, post, webhook, signal: beside });
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
