import { hostname } from 'node:os';
import { type Config, readConfig, readEnvironment } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import { isMirrorError } from '../core/errors.ts';
import { type Log, createLog } from '../log.ts';
import { type Client, createClient } from '../service/client.ts';
import { type GateEvent, createGate } from '../service/gate.ts';
import { connect } from '../service/http.ts';
import { openDatabase } from '../store/database.ts';
import type { Database } from '../store/sql.ts';
import { type Lease, acquireLease } from '../store/leases.ts';
import { ledgerOf } from '../store/ledger.ts';
import { type Store, openStore } from '../store/store.ts';
import { type Io, usesColour } from './io.ts';
import { isAlive, systemClock } from './machine.ts';

const HEARTBEAT_MS = 10_000;
/** A person waits out the first two pauses after 429s (5 s, 30 s), but not a service that asks for hours. */
const PATIENCE_MS = 120_000;

/** A mirror and the way to its service, opened for one command. */
export interface Session {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly database: Database;
  readonly client: Client;
  /** Claims the mirror for writing; the claim is renewed until the session closes. `signal` is aborted when it is lost. */
  claim(command: string): Promise<{ store: Store; signal: AbortSignal }>;
  close(): Promise<void>;
}

export interface SessionOptions {
  /** Where log lines go; they are written above a progress display. */
  readonly writeLog?: (line: string) => void;
  readonly onGateEvent?: (event: GateEvent) => void;
}

/**
 * Opens everything that a command needs which talks to the service. Whoever runs a command wants a refused key tried again.
 * What is acquired is released in reverse order.
 */
export async function openSession(io: Io, options: SessionOptions = {}): Promise<Session> {
  const config = readConfig(readEnvironment(io.env, io.cwd), io.cwd, { service: true });
  const clock = systemClock();
  const key = config.key ?? '';
  const log = commandLog(io, config, options.writeLog);
  const releases: (() => unknown)[] = [];
  const database = await openDatabase(config.databaseUrl);
  releases.push(() => database.close());
  const ledger = ledgerOf(database);
  await ledger.allowKey();
  const http = connect(config.apiUrl ?? '', () => key);
  releases.push(() => http.close());
  const gate = createGate({
    ledger,
    clock,
    requestsPerSecond: config.requestsPerSecond,
    requestsPerDay: config.requestsPerDay,
    requestsReserved: config.requestsReserved,
    key: () => key,
    patienceMs: PATIENCE_MS,
    onEvent: (event) => {
      logGateEvent(log, event);
      options.onGateEvent?.(event);
    },
  });
  const client = createClient({ http, gate, pageSize: config.pageSize, storePublicPermalink: config.storePublicPermalink });

  return {
    config,
    clock,
    log,
    database,
    client,
    async claim(command) {
      const lost = new AbortController();
      const lease = await acquireLease(database, { host: hostname(), pid: process.pid, command, now: clock.now, isAlive });
      releases.push(() => lease.release());
      const beat = setInterval(() => void renew(lease, database, lost), HEARTBEAT_MS);
      releases.push(() => clearInterval(beat));
      return { store: openStore(database, lease), signal: AbortSignal.any([io.signal, lost.signal]) };
    },
    async close() {
      for (const release of releases.splice(0).toReversed()) await release();
    },
  };
}

async function renew(lease: Lease, database: Database, lost: AbortController): Promise<void> {
  try {
    await lease.renew(database);
  } catch (error) {
    // A database that is busy for a moment is no lost lease: the next beat, or the next page, will tell.
    if (isMirrorError(error, 'LEASE_LOST')) lost.abort(error);
  }
}

/** A command's log: to stderr, in words on a terminal, JSON otherwise. */
function commandLog(io: Io, config: Pick<Config, 'logLevel' | 'key'>, write?: (line: string) => void): Log {
  return createLog({
    level: config.logLevel,
    key: config.key,
    write: write ?? ((line) => io.stderr.write(line)),
    pretty: io.stderr.isTTY === true,
    colour: usesColour(io.stderr),
  });
}

function logGateEvent(log: Log, event: GateEvent): void {
  if (event.kind === 'retry')
    log.warn({ cause: event.cause, failure: event.failure, waitMs: Math.round(event.waitMs) }, 'request failed, trying again');
  else if (event.kind === 'opened') log.info('the service answers again, the pause is over');
  else if (event.kind === 'key-refused') log.error({ cause: event.cause }, 'the service refused the API key');
  else if (event.kind === 'breaker')
    log.error({ cause: event.cause, until: event.until }, 'ALERT: several 429s in a row, the breaker is open');
  else if (event.kind === 'paused')
    log.warn({ cause: event.cause, until: event.until }, 'the service asks to slow down, pausing');
}
