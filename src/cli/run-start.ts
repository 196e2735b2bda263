import { MirrorError, isMirrorError } from '../core/errors.ts';
import { keyFingerprint } from '../core/secrets.ts';
import { duration } from '../core/words.ts';
import { Daemon } from '../daemon/daemon.ts';
import { logPassEvent } from '../daemon/event-log.ts';
import { watchFit } from '../daemon/fit.ts';
import { keepHouse } from '../daemon/house.ts';
import { type Metrics, createMetrics } from '../daemon/metrics.ts';
import { DAEMON_COMMAND } from '../daemon/status-judge.ts';
import { STUCK_MS, becomesStuck } from '../daemon/stuck.ts';
import { postByHttp } from '../daemon/webhook-post.ts';
import { type Post, deliverChanges } from '../daemon/webhooks.ts';
import { isPostgres } from '../store/database.ts';
import { readLease } from '../store/leases.ts';
import { fileIdentity } from '../store/size.ts';
import { sqlitePath } from '../store/sqlite-path.ts';
import type { PassEvent } from '../sync/events.ts';
import { cronsOf } from '../sync/freshness.ts';
import { EXIT } from './exit-codes.ts';
import type { Io } from './io.ts';
import { systemClock } from './machine.ts';
import { printPlan } from './plan.ts';
import { serveEndpoints } from './serve-endpoints.ts';
import { type Claim, type Session, openSession } from './session.ts';

/** How long the page in hand may take when the daemon is to stop. */
const GRACE_MS = 5000;
/** And a webhook's delivery. */
const DELIVERY_GRACE_MS = 3000;
/** A database that hangs can neither be told that the lease is free nor be closed: the lease runs out by itself. */
const LONGEST_STOP_MS = 9000;
const STANDBY_POLL_MS = 1000;
const A_BUG = 'unexpected error: this is a bug; the daemon ends';
/** A changed key file is seen so soon, without a signal. */
const KEY_POLL_MS = 10_000;
const FILE_POLL_MS = 1000;

/** Runs the daemon until it is stopped. What is acquired is released in reverse order. @returns the exit code */
export async function runStart(io: Io, version: string): Promise<number> {
  const metrics = createMetrics({ version, clock: systemClock() });
  const session = await openSession(io, { onEnded: metrics.requestEnded, unattended: true });
  try {
    logUncaught(session);
    for (const sentence of session.config.misspelt) session.log.warn(sentence);
    endInTime(io, session);
    const state = { active: false };
    const endpoints = await serveEndpoints(session, {
      metrics,
      version,
      role: () => (state.active ? 'active' : 'standby'),
    });
    watchKey(io, session);
    await serveUntilStopped(io, session, metrics, {
      begin: async (hasStoodBy) => {
        state.active = true;
        await endpoints.listen(hasStoodBy);
      },
      end: () => {
        state.active = false;
      },
    });
    session.log.info('stopped');
    return EXIT.done;
  } catch (error) {
    // What is known is told as a sentence, as every command does.
    if (isMirrorError(error)) throw error;
    session.log.fatal({ err: error }, A_BUG);
    return EXIT.unexpected;
  } finally {
    await session.close();
  }
}

interface Duty {
  begin(hasStoodBy: boolean): Promise<void>;
  end(): void;
}

/** Holds the lease and serves, or stands by until it can; again and again, should another process take the lease over. */
async function serveUntilStopped(io: Io, session: Session, metrics: Metrics, duty: Duty): Promise<void> {
  while (!io.signal.aborted) {
    const stood = await standBy(io.signal, session);
    if (stood === null) return;
    const { claim, waited } = stood;
    try {
      await duty.begin(waited);
      await serve(io, session, claim, metrics);
    } catch (error) {
      if (!isMirrorError(error, 'LEASE_LOST')) throw error;
      session.log.warn('another process has taken the mirror over; this one stands by');
    } finally {
      duty.end();
      await claim.release();
    }
  }
}

/** Waits until the lease is free, saying so once. Null where the daemon is to stop before. */
async function standBy(
  signal: AbortSignal,
  { database, clock, log, claim }: Session,
): Promise<{ claim: Claim; waited: boolean } | null> {
  let failing = false;
  for (let waited = false; !signal.aborted; waited = true) {
    try {
      const claimed = await claim(DAEMON_COMMAND);
      if (waited) log.info('took over the mirror');
      return { claim: claimed, waited };
    } catch (error) {
      if (isMirrorError(error, 'DATABASE')) {
        // A server that is being restarted comes back.
        if (!failing)
          log.error({ cause: error.message }, 'the database cannot be used; trying again every second');
        failing = true;
        await clock.sleep(STANDBY_POLL_MS, signal).catch(() => undefined);
        continue;
      }
      if (!isMirrorError(error, 'LEASE_HELD')) throw error;
      failing = false;
    }
    if (!waited) {
      const holder = await readLease(database).catch(() => null);
      const who =
        holder === null
          ? 'another process'
          : `\`${holder.command}\`, process ${holder.pid} on ${holder.host}`;
      log.warn(
        { database: database.name, since: holder?.acquiredAt },
        `${who}, writes to this mirror; standing by, and taking over within 30 s of its end`,
      );
    }
    await clock.sleep(STANDBY_POLL_MS, signal).catch(() => undefined);
  }
  return null;
}

async function serve(io: Io, session: Session, { store, signal }: Claim, metrics: Metrics): Promise<void> {
  const { config, clock, log, keys, client } = session;
  const crons = cronsOf(config.schedules, config.timezone);
  const plan = await printPlan(io.stdout, store, crons, config, clock.now());
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

/**
 * Aborted when the mirror's file is not the one any more that was opened: what is written to it then nobody sees, its ledger neither, and the next
 * command would send requests beside this daemon.
 */
function whenReplaced({ config, defer }: Session): AbortSignal {
  const replaced = new AbortController();
  // A server's tables do not change places behind its back.
  if (isPostgres(config.databaseUrl)) return replaced.signal;
  const path = sqlitePath(config.databaseUrl);
  const opened = fileIdentity(path);
  const look = setInterval(() => {
    if (fileIdentity(path) === opened) return;
    clearInterval(look);
    const message = `The database ${path} was deleted or replaced while the daemon ran. It ends, so that nothing is sent that no ledger knows of; start it again.`;
    replaced.abort(new MirrorError('DATABASE', message));
  }, FILE_POLL_MS);
  defer(() => clearInterval(look));
  return replaced.signal;
}

/** SIGHUP reads the key file again; a file that changes is seen without it. */
function watchKey(io: Io, { keys, log, defer }: Session): void {
  let said = '';
  const reload = (): void => {
    try {
      if (keys.reload()) log.info('the API key is another one now');
      said = '';
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      if (cause !== said) log.error({ cause }, 'the API key cannot be read again; the old one stays in use');
      said = cause;
    }
  };
  const stop = io.onHangup?.(() => {
    log.info('SIGHUP: reading the API key again');
    reload();
  });
  if (stop !== undefined) defer(stop);
  const poll = setInterval(reload, KEY_POLL_MS);
  defer(() => clearInterval(poll));
}

/** Ends the process some time after it was asked to stop, should the database hang. */
function endInTime({ signal }: Io, { log }: Session): void {
  const end = (): void => {
    log.warn('the database does not answer; stopped without it');
    process.exit(EXIT.done);
  };
  signal.addEventListener('abort', () => void setTimeout(end, LONGEST_STOP_MS).unref());
}

/** Only its end frees a daemon whose database hangs: whoever manages it starts it anew, and a stand-by takes over. */
function endStuck({ log }: Session): void {
  log.fatal(
    { cause: `no answer for ${duration(STUCK_MS)}` },
    'the database hangs: the daemon ends with 1, to be started anew',
  );
  process.exit(EXIT.unexpected);
}

/** A bug ends the daemon with its cause in the log; every page that was applied is whole, and a service manager starts it again. */
function logUncaught({ log, defer }: Session): void {
  const end = (error: unknown): void => {
    log.fatal({ err: error }, A_BUG);
    process.exit(EXIT.unexpected);
  };
  process.on('uncaughtException', end);
  defer(() => process.off('uncaughtException', end));
}
