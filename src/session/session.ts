import type { Clock } from '../core/clock.ts';
import { PATIENCE_MS } from '../core/gate-state.ts';
import type { Database } from '../database/database.ts';
import { openDatabase } from '../database/open.ts';
import { ledgerOf } from '../mirror/gate/ledger.ts';
import { acquireLease } from '../mirror/lease.ts';
import { keepReport } from '../mirror/report.ts';
import { type Client, createClient } from '../service/client.ts';
import { createGate, type Ended, type GateEvent } from '../service/gate/gate.ts';
import { connect } from '../service/http.ts';
import { type Claim, claimantOf, claimOf } from './claim.ts';
import { sharedClock, systemClock } from './clock.ts';
import { type Config, readConfig } from './config/config.ts';
import { readEnvironment } from './config/environment.ts';
import { rereadKey } from './config/secrets.ts';
import { type Keys, keysOf } from './keys.ts';
import { createLog, type Log } from './log.ts';
import { type Io, usesColour, wrapped } from './terminal.ts';

/** A mirror and the way to its service, opened for one command. */
export interface Session {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly keys: Keys;
  readonly database: Database;
  readonly client: Client;
  /**
   * Claims the mirror for writing; the claim is renewed until it is released, or the session closes. `signal` is aborted when it is lost,
   * or the person wants to stop.
   * @throws MirrorError `LEASE_HELD`
   */
  claim(command: string): Promise<Claim>;
  /** Has something released when the session closes, before all that was acquired earlier. */
  defer(release: () => unknown): void;
  close(): Promise<void>;
}

export interface SessionOptions {
  /** Where log lines go; they are written above a progress display. */
  readonly writeLog?: (line: string) => void;
  readonly onGateEvent?: (event: GateEvent) => void;
  readonly onEnded?: (ended: Ended) => void;
  /** Started by a service manager: a refused key stays refused, and that a request is tried again is no news. */
  readonly unattended?: boolean;
}

/** So often the database server's clock is looked at. */
const CLOCK_LOOK_MS = 60_000;

/** What serves endpoints and signals must not stand still for long. */
const UNATTENDED_BUSY_TIMEOUT_MS = 2000;

/**
 * Opens everything that a command needs which talks to the service. Whoever runs a command wants a refused key tried again.
 * What is acquired is released in reverse order.
 */
export async function openSession(io: Io, options: SessionOptions = {}): Promise<Session> {
  const environment = readEnvironment(io.env, io.cwd);
  const config = readConfig(environment, io.cwd, { service: true });
  const keys = keysOf(config, () => rereadKey(environment, io.cwd));
  const log = commandLog(io, config, keys, options.writeLog);
  const releases: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const release of releases.splice(0).toReversed()) await release();
  };
  const database = await openDatabase(
    config.databaseUrl,
    options.unattended ? UNATTENDED_BUSY_TIMEOUT_MS : undefined,
  );
  releases.push(() => database.close());
  const ledger = ledgerOf(database);
  const clock = await begin().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const http = connect(config.apiUrl ?? '', keys.current);
  releases.push(() => http.close());
  const gate = createGate({
    ledger,
    clock,
    requestsPerSecond: config.requestsPerSecond,
    requestsPerDay: config.requestsPerDay,
    requestsReserved: config.requestsReserved,
    key: keys.current,
    patienceMs: PATIENCE_MS,
    onEvent: (event) => {
      logGateEvent(log, event, options.unattended ? 'debug' : 'warn');
      options.onGateEvent?.(event);
    },
    ...(options.onEnded === undefined ? {} : { onEnded: options.onEnded }),
  });
  const client = createClient({
    http,
    gate,
    pageSize: config.pageSize,
    storePublicPermalink: config.storePublicPermalink,
  });

  return {
    config,
    clock,
    log,
    keys,
    database,
    client,
    async claim(command) {
      const lease = await acquireLease(database, claimantOf(command, clock));
      const claim = claimOf(lease, { database, clock, log }, io.signal);
      releases.push(() => claim.release());
      return claim;
    },
    defer: (release) => void releases.push(release),
    close,
  };

  async function begin(): Promise<Clock> {
    const shared = await sharedClock(database, systemClock());
    // A database that does not answer is told by who needs it.
    const looks = setInterval(() => void shared.look().catch(() => undefined), CLOCK_LOOK_MS);
    releases.push(() => clearInterval(looks));
    await keepReport(database, config, shared.clock.now());
    if (!options.unattended) await ledger.allowKey();
    return shared.clock;
  }
}

/** What no line may hold beside the key. */
function secretsOf({ webhook }: Pick<Config, 'webhook'>): string[] {
  return webhook === null ? [] : [webhook.secret, webhook.secret.replace('whsec_', '')];
}

/** A command's log: to stderr, in words on a terminal, JSON otherwise. */
function commandLog(
  io: Io,
  config: Pick<Config, 'logLevel' | 'webhook'>,
  keys: Keys,
  write?: (line: string) => void,
): Log {
  const put = write ?? ((line: string) => io.stderr.write(line));
  return createLog({
    level: config.logLevel,
    keys: () => [...keys.seen(), ...secretsOf(config)],
    // What a line goes on with stands under its words, not under its time.
    write: (line) => put(wrapped(io.stderr, line, 11)),
    pretty: io.stderr.isTTY === true,
    colour: usesColour(io.stderr),
  });
}

function logGateEvent(log: Log, event: GateEvent, retries: 'debug' | 'warn'): void {
  if (event.kind === 'retry')
    log[retries](
      { cause: event.cause, failure: event.failure, waitMs: Math.round(event.waitMs) },
      'request failed, trying again',
    );
  else if (event.kind === 'opened') log.info('the service answers again, the pause is over');
  else if (event.kind === 'key-refused') log.error({ cause: event.cause }, 'the service refused the API key');
  else if (event.kind === 'breaker')
    log.error(
      { cause: event.cause, until: event.until },
      'ALERT: several 429s in a row, the breaker is open',
    );
  else log.warn({ cause: event.cause, until: event.until }, 'the service asks to slow down, pausing');
}
