import { type Clock, MINUTE, SECOND } from '../core/clock.ts';
import { escapeHidden } from '../core/json.ts';
import { type Access, accessId, keyFingerprint } from '../core/secrets.ts';
import { openDatabase } from '../database/open.ts';
import { type Mirror, mirrorOn } from '../mirror/mirror.ts';
import { type Client, createClient } from '../service/client.ts';
import type { GateEvent, RequestEnd } from '../service/gate/events.ts';
import { Gate } from '../service/gate/gate.ts';
import { BUDGET_PATIENCE_MS } from '../service/gate/reservoir.ts';
import { createHttp } from '../service/http.ts';
import { sqliteFile } from '../query/open.ts';
import { isReadable } from '../query/sqlite/readable.ts';
import type { Claim } from './lease/claim.ts';
import { sharedClock, systemClock } from './clock.ts';
import { type Config, readConfig } from './config/config.ts';
import { readEnvironment } from './config/environment.ts';
import { SECRET_PREFIX } from './config/parsers.ts';
import { rereadKey } from './config/secrets.ts';
import { logGateEvent } from './words/gate-events.ts';
import { createKeys, type Keys } from './key/keys.ts';
import { keyScope } from './key/records.ts';
import { type KeyUse, type KeyUseDeps, openKeyUse, othersWarning } from './key/use.ts';
import { createLog, loadPrettify, type Log } from './log.ts';
import { claimMirror, replaceableDaemon } from './lease/replaceable-daemon.ts';
import { keepViewSettings } from './view-settings.ts';
import { type InboxNames, openInboxNames } from './words/names.ts';
import { harmless, type Io, usesColour, wrapped } from './terminal.ts';

export { damageOf } from '../query/sqlite/whole.ts';
export type { GateEvent, RequestEnd } from '../service/gate/events.ts';

/** The parts that a command needs to call the service and to use the mirror. */
export interface Session {
  /** With the budget that the key's other uses leave. */
  readonly config: Config;
  /** With the budget as configured. */
  readonly configured: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly keys: Keys;
  readonly mirror: Mirror;
  /** The inboxes' names, for progress and log lines. */
  readonly names: InboxNames;
  readonly client: Client;
  readonly keyUse: KeyUse;
  /** The address and the fingerprint of the key in use. */
  readonly access: () => Access;
  /** The holder of the lease that this process may replace (`replaceableDaemon`); null: none. */
  readonly replaceable: string | null;
  /** The `User-Agent` header of every request. */
  readonly userAgent: string;
  /**
   * Claims the mirror for writing. The session renews the lease until the claim is released or the session
   * closes. The claim's signal is aborted when the lease is lost or a person stops the command.
   * @throws MirrorError `LEASE_HELD`
   */
  claim(command: string): Promise<Claim>;
  /** Adds a release that the session runs when it closes. Releases run in reverse order. */
  defer(release: Release): void;
  /** Sends log lines and gate events to the display, until the function that it returns is called. */
  attach(display: Display): () => void;
  close(): Promise<void>;
}

type Release = () => unknown;

/** Shows what a session does. While none is attached, log lines go to stderr. */
export interface Display {
  writeLog(line: string): void;
  gateEvent(event: GateEvent): void;
}

export interface SessionOptions {
  readonly onEnded?: (ended: RequestEnd) => void;
  /** A service manager starts the command: a refused key stays refused, and retries are logged at debug. */
  readonly unattended?: boolean;
  /** The command reads lists, and waits some minutes if the day's budget is spent (`Reservoir`). */
  readonly waitsForBudget?: boolean;
  /** A person asks whether the key is valid now. */
  readonly testsKey?: boolean;
  /** The command opens the HTTP endpoints. */
  readonly endpoints?: boolean;
}

/** The database server's clock is read again after this many ms. */
const CLOCK_POLL_MS = MINUTE;

/** The ledger is read for the use of the key after this many ms. */
const KEY_POLL_MS = MINUTE;

const RECORDS_FAIL = 'cannot use the records of the key, so requests of other mirrors are not counted';

/** An unattended process waits at most this many ms for a file's lock: its endpoints must keep answering. */
const UNATTENDED_BUSY_TIMEOUT_MS = 2 * SECOND;

/** Opens a session for a command's work, and closes it when the work ends or fails. @throws MirrorError */
export async function withSession<Result>(
  io: Io,
  work: (session: Session) => Promise<Result>,
  options: SessionOptions = {},
): Promise<Result> {
  const session = await openSession(io, options);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

/** Opens a session. @throws MirrorError */
export async function openSession(io: Io, options: SessionOptions = {}): Promise<Session> {
  const environment = readEnvironment(io.env, io.cwd);
  const { endpoints = false } = options;
  const configured = readConfig(environment, io.cwd, { service: true, endpoints, own: io.env });
  const keys = createKeys(configured, (inUse) =>
    rereadKey(readEnvironment(io.env, io.cwd), { before: environment, inUse, folder: io.cwd }),
  );
  const { screen, attach } = openScreen(io);
  let names: InboxNames | null = null;
  const inboxName = (id: string): string | null => names?.of(id) ?? null;
  const log = await commandLog(io, configured, keys, { screen, inboxName });
  const releases: Release[] = [];
  const close = async (): Promise<void> => {
    for (const release of releases.splice(0).toReversed()) await release();
  };
  const defer = (release: Release): void => void releases.push(release);
  try {
    const mirror = await openSharedMirror(configured, options);
    defer(() => mirror.close());
    await mirror.ensureId();
    names = await openInboxNames(mirror);
    const clock = await followServerClock(mirror, defer);
    const keyUse = await followKeyUse(
      {
        configured: configured.budget,
        mirror,
        clock,
        machineNow: systemClock().now,
        folder: configured.stateFolder,
        scope: () => keyScope(keyFingerprint(keys.current()), configured.apiUrl),
        onTrouble: (cause) => log.warn({ cause }, RECORDS_FAIL),
      },
      defer,
    );
    const others = keyUse.others();
    if (others.length > 0) log.warn(othersWarning(others));
    const config = { ...configured, budget: keyUse.budget };
    await keepViewSettings({ mirror, clock, log }, configured);
    const userAgent = `inbox-mirror/${io.version}`;
    const access = (): Access => accessOf(config, keys);
    // `allowRefusedKey` clears the refusal that shows such a daemon.
    const replaceable = await replaceableDaemon({ mirror, clock, access: access() });
    await allowRefusedKey(io, { mirror, access: accessId(access()), now: clock.now() }, options);
    const parts = { config, keys, keyUse, mirror, names, clock, log, access, replaceable, userAgent, defer };
    const client = await openClient(parts, screen, options);
    const claim = async (command: string): Promise<Claim> => {
      const claimed = await claimMirror(command, parts, io.signal);
      defer(() => claimed.release());
      return claimed;
    };
    return { ...parts, configured, client, claim, attach, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function accessOf({ apiUrl }: Config, keys: Keys): Access {
  return { address: apiUrl ?? '', fingerprint: keyFingerprint(keys.current()) };
}

/** A person may have made a refused key valid again. A command of cron must not try it at each run. */
async function allowRefusedKey(
  io: Io,
  { mirror: { ledger }, access, now }: { mirror: Mirror; access: string; now: number },
  { unattended = false, testsKey = false }: SessionOptions,
): Promise<void> {
  if (unattended) return;
  if (testsKey || io.stderr.isTTY === true) await ledger.allowKey(access);
  else await ledger.retryKey(access, now);
}

/** @throws MirrorError `USAGE` for a SQLite mirror that this account may not read */
async function openSharedMirror({ databaseUrl }: Config, { unattended }: SessionOptions): Promise<Mirror> {
  const path = sqliteFile(databaseUrl);
  // A missing file is created.
  if (path !== null) isReadable(path);
  const busyTimeoutMs = unattended === true ? UNATTENDED_BUSY_TIMEOUT_MS : undefined;
  return mirrorOn(await openDatabase(databaseUrl, { busyTimeoutMs }));
}

/** The clock that all processes of the mirror share, adjusted once a minute while the session is open. */
async function followServerClock(mirror: Mirror, defer: Session['defer']): Promise<Clock> {
  const { clock, adjust } = await sharedClock(mirror, systemClock());
  // If the database does not answer, the next operation that needs it reports that.
  const polls = setInterval(() => void adjust().catch(() => undefined), CLOCK_POLL_MS);
  defer(() => clearInterval(polls));
  return clock;
}

/** Reads the use of the key, and again once a minute while the session is open. */
async function followKeyUse(deps: KeyUseDeps, defer: Session['defer']): Promise<KeyUse> {
  const use = openKeyUse(deps);
  await use.refresh();
  const polls = setInterval(() => void use.refresh().catch(() => undefined), KEY_POLL_MS);
  defer(() => clearInterval(polls));
  return use;
}

async function openClient(
  {
    config,
    keys,
    keyUse,
    mirror,
    clock,
    log,
    access,
    userAgent,
    defer,
  }: Omit<Session, 'client' | 'claim' | 'attach' | 'close' | 'configured'>,
  screen: Display,
  { unattended = false, waitsForBudget = false, onEnded }: SessionOptions,
): Promise<Client> {
  const http = createHttp(config.apiUrl ?? '', keys.current, { userAgent, network: config.network });
  defer(() => http.close());
  const gate = new Gate({
    ledger: mirror.ledger,
    clock,
    budget: config.budget,
    access,
    ...(waitsForBudget ? { budgetPatienceMs: BUDGET_PATIENCE_MS } : {}),
    onGranted: (request) => keyUse.granted(request),
    onEvent: (event) => {
      logGateEvent(log, event, unattended ? 'debug' : 'warn');
      screen.gateEvent(event);
      // If the database does not answer, the next poll reads it.
      if (event.kind === 'day-full') void keyUse.refresh().catch(() => undefined);
    },
    ...(onEnded === undefined ? {} : { onEnded }),
  });
  const { pageSize } = config.budget;
  const url = config.apiUrl ?? '';
  const wasProven = await mirror.isProvenAddress(url);
  const address = {
    url,
    // A person who runs a command can correct the address at once. A service manager's process keeps trying.
    isProven: unattended && wasProven,
    onProven() {
      // Without the record, the next daemon takes an outage at its start for a wrong address.
      if (!wasProven) void mirror.proveAddress(url).catch(() => undefined);
    },
  };
  const { storePublicPermalink } = config;
  return createClient({ http, gate, pageSize, storePublicPermalink, address });
}

/** The secrets, besides the key, that no log line may contain. */
function secretsOf({ webhook, http }: Pick<Config, 'webhook' | 'http'>): string[] {
  const token = http.token === null ? [] : [http.token];
  if (webhook === null) return token;
  return [...token, webhook.secret, webhook.secret.replace(SECRET_PREFIX, '')];
}

/** Forwards to the attached display. */
function openScreen(io: Io): { screen: Display; attach: Session['attach'] } {
  const plain: Display = { writeLog: (line) => io.stderr.write(line), gateEvent: () => undefined };
  let shown = plain;
  return {
    screen: { writeLog: (line) => shown.writeLog(line), gateEvent: (event) => shown.gateEvent(event) },
    attach(display) {
      shown = display;
      return () => {
        shown = plain;
      };
    },
  };
}

/** A command's log on the screen: sentences on a terminal, otherwise JSON. */
async function commandLog(
  io: Io,
  config: Pick<Config, 'logLevel' | 'webhook' | 'http' | 'reportTimezone'>,
  keys: Keys,
  { screen, inboxName }: { screen: Display; inboxName: (id: string) => string | null },
): Promise<Log> {
  const isPretty = io.stderr.isTTY === true;
  return createLog({
    level: config.logLevel,
    secrets: () => [...keys.seen(), ...secretsOf(config)],
    // The 11 columns of the time: a wrapped line continues below its message.
    write: (line) =>
      screen.writeLog(isPretty ? wrapped(io.stderr, harmless(io.stderr, line), 11) : escapeHidden(line)),
    prettify: isPretty
      ? await loadPrettify({ inboxName, timezone: config.reportTimezone }, usesColour(io.stderr))
      : null,
  });
}
