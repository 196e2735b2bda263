import { expect, test } from 'vitest';
import { Bars } from '../../../src/cli/pass/bars.ts';
import { type DisplayDeps, passDisplay } from '../../../src/cli/pass/display.ts';
import { MINUTE } from '../../../src/core/clock.ts';
import { type Followed, followOrder } from '../../../src/library/pass/follow.ts';
import { exitCodeOf } from '../../../src/core/errors.ts';
import { duration } from '../../../src/core/humanize.ts';
import { LIST_NAMES } from '../../../src/core/lists.ts';
import { iso } from '../../../src/database/instants.ts';
import { acquireLease } from '../../../src/mirror/lease.ts';
import { mirrorOn, openWriter } from '../../../src/mirror/mirror.ts';
import type { ListReport, PassEvent } from '../../../src/sync/events.ts';
import { testLog } from '../../support/log.ts';
import type { MirrorOptions, TestMirror } from '../../support/mirror.ts';
import { quickMirror } from '../../support/template.ts';

const SMALL = { conversations: [450, 40], usersPerInbox: 3, tagsPerInbox: 4 };
const SYNC = {
  kind: 'sync',
  lists: LIST_NAMES,
  inboxId: null,
  acceptDeletes: false,
  acceptAccount: false,
  requestedBy: 'inbox-mirror sync',
} as const;
const PER_DAY = 100;

interface Followable {
  readonly mirror: TestMirror;
  readonly id: number;
  readonly events: PassEvent[];
  readonly notes: string[];
  readonly messages: string[];
  /** Follows the order. Each poll calls `onPoll` with the ms so far; a living daemon renews its lease. */
  follow(
    onPoll?: (elapsed: number) => unknown,
    options?: { joined?: boolean; signal?: AbortSignal },
  ): Promise<Followed>;
  daemonDies(): Promise<void>;
  daemonReturns(): Promise<void>;
}

/**
 * A mirror whose lease a daemon on another machine holds, and an order for that daemon. Both have the same
 * clock. `before` prepares the mirror before the order is placed.
 */
async function followable(
  options: MirrorOptions = {},
  before: (mirror: TestMirror) => Promise<unknown> = () => Promise.resolve(),
): Promise<Followable> {
  const mirror = await quickMirror({ sandbox: SMALL, ...options });
  const { database, clock } = mirror;
  await before(mirror);
  await database.execute(`UPDATE leases SET command = 'inbox-mirror start', host = 'elsewhere'`);
  const { id } = await mirrorOn(database).orders.place(SYNC, clock.now());
  const events: PassEvent[] = [];
  const notes: string[] = [];
  const messages: string[] = [];
  let lives = true;
  return {
    mirror,
    id,
    events,
    notes,
    messages,
    async follow(onPoll = () => undefined, { joined = false, signal = new AbortController().signal } = {}) {
      const began = clock.monotonic();
      const note = (text: string): void => {
        if (text !== notes.at(-1)) notes.push(text);
        if (lives) mirror.lease.renew().catch(() => undefined);
        onPoll(clock.monotonic() - began);
      };
      const deps = {
        mirror: mirrorOn(database),
        clock,
        signal,
        budget: { perDay: PER_DAY },
        note,
        onEvent: (event: PassEvent) => events.push(event),
      };
      return await followOrder({ ...deps, print: (text) => messages.push(text) }, { id, joined });
    },
    async daemonDies() {
      lives = false;
      await mirror.lease.release();
    },
    async daemonReturns() {
      const claimant = {
        host: 'elsewhere',
        pid: 1,
        command: 'inbox-mirror start',
        now: clock.now,
        isAlive: () => true,
      };
      const lease = await acquireLease(database, claimant);
      const writer = openWriter(database, lease);
      await writer.passes.end(
        id,
        { state: 'done', error: null, report: { lists: [], stopped: null } },
        clock.now(),
      );
    },
  };
}

async function begin({ mirror: { writer, clock }, id }: Followable): Promise<void> {
  await writer.passes.begin({ ...SYNC, orderId: id }, clock.now());
}

const reportsIn = (events: readonly PassEvent[]): ListReport[] =>
  events.flatMap((event) => (event.kind === 'list-done' ? [event.report] : []));

test('the command reports an order with the events of a pass, read from its sweeps', async () => {
  // At one request a second the command polls between two pages.
  const { mirror, id, events, follow } = await followable({ budget: { perSecond: 1 } });
  const pass = mirror.sync({ orderId: id });
  const followed = await follow();
  const { lists } = await pass;
  expect(followed).toMatchObject({ kind: 'ended', order: { state: 'done' } });
  const byList = (reports: readonly ListReport[]): unknown[] =>
    reports.map((report) => JSON.stringify(report)).sort();
  expect(byList(reportsIn(events)), 'what came of each list').toEqual(byList(lists));
  for (const { key } of lists) {
    const own = events.filter(
      (event) => 'key' in event && event.key.list === key.list && event.key.inboxId === key.inboxId,
    );
    expect(own.slice(0, 2), 'known, then begun').toMatchObject([
      { kind: 'list-known' },
      { kind: 'list-begun', resumedAtPage: 0 },
    ]);
  }
  const pages = events.flatMap((event) =>
    event.kind === 'page' && event.key.list === 'conversations' ? [event.pages] : [],
  );
  expect(pages.length, 'a long list is seen to grow').toBeGreaterThan(3);
});

test('the command reports lists that were complete before it began to follow', async () => {
  const followed = await followable();
  const { mirror, id, events, follow } = followed;
  await mirror.sync({ orderId: id });
  await follow();
  expect(reportsIn(events)).toHaveLength(7);
  const inboxes = events.filter((event) => 'key' in event && event.key.list === 'inboxes');
  expect(inboxes).toMatchObject([
    { kind: 'list-known' },
    { kind: 'list-begun', resumedAtPage: 0 },
    { kind: 'page', pages: 1, items: 2 },
  ]);
});

test('sweeps before the order and scheduled sweeps of a complete list are not its progress', async () => {
  const world = await followable({}, async ({ sync, clock, writer }) => {
    await sync();
    const [inbox] = await writer.inboxes();
    await writer.sweeps.open({ list: 'tags', inboxId: inbox?.id ?? '' }, 'schedule', clock.now());
    clock.advance(MINUTE);
  });
  const { mirror, events, follow } = world;
  const { writer, clock } = mirror;
  const key = { list: 'inboxes', inboxId: null } as const;
  await begin(world);
  await writer.sweeps.complete(await writer.sweeps.open(key, 'manual', clock.now()), clock.now());
  const stop = new AbortController();
  let polls = 0;
  await follow(
    () => {
      polls += 1;
      if (polls === 1) void writer.sweeps.open(key, 'schedule', clock.now());
      if (polls === 3) stop.abort(new Error('seen'));
    },
    { signal: stop.signal },
  );
  expect(events.filter(({ kind }) => kind !== 'list-known')).toMatchObject([
    { kind: 'list-begun', key },
    { kind: 'list-done', report: { key, outcome: 'complete' } },
  ]);
});

test('the command names the order that its order waits behind', async () => {
  const earlier = { ...SYNC, lists: ['tags'], requestedBy: 'inbox-mirror sync tags' } as const;
  const world = await followable({}, ({ database, clock }) =>
    mirrorOn(database).orders.place(earlier, clock.now()),
  );
  const { mirror, notes, follow } = world;
  const stop = new AbortController();
  const at = new Date(mirror.clock.now()).toISOString();
  await follow(() => stop.abort(new Error('seen')), { signal: stop.signal });
  expect(notes).toEqual([`Order 2 waits behind order 1, \`inbox-mirror sync tags\`, ordered ${at}.`]);
});

test('the command reports a short pause of the gate and waits it out', async () => {
  const world = await followable();
  const { mirror, notes, follow } = world;
  const { clock, writer, client } = mirror;
  await begin(world);
  const until = new Date(clock.now() + 30_000);
  await client.listPage({ list: 'inboxes', inboxId: null }, null, { reason: 'manual' });
  await mirror.database.execute(
    `INSERT INTO gate_state (id, strikes, paused_at, paused_until, cause) VALUES (1, 1, $1, $2, '429')
     ON CONFLICT (id) DO UPDATE SET strikes = 1, paused_at = excluded.paused_at, paused_until = excluded.paused_until, cause = excluded.cause`,
    iso(clock.now()),
    iso(until),
  );
  let ended = false;
  const followed = await follow((elapsed) => {
    if (elapsed < 35_000 || ended) return;
    ended = true;
    void writer.passes.end(world.id, { state: 'done', error: null }, clock.now());
  });
  expect(followed.kind).toBe('ended');
  expect(notes).toEqual([`The daemon waits until ${until.toISOString()}: requests are paused (429).`, '']);
});

test.each([
  [
    'an open breaker',
    'GATE_PAUSED',
    'no request is sent after repeated answers of HTTP 429 (429)',
    async ({ mirror: { database, clock } }: Followable) => {
      const at = (ms: number): string => iso(clock.now() + ms);
      await database.execute(
        `INSERT INTO gate_state (id, strikes, paused_at, paused_until, cause) VALUES (1, 3, $1, $2, '429')`,
        at(0),
        at(5 * MINUTE),
      );
    },
  ],
  [
    'an outage',
    'SERVICE_DOWN',
    'the service is out of reach (ECONNREFUSED)',
    async ({ mirror: { writer, clock } }: Followable) => {
      const [since, until] = [new Date(clock.now()), new Date(clock.now() + 5 * MINUTE)];
      await writer.writeOutage({ since, until, cause: 'ECONNREFUSED' });
    },
  ],
  [
    'the spent day budget',
    'BUDGET_SPENT',
    "the day's budget of 100 requests is spent",
    async ({ mirror: { database, clock } }: Followable) => {
      for (let sent = 0; sent < PER_DAY; sent += 1) {
        await database.execute(
          `INSERT INTO requests (sent_at, method, path, reason, status) VALUES ($1, 'GET', '/', 'schedule', 200)`,
          iso(clock.now() - 86_400_000 + 5 * MINUTE - 30_000),
        );
      }
    },
  ],
])('the command leaves the order to the daemon when %s stalls it', async (_what, code, reason, stall) => {
  const world = await followable();
  const { mirror, id, follow } = world;
  await begin(world);
  await stall(world);
  const began = mirror.clock.monotonic();
  const followed = await follow();
  if (followed.kind !== 'left') throw new Error(`it was not left but ${followed.kind}`);
  const until = followed.why.resumeAt ?? new Date(0);
  const left = duration(until.getTime() - mirror.clock.now());
  expect(followed.why).toMatchObject({
    code,
    message: `Order ${id} stays with the daemon, which resumes at ${until.toISOString()}, in ${left}: ${reason}. \`inbox-mirror status\` shows it.`,
  });
  expect(left).toMatch(/^(4|5) min/);
  expect(mirror.clock.monotonic() - began, 'it need not be waited for to be known').toBeLessThan(MINUTE / 2);
  expect(await mirrorOn(mirror.database).orders.read(id)).toMatchObject({ state: 'running' });
});

test('the command leaves an order after two minutes of an outage, however near each retry is', async () => {
  const world = await followable();
  const { mirror, follow } = world;
  const { writer, clock } = mirror;
  await begin(world);
  const since = new Date(clock.now());
  const failAgain = (): Promise<void> =>
    writer.writeOutage({ since, until: new Date(clock.now() + 20_000), cause: 'ECONNREFUSED' });
  await failAgain();
  let elapsed = 0;
  const followed = await follow((now) => {
    elapsed = now;
    void failAgain();
  });
  expect(followed).toMatchObject({ kind: 'left', why: { code: 'SERVICE_DOWN' } });
  expect(elapsed).toBeGreaterThan(95_000);
  expect(elapsed).toBeLessThan(125_000);
});

test('the command reports an order as ended, not stalled, when it ends just after a wait began', async () => {
  const world = await followable();
  const { mirror, id, follow } = world;
  await begin(world);
  await mirror.writer.writeOutage({
    since: new Date(),
    until: new Date(mirror.clock.now() + 10 * MINUTE),
    cause: 'gone',
  });
  const followed = await follow(
    (elapsed) =>
      void (
        elapsed < 1000 && mirror.writer.passes.end(id, { state: 'done', error: null }, mirror.clock.now())
      ),
  );
  expect(followed.kind).toBe('ended');
});

test('the command reports a dead daemon once and leaves the order after another minute', async () => {
  const world = await followable();
  const { mirror, messages, follow, daemonDies } = world;
  await begin(world);
  await daemonDies();
  let elapsed = 0;
  const followed = await follow((now) => (elapsed = now));
  const sentence = 'The daemon has stopped; the order resumes when a daemon starts.';
  expect(messages).toEqual([sentence]);
  expect(followed).toMatchObject({ kind: 'left', why: { code: 'DAEMON_STOPPED', message: sentence } });
  if (followed.kind === 'left') expect(exitCodeOf(followed.why)).toBe(4);
  expect(elapsed).toBeGreaterThan(58_000);
  expect(elapsed).toBeLessThan(61_000);
  expect(await mirrorOn(mirror.database).orders.read(world.id), 'it is not taken back').toMatchObject({
    state: 'running',
  });
});

test('the command keeps following an order when the daemon restarts within a minute', async () => {
  const world = await followable();
  const { follow, daemonDies, daemonReturns } = world;
  await begin(world);
  await daemonDies();
  let returned = false;
  const followed = await follow((elapsed) => {
    if (elapsed < 40_000 || returned) return;
    returned = true;
    void daemonReturns();
  });
  expect(followed).toMatchObject({ kind: 'ended', order: { state: 'done' } });
});

test('the command withdraws an order that no daemon began, 5 s after the daemon has died', async () => {
  const world = await followable();
  const { mirror, id, messages, follow, daemonDies } = world;
  await daemonDies();
  let elapsed = 0;
  expect(await follow((now) => (elapsed = now))).toEqual({ kind: 'not-begun' });
  expect(elapsed).toBeGreaterThan(4000);
  expect(elapsed).toBeLessThan(6000);
  expect(messages).toEqual([]);
  expect(await mirrorOn(mirror.database).orders.read(id)).toMatchObject({
    state: 'abandoned',
    error: expect.stringContaining('withdrawn') as string,
  });
});

test('a command whose order a person cancels ends, and does not do the pass itself', async () => {
  const world = await followable();
  const { mirror, id, follow } = world;
  await mirrorOn(mirror.database).orders.cancel(id, mirror.clock.now());
  expect(await follow()).toMatchObject({
    kind: 'ended',
    order: { state: 'abandoned', startedAt: null, error: 'a person cancelled it' },
  });
});

test('the command does not withdraw an order that another command has placed', async () => {
  const world = await followable();
  const { mirror, id, follow, daemonDies } = world;
  await daemonDies();
  expect(await follow(undefined, { joined: true })).toEqual({ kind: 'not-begun' });
  expect(await mirrorOn(mirror.database).orders.read(id)).toMatchObject({ state: 'open' });
});

test('an order that a daemon has begun cannot be withdrawn', async () => {
  const world = await followable();
  const { mirror, id } = world;
  await begin(world);
  expect(await mirrorOn(mirror.database).orders.withdraw(id, mirror.clock.now())).toBe(false);
  expect(await mirrorOn(mirror.database).orders.read(id)).toMatchObject({
    state: 'running',
    finishedAt: null,
  });
});

test('the command does not withdraw an order that a daemon begins at the last moment', async () => {
  const world = await followable();
  const { follow, daemonDies, mirror, id } = world;
  await daemonDies();
  let begun = false;
  const followed = await follow((elapsed) => {
    if (elapsed < 4000 || begun) return;
    begun = true;
    void mirror.database.execute(
      `UPDATE sync_requests SET state = 'running', started_at = requested_at WHERE id = $1`,
      id,
    );
  });
  expect(followed).toMatchObject({ kind: 'left', why: { code: 'DAEMON_STOPPED' } });
});

test('on Ctrl-C the command reports that the daemon resumes the order, now or after a restart', async () => {
  for (const dies of [false, true]) {
    const world = await followable();
    await begin(world);
    if (dies) await world.daemonDies();
    const stop = new AbortController();
    const followed = await world.follow(() => stop.abort(new Error('SIGINT')), { signal: stop.signal });
    const message = dies
      ? 'The daemon has stopped; the order resumes when a daemon starts.'
      : 'The daemon continues with order 1; `inbox-mirror status` shows it.';
    expect(followed).toMatchObject({ kind: 'left', why: { code: 'STOPPED', message } });
  }
});

const PACE = { budget: { perSecond: 1, perDay: 5000, pageSize: 100 }, sentBefore: 40 };

const displayDeps = (write: (line: string) => void = () => undefined): DisplayDeps => ({
  pace: PACE,
  log: testLog('info', { write }).log,
  names: { of: () => null, after: () => undefined },
  timezone: 'UTC',
  now: () => 0,
});

test('the progress counts each new page as a request, and pages of an earlier run as none', () => {
  const bars = new Bars(PACE, () => null, 0);
  const key = { list: 'conversations', inboxId: '7' } as const;
  const page = (pages: number): void =>
    bars.apply({ kind: 'page', key, pages, items: pages * 100, changed: 0, last: false });
  bars.apply({ kind: 'list-begun', key, resumedAtPage: 3 });
  page(3);
  expect(bars.render(1000, 120)).toContain('3 pages, 300 rows\n0 of 1 list · 0 rows/s · budget 40 of 5,000');
  page(7);
  expect(bars.render(1000, 120)).toContain('400 rows/s · budget 44 of 5,000');
});

test('without bars the display logs a long list about every thirty pages', () => {
  const lines: string[] = [];
  const output = { write: (line: string) => lines.push(line) };
  const display = passDisplay(
    output,
    displayDeps((line) => display.writeLog(line)),
  );
  const key = { list: 'conversations', inboxId: '7' } as const;
  display.event({ kind: 'list-begun', key, resumedAtPage: 0 });
  for (let pages = 7; pages <= 70; pages += 7)
    display.event({ kind: 'page', key, pages, items: pages, changed: 0, last: false });
  expect(lines.map((line) => (JSON.parse(line) as { page: number }).page)).toEqual([35, 70]);
});

test('without bars the display prints a note once for as long as it stays the same', () => {
  const lines: string[] = [];
  const output = { write: (line: string) => lines.push(line) };
  const display = passDisplay(output, displayDeps());
  for (const note of ['a', 'a', '', 'a', 'b']) display.note(note);
  expect(lines).toEqual(['a\n', 'a\n', 'b\n']);
});
