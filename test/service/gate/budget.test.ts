import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/core/clock.ts';
import { isMirrorError, type MirrorError } from '../../../src/core/errors.ts';
import type { Grant } from '../../../src/core/ledger.ts';
import { histories } from '../../support/histories.ts';
import { ON_SQLITE } from '../../support/provider.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { type Bench, benchOf, ENTRY, OK, PatientClock, type Process, times } from './bench.ts';

const HISTORIES = histories(ON_SQLITE ? 10 : 3, ON_SQLITE ? 250 : 60);
const FAST = { perSecond: 1000 };

/** The gate's error for a spent day budget. */
async function refusalOf(asked: Promise<unknown>): Promise<MirrorError & { resumeAt: Date }> {
  const error: unknown = await asked.catch((refused: unknown) => refused);
  if (!isMirrorError(error, 'BUDGET_SPENT') || error.resumeAt === undefined)
    throw new Error('not refused', { cause: error });
  return error as MirrorError & { resumeAt: Date };
}

test('a gate with a spent budget refuses until the second that it named, then sends a request', async () => {
  const { start, clock, sandbox } = benchOf({ perDay: 5 });
  const { ask } = await start(await freshMirrorFile(), { budget: { ...FAST, perDay: 5 } });
  await times(5, async () => {
    await ask();
    await clock.sleep(HOUR);
  });

  const { resumeAt, message } = await refusalOf(ask());
  expect(message).toContain(resumeAt.toISOString());
  await clock.sleep(resumeAt.getTime() - clock.now() - SECOND);
  await refusalOf(ask());
  await clock.sleep(SECOND);

  expect(await ask()).toMatchObject({ ok: true });
  // The second-oldest request was sent an hour later, and so frees its slot an hour later.
  expect((await refusalOf(ask())).resumeAt.getTime() - resumeAt.getTime()).toBeGreaterThan(HOUR - SECOND);
  expect(sandbox.arrivals.every(({ status }) => status === 200)).toBe(true);
});

test('a request that took long to arrive counts until 24 hours after it can have arrived', async () => {
  const { start, clock, sandbox } = benchOf({ perDay: 1 });
  const { ask } = await start(await freshMirrorFile(), { budget: { ...FAST, perDay: 1 } });
  await ask({ way: () => [29 * SECOND, 0] });

  // The request was sent 24 hours and a second ago, and arrived 28 seconds later.
  await clock.sleep(DAY - 28 * SECOND);
  const { resumeAt } = await refusalOf(ask());
  await clock.sleep(resumeAt.getTime() - clock.now());

  expect(await ask()).toMatchObject({ ok: true });
  expect(sandbox.arrivals.map(({ status }) => status)).toEqual([200, 200]);
});

test('the ledger grants no slot until 24 hours and 30 s after the request whose place it takes', async () => {
  const { start, clock } = benchOf();
  const { ledger } = await start(await freshMirrorFile());
  const limits = {
    cap: 1,
    gapMs: 1000,
    unansweredMs: 5000,
    ownIds: [],
    access: '',
    bootAt: null,
  };
  const sent = clock.now();
  const grantAfter = (ms: number): Promise<Grant> => ledger.grant(ENTRY, limits, sent + ms);
  expect(await grantAfter(0)).toMatchObject({ granted: true });
  const refused = { granted: false, because: 'budget', waitMs: 2 };
  expect(await grantAfter(DAY + 30 * SECOND - 1)).toEqual(refused);
  expect(await grantAfter(DAY + 30 * SECOND + 1)).toMatchObject({ granted: true });
});

test('scheduled work stops at the reserve, and manual commands may use it up', async () => {
  const { start, sandbox } = benchOf();
  const { ask } = await start(await freshMirrorFile(), { budget: { ...FAST, perDay: 6, reserved: 2 } });
  await times(2, () => ask({ reason: 'schedule' }));
  await times(2, () => ask({ reason: 'page' }));

  for (const reason of ['schedule', 'page'] as const)
    expect((await refusalOf(ask({ reason }))).message).toContain('2 of 6 are kept for manual commands');
  await times(2, () => ask({ reason: 'manual' }));
  await refusalOf(ask({ reason: 'manual' }));

  expect(sandbox.arrivals).toHaveLength(6);
});

test('a reserve as large as the budget leaves no request to scheduled work', async () => {
  const { start, sandbox } = benchOf();
  const { ask } = await start(await freshMirrorFile(), { budget: { perDay: 5, reserved: 5 } });

  await refusalOf(ask({ reason: 'schedule' }));
  expect(sandbox.arrivals).toHaveLength(0);
});

test('two processes share one budget', async () => {
  const { start, sandbox } = benchOf();
  const path = await freshMirrorFile();
  const processes = [
    await start(path, { budget: { perSecond: 20, perDay: 11 } }),
    await start(path, { budget: { perSecond: 20, perDay: 11 } }),
  ];

  const ends = await Promise.allSettled(
    processes.flatMap(({ ask }) => Array.from({ length: 8 }, () => ask())),
  );

  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(11);
  expect(sandbox.arrivals).toHaveLength(11);
});

test('failed requests and their retries count against the budget', async () => {
  const { start, sandbox } = benchOf();
  sandbox.script(() => ({ status: 500 }));
  const { ask } = await start(await freshMirrorFile(), { budget: { perDay: 3 } });

  await expect(ask()).rejects.toMatchObject({
    code: 'ANSWER_FAILED',
    message: expect.stringMatching(/failed 3 times, the last time: .*500.*none could be sent/),
  });
  await refusalOf(ask());
  expect(sandbox.arrivals).toHaveLength(3);
});

test('once an outage is known because the budget allows no retry, a call sends one request', async () => {
  const { start, clock, sandbox } = benchOf({ perDay: 0 });
  const { ask } = await start(await freshMirrorFile(), { budget: { ...FAST, perDay: 3 } });
  await ask();
  await clock.sleep(HOUR);
  sandbox.script(() => ({ status: 500 }));
  await expect(ask()).rejects.toMatchObject({ code: 'ANSWER_FAILED' });
  await clock.sleep(DAY - 30 * MINUTE);
  await expect(ask()).rejects.toMatchObject({ code: 'SERVICE_DOWN' });
  await clock.sleep(HOUR);
  const before = sandbox.arrivals.length;
  await expect(ask()).rejects.toMatchObject({ code: 'SERVICE_DOWN' });
  expect(sandbox.arrivals.length - before).toBe(1);
});

test('a command waits some minutes for its next request to be free, and a daemon does not', async () => {
  const { start, clock, sandbox } = benchOf({ perDay: 0 });
  const path = await freshMirrorFile();
  const budget = { ...FAST, perDay: 3 };
  const daemon = await start(path, { budget });
  await times(3, () => daemon.ask());
  await clock.sleep(DAY - MINUTE);
  const command = await start(path, { budget, budgetPatienceMs: 5 * MINUTE });
  await refusalOf(daemon.ask());
  await times(3, () => command.ask());
  expect(sandbox.arrivals).toHaveLength(6);
  expect((await refusalOf(command.ask())).resumeAt.getTime()).toBeGreaterThan(clock.now() + 23 * HOUR);
});

test('a command that waits ends with an error once its budget is lowered', async () => {
  const { start, clock } = benchOf({ perDay: 0 });
  const path = await freshMirrorFile();
  const { ask } = await start(path, { budget: { ...FAST, perDay: 5 } });
  await times(5, async () => {
    await ask();
    await clock.sleep(20 * SECOND);
  });
  await clock.sleep(DAY - 3 * MINUTE);
  let isLowered = false;
  const budget = {
    ...FAST,
    get perDay() {
      return isLowered ? 4 : 5;
    },
    get lowered() {
      return isLowered ? 'another mirror' : null;
    },
  };
  const command = await start(path, { budget, budgetPatienceMs: 5 * MINUTE });
  const asked = refusalOf(command.ask());
  await clock.sleep(30 * SECOND);
  isLowered = true;
  await clock.sleep(MINUTE);
  expect((await asked).message).toContain('The budget is lowered: another mirror.');
});

test.runIf(ON_SQLITE)('the ledger has each request before the service and its status after it', async () => {
  const { start, sandbox } = benchOf();
  const path = await freshMirrorFile();
  const { ask } = await start(path);
  const observer = new DatabaseSync(path, { readOnly: true });
  const rows = (): unknown[] =>
    observer.prepare('SELECT sent_at, method, path, list, reason, status FROM requests').all();
  let seen: unknown[] = [];
  sandbox.script(() => {
    seen = rows();
    return OK;
  });

  await ask({ reason: 'probe' });

  const row = { method: 'GET', path: '/inboxes', list: 'inboxes', reason: 'probe' };
  expect(seen).toEqual([{ sent_at: '2026-03-02T08:00:00.000+00:00', ...row, status: null }]);
  expect(rows()).toEqual([{ sent_at: '2026-03-02T08:00:00.000+00:00', ...row, status: 200 }]);
  observer.close();
});

type Step =
  | { readonly kind: 'ask'; readonly times: number }
  | { readonly kind: 'wait' | 'set' | 'off'; readonly hours: number }
  | { readonly kind: 'restart' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('ask' as const), times: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 30 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('set' as const), hours: fc.integer({ min: -72, max: 72 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('off' as const), hours: fc.integer({ min: 0, max: 30 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);

/**
 * Plays the steps. Returns the monotonic times at which requests reached the service (`sent`),
 * and each wait that the gate named (`waits`).
 */
async function play(steps: readonly Step[], cap: number): Promise<{ sent: number[]; waits: number[] }> {
  const { start, clock, sandbox } = benchOf();
  const sent: number[] = [];
  const waits: number[] = [];
  sandbox.script(() => {
    sent.push(clock.monotonic());
    return OK;
  });
  const path = await freshMirrorFile();
  const launch = (): Promise<Process> => start(path, { budget: { ...FAST, perDay: cap } });
  let process = await launch();
  const ask = async (): Promise<void> => {
    await process.ask().catch((error: unknown) => {
      if (!isMirrorError(error, 'BUDGET_SPENT') || error.resumeAt === undefined) throw error;
      waits.push(error.resumeAt.getTime() - clock.now());
    });
  };
  for (const now of steps) {
    if (now.kind === 'ask') await times(now.times, ask);
    if (now.kind === 'wait') await clock.sleep(now.hours * HOUR + 31_000);
    if (now.kind === 'set') clock.setWall(now.hours * HOUR);
    // The requests around the reboot let the gate see the clock on both sides. Otherwise a set clock
    // would look like one that booted wrong, which another test covers.
    if (now.kind === 'off') await ask();
    if (now.kind === 'off') clock.reboot(now.hours * HOUR);
    if (now.kind === 'off' || now.kind === 'restart') {
      await process.database.close();
      process = await launch();
    }
    if (now.kind === 'off') await ask();
  }
  return { sent, waits };
}

const mostInADay = (instants: readonly number[]): number =>
  Math.max(0, ...instants.map((from) => instants.filter((at) => at >= from && at < from + DAY).length));

test(
  'however the wall clock is set, the gate keeps the cap in any 24 hours and no wait exceeds a day',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
        const { sent, waits } = await play(steps, 4);
        expect(mostInADay(sent)).toBeLessThanOrEqual(4);
        expect(Math.max(0, ...waits)).toBeLessThanOrEqual(DAY + MINUTE);
      }),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);

test('a spent budget is free again after 24 real hours, even if the clock was set meanwhile', async () => {
  for (const hours of [-20, 20]) {
    const { start, clock } = benchOf();
    const { ask } = await start(await freshMirrorFile(), { budget: { ...FAST, perDay: 2 } });
    await times(2, () => ask());
    await clock.sleep(5 * HOUR);
    clock.setWall(hours * HOUR);

    const { resumeAt } = await refusalOf(ask());

    const left = resumeAt.getTime() - clock.now();
    expect(left).toBeGreaterThan(19 * HOUR - MINUTE);
    expect(left).toBeLessThan(19 * HOUR + MINUTE);
  }
});

test.each([-1000, -3, 3, 1000])(
  'after a boot with the clock wrong by %i hours, the gate grants nothing early and blocks at most a day',
  async (hours) => {
    const { start, clock, sandbox } = benchOf();
    sandbox.script(() => OK);
    const path = await freshMirrorFile();
    const options = { budget: { ...FAST, perDay: 3 } };
    const before = await start(path, options);
    await times(3, () => before.ask());
    await before.database.close();
    clock.reboot(HOUR, hours * HOUR);

    const { ask } = await start(path, options);
    const ends = await Promise.allSettled(Array.from({ length: 10 }, () => ask()));

    const granted = ends.filter(({ status }) => status === 'fulfilled').length;
    expect(granted).toBe(0);
    const { resumeAt } = await refusalOf(ask());
    expect(resumeAt.getTime() - clock.now()).toBeLessThanOrEqual(DAY + MINUTE);
    await clock.sleep(resumeAt.getTime() - clock.now());
    expect(await ask()).toMatchObject({ ok: true });
    expect(sandbox.arrivals.length).toBeLessThanOrEqual(3 + granted + 1);
  },
);

/** Draws a 429 with a pause of ten minutes. `meanwhile` runs between arrival and answer of the request. */
async function pausedFor(
  bench: Bench,
  path: string,
  meanwhile: () => void,
): Promise<{ left: number; process: Process }> {
  const { sandbox, clock, arrived } = bench;
  sandbox.script(() =>
    sandbox.arrivals.length === 1 ? { status: 429, headers: { 'retry-after': '600' } } : undefined,
  );
  const process = await bench.start(path);
  const gone = new AbortController();
  const asked = process.ask({ signal: gone.signal, way: () => [0, 1000] });
  await arrived(1);
  meanwhile();
  await process.reported(1);
  gone.abort(new Error('gone'));
  await expect(asked).rejects.toThrow('gone');
  return { left: ((await process.ledger.gateState()).pausedUntil?.getTime() ?? 0) - clock.now(), process };
}

test.each([-5, 5])(
  'a clock set by %i hours during a request neither shortens nor lengthens the pause of its 429',
  async (hours) => {
    const bench = benchOf();
    const { left, process } = await pausedFor(bench, await freshMirrorFile(), () =>
      bench.clock.setWall(hours * HOUR),
    );

    expect(left).toBeGreaterThan(9 * MINUTE);
    expect(left).toBeLessThanOrEqual(10 * MINUTE);
    const from = bench.clock.monotonic();
    await process.ask();
    expect(bench.clock.monotonic() - from).toBeGreaterThan(9 * MINUTE);
    expect(bench.clock.monotonic() - from).toBeLessThan(11 * MINUTE);
  },
);

test.each([-5, 5])('a clock set by %i hours during a pause moves the end of the pause', async (hours) => {
  const bench = benchOf();
  const { process } = await pausedFor(bench, await freshMirrorFile(), () => undefined);
  bench.clock.setWall(hours * HOUR);

  const from = bench.clock.monotonic();
  await process.ask();

  expect(bench.clock.monotonic() - from).toBeGreaterThan(9 * MINUTE);
  expect(bench.clock.monotonic() - from).toBeLessThan(11 * MINUTE);
});

test('after a boot with the clock set back, a pause lasts no longer than it was meant to', async () => {
  const bench = benchOf();
  const path = await freshMirrorFile();
  const { process } = await pausedFor(bench, path, () => undefined);
  await process.database.close();
  bench.clock.reboot(MINUTE, -1000 * HOUR);

  const from = bench.clock.monotonic();
  await (await bench.start(path)).ask();

  expect(bench.clock.monotonic() - from).toBeLessThan(11 * MINUTE);
});

test('a clock drift of less than a second changes no ledger row', async () => {
  const clock = new PatientClock();
  const { start } = benchOf({}, clock);
  const path = await freshMirrorFile();
  const { ask, database } = await start(path);
  await ask();
  clock.setWall(800);
  await ask();

  expect(await database.query('SELECT sent_at FROM requests ORDER BY id LIMIT 1')).toEqual([
    { sent_at: new Date('2026-03-02T08:00:00.000Z') },
  ]);
});
