import type { Claim } from '../session/lease/claim.ts';
import { logPassEvent } from '../session/words/pass-events.ts';
import type { Session } from '../session/session.ts';
import type { Io } from '../session/terminal.ts';
import type { PassEvent } from '../sync/events.ts';
import { type Load, loadOf } from '../sync/planning/load/load.ts';
import { stretchedCrons } from '../sync/planning/stretch.ts';
import { Daemon } from './daemon.ts';
import { housekeepDaily } from './housekeeping.ts';
import type { Metrics } from './http/metrics.ts';
import { finishWork } from './stop.ts';
import { Pacer } from './sweeps/pacer.ts';
import { watchFit } from './watches/budget-fit.ts';
import { FirstCopyWatch } from './watches/first-copy.ts';
import { exitStuck, orExitStuck } from './watches/last-resort.ts';
import { watchMirrorFile } from './watches/replaced-file.ts';
import { waitUntilStuck } from './watches/stuck.ts';
import { deliverChanges } from './webhook/deliver.ts';
import { postByHttp } from './webhook/post.ts';
import type { Post } from './webhook/send.ts';

export interface ServeOptions {
  readonly metrics: Metrics;
  /**
   * Receives the cost of the schedules each time this process begins to serve, before its first request, and
   * after the first copy of a new mirror.
   */
  readonly onLoad: (load: Load) => void;
  /** Receives why the database does not let the daemon work, and null once it does. */
  readonly onFailure: (why: string | null) => void;
}

/** Runs the daemon, and everything beside it, until it is stopped or loses the lease. */
export async function serve(
  io: Io,
  session: Session,
  { mirror, signal }: Claim,
  { metrics, onLoad, onFailure }: ServeOptions,
): Promise<void> {
  const { config, clock, log, names, access, client } = session;
  const { budget, goneAfterMs, webhook } = config;
  const readCrons = () => stretchedCrons(mirror, config, budget);
  const readLoad = async (): Promise<Load> =>
    loadOf(mirror, await readCrons(), { budget, readPages: config.readPages }, clock.now());
  const load = await orExitStuck(session, readLoad);
  onLoad(load);
  log.info({ database: mirror.name, pid: process.pid }, 'started');
  const firstCopy = await FirstCopyWatch.begin({ mirror, log, clock, readLoad, onLoad });
  const onEvent = (event: PassEvent): void => {
    names.after(event);
    logPassEvent(event, log, 'debug');
    metrics.passEvent(event);
    void firstCopy.after(event);
  };
  const pacer = new Pacer({ mirror, clock, budget, timezone: config.reportTimezone });
  const daemon = new Daemon({
    client,
    mirror,
    clock,
    goneAfterMs,
    log,
    readCrons,
    budget,
    pacer,
    readPages: config.readPages,
    access,
    onEvent,
    onFailure,
  });
  if (config.readPages?.stretches !== true) await mirror.saveCoverDays(1);
  const stopping = new AbortController();
  const cutDelivery = new AbortController();
  let delivering: Promise<void> | undefined;
  const workEnded = new AbortController();
  const replaced = watchMirrorFile(session, workEnded.signal);
  try {
    const end = AbortSignal.any([signal, replaced]);
    const beside = { clock, log, signal: AbortSignal.any([end, stopping.signal]) };
    void watchFit({ readLoad, ...beside }, load);
    void waitUntilStuck(daemon, beside).then((isStuck) => isStuck && exitStuck(session));
    void housekeepDaily(mirror, session.configured, beside);
    const post = postOf(session, cutDelivery.signal);
    if (webhook !== null) delivering = deliverChanges({ mirror, post, webhook, ...beside });
    await daemon.run(end);
    if (!io.signal.aborted) throw end.reason;
    log.info('stopping after the current page');
  } finally {
    stopping.abort();
    const work = Promise.all([daemon.stop(), delivering]);
    if (!(await finishWork(clock, { work, cutDelivery }))) daemon.abandon();
    workEnded.abort();
  }
}

/** Sends a webhook's request as this program, by the proxies of the configuration. */
function postOf({ config, userAgent }: Session, cut: AbortSignal): Post {
  return (url, headers, body) =>
    postByHttp(url, { ...headers, 'user-agent': userAgent }, body, cut, config.network.proxyEnv);
}
