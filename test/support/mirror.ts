import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Budget } from '../../src/core/budget.ts';
import { keyFingerprint } from '../../src/core/secrets.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { StoredBookmark } from '../../src/mirror/bookmarks/bookmarks.ts';
import { acquireLease, type Lease } from '../../src/mirror/lease.ts';
import { openWriter, type Writer } from '../../src/mirror/mirror.ts';
import type { PassSpec } from '../../src/mirror/passes/passes.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { type Client, createClient } from '../../src/service/client.ts';
import type { GateEvent } from '../../src/service/gate/events.ts';
import { Gate, type GateOptions } from '../../src/service/gate/gate.ts';
import { createHttp, type Http } from '../../src/service/http.ts';
import type { PassDeps } from '../../src/sync/deps.ts';
import type { PassEvent } from '../../src/sync/events.ts';
import { readBookmark, type Reading, type ReadingOptions } from '../../src/sync/pages/bookmark.ts';
import { type PassReport, runPass } from '../../src/sync/pass.ts';
import { accountCheck } from './account.ts';
import { TestClock } from './clock.ts';
import { heldDatabase } from './held-database.ts';
import { atEnd } from './lasting.ts';
import { memoryHttp } from './memory-http.ts';
import { passSpec } from './pass-spec.ts';
import { newPostgresDatabase, ON_SQLITE, urlOf } from './provider.ts';
import { SCRATCH } from './scratch.ts';

export const KEY = 'sandbox-key';

/** The default of GONE_AFTER (.env.example). */
export const GONE_AFTER_MS = 10 * 60_000;

/** A folder that is deleted after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(SCRATCH, 'inbox-mirror-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A place without a mirror: a path, or an address on PostgreSQL. */
export async function newPlace(): Promise<string> {
  return ON_SQLITE ? join(temporaryFolder(), 'mirror.db') : await newPostgresDatabase();
}

/** Opens the mirror at `path`, by default a new one. The database is real. */
export async function temporaryDatabase(path?: string): Promise<Database> {
  const database = await openDatabase(urlOf(path ?? (await newPlace())));
  atEnd(() => database.close());
  return database;
}

/** A sandbox and the way to it. */
export interface TestService {
  readonly sandbox: Sandbox;
  readonly url: string;
  readonly http: Http;
}

/** A sandbox on a real socket that uses the test clock. */
async function listeningService(options: Partial<SandboxOptions>, clock: TestClock): Promise<TestService> {
  const sandbox = createSandbox({ rate: 0, perDay: 0, now: clock.now, key: KEY, ...options });
  const { url, close } = await sandbox.listen();
  atEnd(() => close());
  const http = createHttp(url, () => KEY);
  atEnd(() => http.close());
  return { sandbox, url, http };
}

/** A sandbox without a socket, for properties with hundreds of requests. */
export function memoryService(options: Partial<SandboxOptions>, clock: TestClock): TestService {
  const sandbox = createSandbox({ rate: 0, perDay: 0, now: clock.now, key: KEY, ...options });
  return { sandbox, url: 'http://service.example/v1', http: memoryHttp(sandbox, () => KEY) };
}

export interface TestMirror {
  readonly clock: TestClock;
  readonly sandbox: Sandbox;
  readonly database: Database;
  readonly lease: Lease;
  readonly writer: Writer;
  readonly gate: Gate;
  readonly client: Client;
  readonly gateEvents: GateEvent[];
  readonly events: PassEvent[];
  /** Runs one pass over all lists, or over those of `spec`. */
  sync(spec?: Partial<PassSpec>, signal?: AbortSignal): Promise<PassReport>;
  /** Reads a page of conversations by its bookmark, as the daemon does. */
  readPage(bookmark: StoredBookmark, how?: ReadingOptions): Promise<Reading>;
}

export interface MirrorOptions {
  readonly sandbox?: Partial<SandboxOptions>;
  /** By default, a sandbox of its own on a socket. */
  readonly service?: TestService;
  readonly gate?: Partial<GateOptions>;
  readonly budget?: Partial<Budget>;
  readonly path?: string;
  /** A mirror that is open already, instead of `path`. */
  readonly database?: Database;
  readonly pageSize?: number;
  readonly clock?: TestClock;
  readonly storePublicPermalink?: boolean;
  /** GONE_AFTER; by default that of .env.example. */
  readonly goneAfterMs?: number;
  /** INBOX_API_URL as the check of the account sees it; by default the sandbox's. */
  readonly address?: () => string;
  readonly wrapHttp?: (http: Http) => Http;
  /** False: without disk syncs, which only a power cut needs. */
  readonly durable?: boolean;
}

/** A mirror of a sandbox. All parts are real except the clock. */
export async function mirrorOf(options: MirrorOptions = {}): Promise<TestMirror> {
  const clock = options.clock ?? new TestClock();
  const {
    sandbox,
    url,
    http: plain,
  } = options.service ?? (await listeningService(options.sandbox ?? {}, clock));
  const opened = options.database ?? (await temporaryDatabase(options.path));
  if (options.durable === false && opened.dialect.provider === 'sqlite')
    await opened.execute('PRAGMA synchronous = OFF');
  const database = heldDatabase(clock, opened);
  const lease = await acquireLease(database, {
    host: clock.boot().host,
    pid: process.pid,
    command: 'test',
    now: clock.now,
    isAlive: () => false,
  }).catch(async (error: unknown) => {
    // As the program does: a refused process keeps no connection, which would hold the file's locks.
    await database.close();
    throw error;
  });
  const writer = openWriter(database, lease);
  const gateEvents: GateEvent[] = [];
  const events: PassEvent[] = [];
  const held: Http = { get: (path, query) => clock.hold(() => plain.get(path, query)), close: plain.close };
  const http = options.wrapHttp?.(held) ?? held;
  const budget = { perSecond: 1000, perDay: 1_000_000, reserved: 0, ...options.budget };
  const gate = new Gate({
    ledger: writer.ledger,
    clock,
    budget,
    access: () => ({ address: url, fingerprint: keyFingerprint(KEY) }),
    onEvent: (event) => gateEvents.push(event),
    random: () => 0.5,
    patienceMs: Number.POSITIVE_INFINITY,
    ...options.gate,
  });
  const client = createClient({
    http,
    gate,
    pageSize: options.pageSize ?? 100,
    storePublicPermalink: options.storePublicPermalink ?? false,
  });
  const account = accountCheck({ mirror: writer, clock }, options.address ?? (() => url));
  const sweepDeps = (signal: AbortSignal): PassDeps => ({
    client,
    budget: { ...budget, pageSize: options.pageSize ?? 100 },
    mirror: writer,
    account,
    clock,
    goneAfterMs: options.goneAfterMs ?? GONE_AFTER_MS,
    onEvent: (event) => events.push(event),
    signal,
  });
  return {
    clock,
    sandbox,
    database,
    lease,
    writer,
    gate,
    client,
    gateEvents,
    events,
    sync: (spec = {}, signal = new AbortController().signal) => runPass(sweepDeps(signal), passSpec(spec)),
    readPage: (bookmark, how) => readBookmark(sweepDeps(new AbortController().signal), bookmark, how),
  };
}
