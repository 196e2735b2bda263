import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Budget } from '../../src/core/budget.ts';
import { DAY, HOUR, SECOND } from '../../src/core/clock.ts';
import type { ListName } from '../../src/core/lists.ts';
import { type Access, keyFingerprint } from '../../src/core/secrets.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { Pacer } from '../../src/daemon/sweeps/pacer.ts';
import { openDatabase } from '../../src/database/open.ts';
import { acquireLease } from '../../src/mirror/lease.ts';
import { openWriter, type Writer } from '../../src/mirror/mirror.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { createClient } from '../../src/service/client.ts';
import { Gate } from '../../src/service/gate/gate.ts';
import type { Http } from '../../src/service/http.ts';
import { createLog } from '../../src/session/log.ts';
import { stretchedCrons } from '../../src/sync/planning/stretch.ts';
import { TestClock } from '../../test/support/clock.ts';
import { KillSwitch } from '../../test/support/kill-switch.ts';
import { memoryHttp } from '../../test/support/memory-http.ts';
import { type Account, START } from './account.ts';
import { People } from './people.ts';
import { type Measured, type Outcome, Staleness } from './staleness.ts';
import type { Trace } from './trace.ts';

const KEY = 'sandbox-key';
const ACCESS: Access = { address: 'http://sandbox/v1', fingerprint: keyFingerprint(KEY) };
export const BUDGET: Budget = { pageSize: 100, perSecond: 1, perDay: 5000, reserved: 250 };
/**
 * Milliseconds between two ticks of the daemon. It reads at most about one page a tick here, because the
 * clock jumps while a page is applied: with 10 s, the busy hours lack requests.
 */
const POLL_MS = 3 * SECOND;
/** The mirror may need this many days after the measured ones to read the last of their changes. */
export const DAYS_AFTER = 2;

export interface RunOptions {
  readonly account: Account;
  readonly trace: Trace;
  readonly schedules: Readonly<Record<ListName, string>>;
  readonly readPages: boolean;
  readonly measured: Measured;
  readonly seed: number;
}

/** Runs the daemon from {@link START} on an account that people work in. */
export async function measure(options: RunOptions): Promise<Outcome> {
  const { account, trace, schedules, readPages, measured, seed } = options;
  const clock = new TestClock(START);
  const sandbox = createSandbox({
    inboxes: account.inboxes,
    conversations: account.conversations / account.inboxes,
    sharedShare: 0,
    key: KEY,
    now: clock.now,
  });
  const people = new People(sandbox, trace, seed);
  const staleness = new Staleness(measured, account.conversations);
  const catchUp = (): void =>
    people.upTo(clock.now(), (row, { at, kind }) => staleness.changed(row, at, kind === 'open'));
  const onRead = (inboxId: string | null, ids: readonly string[], now: number): void => {
    for (const id of ids) staleness.read(`${inboxId}/${id}`, now);
  };
  const http = memoryHttp(
    {
      handle: (request) => {
        catchUp();
        return sandbox.handle(request);
      },
    },
    () => KEY,
  );
  const daemon = await startDaemon({ clock, http, schedules, readPages, onRead });
  await clock.sleep(measured.until - START);
  for (let hours = 0; hours < DAYS_AFTER * 24 && staleness.unread > 0; hours += 1) await clock.sleep(HOUR);
  await clock.hold(daemon.stop);
  const { delays, unread } = staleness;
  const violations = violationsIn(sandbox);
  return {
    delays,
    unread,
    currentShare: staleness.currentShare(),
    byHour: hourly(sandbox, measured),
    violations,
  };
}

function hourly({ arrivals }: Sandbox, { from, until }: Measured): number[] {
  const counts = Array.from({ length: (until - from) / HOUR }, () => 0);
  for (const { at } of arrivals) if (at >= from && at < until) counts[Math.floor((at - from) / HOUR)]! += 1;
  return counts;
}

/** Counts the requests that broke a limit, in the whole run. */
function violationsIn({ arrivals }: Sandbox): { refused: number; overCap: number } {
  const overCap = arrivals.filter(({ at }, nth) => {
    const before = arrivals[nth - BUDGET.perDay];
    return before !== undefined && at - before.at < DAY;
  });
  return { refused: arrivals.filter(({ status }) => status === 429).length, overCap: overCap.length };
}

interface DaemonOptions {
  readonly clock: TestClock;
  readonly http: Http;
  readonly schedules: Readonly<Record<ListName, string>>;
  readonly readPages: boolean;
  /** Rows of conversations are about to be written. */
  readonly onRead: OnRead;
}

type OnRead = (inboxId: string | null, ids: readonly string[], now: number) => void;

/** The writer, which tells `onRead` of each page of conversations. */
function observed(writer: Writer, onRead: OnRead): Writer {
  const { bookmarks } = writer;
  const apply = bookmarks.apply.bind(bookmarks);
  bookmarks.apply = async (bookmark, page, now) => {
    onRead(
      bookmark.inboxId,
      page.items.map(({ id }) => id),
      now,
    );
    return await apply(bookmark, page, now);
  };
  return {
    ...writer,
    async applyPage(sweep, page, now) {
      if (sweep.list === 'conversations')
        onRead(
          sweep.inboxId,
          page.items.map(({ id }) => id),
          now,
        );
      return await writer.applyPage(sweep, page, now);
    },
  };
}

/** The daemon with the real planner, pacer, gate and mirror, on a new SQLite file. */
async function startDaemon({ clock, http, schedules, readPages, onRead }: DaemonOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-freshness-'));
  const opened = await openDatabase(`file:${join(folder, 'mirror.db')}`);
  await opened.execute('PRAGMA synchronous = OFF');
  const killSwitch = new KillSwitch(clock, () => undefined);
  const database = killSwitch.database(opened);
  const claimant = { host: 'bench', pid: process.pid, command: 'inbox-mirror start', now: clock.now };
  const lease = await acquireLease(database, { ...claimant, isAlive: () => true });
  const mirror = observed(openWriter(database, lease), onRead);
  const gate = new Gate({
    ledger: mirror.ledger,
    clock: killSwitch.gateClock(),
    access: () => ACCESS,
    budget: BUDGET,
  });
  const client = killSwitch.client(
    createClient({
      http: killSwitch.http({ ...http, get: (...request) => clock.hold(() => http.get(...request)) }),
      gate,
      pageSize: BUDGET.pageSize,
      storePublicPermalink: false,
    }),
  );
  const daemon = new Daemon({
    client,
    mirror,
    clock: killSwitch.clock(),
    goneAfterMs: 600_000,
    log: createLog({
      level: 'fatal',
      secrets: () => [],
      write: () => undefined,
      prettify: null,
    }),
    readCrons: () =>
      stretchedCrons(mirror, { schedules, timezone: 'UTC', stretchable: ['users', 'tags'] }, BUDGET),
    budget: BUDGET,
    pacer: new Pacer({ mirror, clock: killSwitch.pacerClock(), budget: BUDGET, timezone: 'UTC' }),
    readPages: readPages ? { stretches: true } : null,
    access: () => ACCESS,
    onEvent: (event) => killSwitch.onEvent(event),
    onFailure: () => undefined,
    pollMs: POLL_MS,
  });
  const stopping = new AbortController();
  const ended = daemon.run(stopping.signal);
  return {
    stop: async (): Promise<void> => {
      stopping.abort();
      await ended;
      await daemon.stop();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
