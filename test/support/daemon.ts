import { onTestFinished } from 'vitest';
import { MINUTE } from '../../src/core/clock.ts';
import { isMirrorError } from '../../src/core/errors.ts';
import type { ListName } from '../../src/core/lists.ts';
import { type Access, accessId, keyFingerprint } from '../../src/core/secrets.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { housekeepDaily } from '../../src/daemon/housekeeping.ts';
import { Pacer } from '../../src/daemon/sweeps/pacer.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { acquireLease } from '../../src/mirror/lease.ts';
import { mirrorOn, openWriter, type Writer } from '../../src/mirror/mirror.ts';
import type { PassSpec } from '../../src/mirror/passes/passes.ts';
import { type MirrorStatus, readStatus } from '../../src/mirror/status.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { createClient } from '../../src/service/client.ts';
import { Gate } from '../../src/service/gate/gate.ts';
import { createHttp } from '../../src/service/http.ts';
import { openKeyUse } from '../../src/session/key/use.ts';
import { keepLease } from '../../src/session/lease/claim.ts';
import { logPassEvent } from '../../src/session/words/pass-events.ts';
import type { PassEvent } from '../../src/sync/events.ts';
import { recordedCrons, stretchedCrons } from '../../src/sync/planning/stretch.ts';
import { promiseOf } from '../../src/sync/planning/freshness.ts';
import { TestClock } from './clock.ts';
import { heldDatabase } from './held-database.ts';
import { KillSwitch } from './kill-switch.ts';
import { testLog } from './log.ts';
import { memoryHttp } from './memory-http.ts';
import { GONE_AFTER_MS, KEY, temporaryDatabase } from './mirror.ts';
import { passSpec } from './pass-spec.ts';
import { ON_SQLITE, urlOf } from './provider.ts';
import { freshMirrorFile } from './template.ts';

/** The defaults of the environment (.env.example). */
export const SCHEDULES: Record<ListName, string> = {
  inboxes: '0 * * * *',
  users: '20 */6 * * *',
  tags: '40 */6 * * *',
  conversations: '*/15 * * * *',
};
export const LIMITS = { pageSize: 100, perSecond: 1, perDay: 5000, reserved: 250 };
const HOST = 'test-host';

export interface HouseOptions {
  readonly clock?: TestClock;
  readonly sandbox?: Partial<SandboxOptions>;
  readonly schedules?: Partial<Record<ListName, string>>;
  readonly timezone?: string;
  /** The lists whose schedules may be stretched; by default none. */
  readonly stretchable?: readonly ListName[];
  readonly limits?: Partial<typeof LIMITS>;
  /** Also how often the lease is renewed and, if it is more than a minute, the pace computed. */
  readonly pollMs?: number;
  /** Single pages are read as well. */
  readonly readPages?: boolean;
  /** A full day of the service lowers the budget, as in the program. By default it does not. */
  readonly lowersBudget?: boolean;
  /** Requests go over a socket. By default they call the sandbox in memory. */
  readonly socket?: boolean;
}

export interface LogLine {
  readonly level: number;
  readonly at: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A sandbox, a mirror, and the daemons that run on it one after another. */
export interface TestHouse {
  readonly clock: TestClock;
  readonly sandbox: Sandbox;
  /** A separate connection, like that of a command. */
  readonly database: Database;
  readonly logged: LogLine[];
  readonly events: PassEvent[];
  /** The key that the next request carries. */
  key: string;
  schedules: Record<ListName, string>;
  timezone: string;
  stretchable: readonly ListName[];
  limits: typeof LIMITS;
  start(): Promise<RunningDaemon>;
  order(spec?: Partial<PassSpec>): Promise<number>;
  status(): Promise<MirrorStatus>;
  /** The lists that are older than their schedules promise, with their age in minutes. */
  late(): Promise<string[]>;
  said(atLeast?: number): LogLine[];
}

export interface RunningDaemon {
  readonly daemon: Daemon;
  readonly writer: Writer;
  readonly database: Database;
  /** Why the database let the last tick fail; null if it did not. */
  readonly failure: () => string | null;
  /** The error that ended `run`, or undefined for a normal end. */
  readonly ended: Promise<unknown>;
  /** Stops the daemon as SIGTERM does. The clock stands still meanwhile. */
  stop(): Promise<void>;
  /** Ends the daemon as SIGKILL does: none of its calls returns any more; its transaction rolls back. */
  readonly killSwitch: KillSwitch;
}

/** Starts a daemon, lets it run for 20 minutes, and then resets every connection for `minutes`. */
export async function intoOutage(house: TestHouse, minutes: number): Promise<RunningDaemon> {
  const running = await house.start();
  await house.clock.sleep(20 * MINUTE);
  house.sandbox.script(() => 'reset');
  await house.clock.sleep(minutes * MINUTE);
  return running;
}

async function listening(sandbox: Sandbox): Promise<string> {
  const { url, close } = await sandbox.listen();
  onTestFinished(close);
  return url;
}

/**
 * All parts are real except the clock, and are put together as in `start`. The service's clock is right,
 * whatever the machine's clock is set to. The test clock stops while a daemon computes.
 */
export async function daemonHouse(options: HouseOptions = {}): Promise<TestHouse> {
  const clock = options.clock ?? new TestClock();
  const begin = clock.now() - clock.passed();
  const path = await freshMirrorFile();
  const sandbox = createSandbox({
    rate: 1,
    perDay: 5000,
    usersPerInbox: 4,
    tagsPerInbox: 5,
    key: KEY,
    now: () => Math.floor(begin + clock.passed()),
    ...options.sandbox,
  });
  const url = options.socket === true ? await listening(sandbox) : 'http://service.example/v1';
  // A test's query sees the mirror at the moment of its call: the clock stops during the query.
  const database = heldDatabase(clock, await temporaryDatabase(path));
  const logged: LogLine[] = [];
  const alive = new Set<number>();
  let pids = 100;

  const access = (): Access => ({ address: url, fingerprint: keyFingerprint(house.key) });
  const house: TestHouse = {
    clock,
    sandbox,
    database,
    logged,
    events: [],
    key: KEY,
    schedules: { ...SCHEDULES, ...options.schedules },
    timezone: options.timezone ?? 'UTC',
    stretchable: options.stretchable ?? [],
    limits: { ...LIMITS, ...options.limits },
    start,
    async order(spec = {}) {
      const whole = passSpec(spec);
      return (await mirrorOn(database).orders.place(whole, clock.now(), accessId(access()))).id;
    },
    status: () => readStatus(database, clock.now()),
    async late() {
      const now = clock.now();
      const { lists, schedules } = await readStatus(database, now);
      const crons = recordedCrons(schedules, house);
      return lists
        .filter(
          ({ list, completeAsOf }) =>
            completeAsOf === null || now - completeAsOf.getTime() > promiseOf(crons[list], completeAsOf, now),
        )
        .map(
          ({ list, inboxId, completeAsOf }) =>
            `${list} ${inboxId}: ${completeAsOf === null ? 'never' : (now - completeAsOf.getTime()) / MINUTE}`,
        );
    },
    said: (atLeast = 30) => logged.filter(({ level }) => level >= atLeast),
  };

  async function start(): Promise<RunningDaemon> {
    const pid = (pids += 1);
    alive.add(pid);
    const opened = await openDatabase(urlOf(path));
    if (ON_SQLITE) await opened.execute('PRAGMA synchronous = OFF');
    const killSwitch = new KillSwitch(clock, () => alive.delete(pid));
    const own = killSwitch.database(opened);
    const lease = await acquireLease(own, {
      host: HOST,
      pid,
      command: 'inbox-mirror start',
      now: clock.now,
      isAlive: (other) => alive.has(other),
    });
    const sleep = killSwitch.sleepSlowly(options.pollMs ?? MINUTE);
    const kept = keepLease(lease, { ...killSwitch.clock(), sleep });
    const writer = openWriter(own, lease);
    const use = openKeyUse({
      configured: house.limits,
      mirror: mirrorOn(own),
      clock: killSwitch.clock(),
      machineNow: clock.now,
      folder: null,
      scope: () => null,
      onTrouble: () => undefined,
    });
    await use.refresh();
    const budget = options.lowersBudget === true ? use.budget : house.limits;
    const { log } = testLog('debug', {
      secrets: () => [house.key],
      write: (line) => logged.push({ ...(JSON.parse(line) as LogLine), at: clock.now() }),
    });
    const http =
      options.socket === true ? createHttp(url, () => house.key) : memoryHttp(sandbox, () => house.key);
    onTestFinished(http.close);
    const client = killSwitch.client(
      createClient({
        http: killSwitch.http({
          get: (...request) => clock.hold(() => http.get(...request)),
          close: http.close,
        }),
        gate: new Gate({
          ledger: writer.ledger,
          clock: killSwitch.gateClock(),
          access,
          random: () => 0.5,
          budget,
          onEvent: ({ kind }) => kind === 'day-full' && void use.refresh().catch(() => undefined),
        }),
        pageSize: house.limits.pageSize,
        storePublicPermalink: false,
      }),
    );
    let failure: string | null = null;
    const daemon = new Daemon({
      client,
      mirror: writer,
      clock: killSwitch.daemonClock(),
      goneAfterMs: GONE_AFTER_MS,
      log,
      readCrons: () => stretchedCrons(writer, house, budget),
      budget,
      pacer: new Pacer({
        mirror: writer,
        clock: killSwitch.pacerClock(),
        budget,
        timezone: house.timezone,
        readEveryMs: Math.max(MINUTE, options.pollMs ?? 0),
      }),
      readPages: options.readPages === true ? { stretches: true } : null,
      access,
      onEvent(event) {
        killSwitch.onEvent(event);
        house.events.push(event);
        logPassEvent(event, log, 'debug');
      },
      onFailure: (why) => (failure = why),
      pollMs: options.pollMs ?? MINUTE,
    });
    const stopped = new AbortController();
    const signal = AbortSignal.any([stopped.signal, kept.lost]);
    void housekeepDaily(
      writer,
      { budget, reportTimezone: 'UTC' },
      { clock: killSwitch.clock(), log, signal },
    );
    const ended = daemon.run(signal).then(
      () => (kept.lost.aborted ? (kept.lost.reason as unknown) : undefined),
      (error: unknown) => error,
    );
    let over = false;
    const end = async (): Promise<void> => {
      stopped.abort();
      const error = await ended;
      await daemon.stop();
      kept.stop();
      await lease.release();
      alive.delete(pid);
      await own.close();
      if (error !== undefined && !isMirrorError(error, 'LEASE_LOST')) throw error;
    };
    const stop = async (): Promise<void> => {
      if (over || killSwitch.dead) return;
      over = true;
      // A stop takes a few real milliseconds. Unheld, the clock would jump ten seconds at a time through lease renewals.
      await clock.hold(end);
    };
    onTestFinished(stop);
    return { daemon, writer, database: own, failure: () => failure, ended, stop, killSwitch };
  }

  return house;
}
