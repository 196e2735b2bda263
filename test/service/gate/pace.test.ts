import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { spaceByArrival } from '../../../src/service/gate/spacing.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { benchOf, ENTRY, gapsOf, times, type Way } from './bench.ts';

/** Random jitter on each way, as the sandbox adds it. */
const jitter =
  (latency: number, spread: number): Way =>
  () => [(latency + spread * Math.random()) / 2, (latency + spread * Math.random()) / 2];

const allServed = (statuses: readonly (number | null)[]): boolean =>
  statuses.every((status) => status === 200);

test('with 50 ms of jitter, 20 requests at 1/s draw no 429 and take at most 12 % over 19 s', async () => {
  const { start, sandbox } = benchOf({ rate: 1, perDay: 5000 });
  const { ask } = await start(await freshMirrorFile(), { way: jitter(0, 50) });

  await times(20, () => ask());

  expect(sandbox.arrivals.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  const took = (sandbox.arrivals.at(-1)?.at ?? 0) - (sandbox.arrivals[0]?.at ?? 0);
  expect(took).toBeLessThanOrEqual(19_000 * 1.12);
});

test('with answers that take 3 s, four callers still send almost one request a second', async () => {
  const { start, sandbox } = benchOf({ rate: 1, perDay: 5000 });
  const { ask } = await start(await freshMirrorFile(), { way: () => [1500, 1500] });
  // The gate waits for each of the first ten answers.
  await times(10, () => ask());

  await Promise.all(Array.from({ length: 4 }, () => times(10, () => ask())));

  const gaps = gapsOf(sandbox).slice(-39);
  expect(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length).toBeLessThan(1075);
  expect(allServed(sandbox.arrivals.map(({ status }) => status))).toBe(true);
});

test('each of the first ten requests waits for the answer to the one before', async () => {
  const { start, sandbox } = benchOf({ rate: 1, perDay: 5000 });
  const { ask } = await start(await freshMirrorFile(), { way: () => [0, 3000] });

  await Promise.all(Array.from({ length: 12 }, () => ask()));

  const gaps = gapsOf(sandbox);
  expect(Math.min(...gaps.slice(0, 9))).toBeGreaterThanOrEqual(4000);
  expect(Math.max(...gaps.slice(10))).toBeLessThan(1100);
});

test('two busy processes together keep the rate limit, and neither starves', async () => {
  const { start, sandbox } = benchOf({ rate: 1, perDay: 5000 });
  const path = await freshMirrorFile();
  const first = await start(path, { way: jitter(0, 50) });
  const second = await start(path, { way: jitter(0, 50) });
  const order: string[] = [];

  await Promise.all([
    times(14, () => first.ask().then(() => order.push('a'))),
    times(14, () => second.ask().then(() => order.push('b'))),
  ]);

  expect(allServed(sandbox.arrivals.map(({ status }) => status))).toBe(true);
  const halfTime = order.slice(0, 14);
  expect(halfTime.filter((who) => who === 'a').length).toBeGreaterThan(4);
  expect(halfTime.filter((who) => who === 'b').length).toBeGreaterThan(4);
});

test('a request of one process passes within 8 s while another process is always busy', async () => {
  const { start, sandbox, clock } = benchOf({ rate: 1, perDay: 5000 });
  const path = await freshMirrorFile();
  const busy = await start(path, { way: () => [1500, 1500] });
  const other = await start(path, { way: () => [10, 10] });
  await times(10, () => busy.ask());
  const stop = new AbortController();
  const work = Array.from({ length: 4 }, () =>
    times(1000, () => busy.ask({ signal: stop.signal })).catch(() => undefined),
  );
  await clock.sleep(10_000);

  const asked = clock.monotonic();
  await other.ask({ path: '/inboxes/1' });

  expect(clock.monotonic() - asked).toBeLessThan(8000);
  stop.abort(new Error('enough'));
  await Promise.all(work);
  expect(sandbox.arrivals.some(({ status }) => status === 429)).toBe(false);
});

test('a request that another process holds back costs no gap, and the next one keeps the gap from it', async () => {
  const { start, sandbox, arrived } = benchOf({ rate: 1, perDay: 5000 });
  const path = await freshMirrorFile();
  const other = await start(path, { way: () => [0, 3000] });
  const { ask } = await start(path);
  const slow = other.ask();
  await arrived(1);

  await times(2, () => ask());

  const [heldBack = 0, next = 0] = gapsOf(sandbox);
  expect(heldBack).toBeGreaterThanOrEqual(4000);
  expect(heldBack).toBeLessThanOrEqual(4250);
  expect(next).toBe(1000);
  await slow;
});

test('at one request in 5 s too, another process keeps a gap from a request without an answer', async () => {
  const { start, sandbox, arrived } = benchOf({ rate: 0.2, perDay: 5000 });
  const path = await freshMirrorFile();
  const late = await start(path, { way: () => [1500, 20_000], budget: { perSecond: 0.2 } });
  const next = await start(path, { budget: { perSecond: 0.2 } });
  const first = late.ask();
  await arrived(1);
  await next.ask();
  expect(gapsOf(sandbox)[0]).toBeGreaterThanOrEqual(5000);
  await first;
});

test('after a process died before its answer, the next one keeps five gaps from its request', async () => {
  const { start, sandbox, clock } = benchOf({ rate: 1, perDay: 5000 });
  const path = await freshMirrorFile();
  const dead = await start(path);
  await dead.ledger.grant(
    ENTRY,
    { gapMs: 1000, unansweredMs: 5000, cap: 5000, access: 'x', ownIds: [], bootAt: null },
    clock.now(),
  );
  const died = clock.now();

  await (await start(path)).ask();

  expect((sandbox.arrivals[0]?.at ?? 0) - died).toBeGreaterThanOrEqual(5000);
});

test.each([
  ['of the same process', 0],
  ['of another process', 1],
])('after a broken request, the next one %s keeps five gaps from its start', async (_where, next) => {
  const { start, sandbox, clock } = benchOf();
  const path = await freshMirrorFile();
  const processes = [await start(path), await start(path)];
  sandbox.script(() => (sandbox.arrivals.length === 1 ? 'reset' : undefined));
  const gone = new AbortController();
  const broken = processes[0]?.ask({ signal: gone.signal });
  await clock.sleep(100);
  gone.abort(new Error('gone'));
  await expect(broken).rejects.toThrow('gone');

  await processes[next]?.ask();

  expect(gapsOf(sandbox)[0]).toBeGreaterThanOrEqual(5000);
});

/**
 * Simulates consecutive requests: bottleneck's launches keep the gap, the spacing holds each request after its
 * launch, and `ways` are the delays. Returns the arrivals. At most `most` requests are under way at once. The
 * process stalls for `stalls` ms between bottleneck's clock and the launch.
 */
function simulate(
  ways: readonly (readonly [number, number])[],
  gap: number,
  most: number,
  stalls: readonly number[] = [],
): number[] {
  const spacing = spaceByArrival(gap);
  const arrivals: number[] = [];
  let open: { start: number; at: number }[] = [];
  let now = 0;
  let launchable = 0;
  const nextAnswer = (): number => Math.min(...open.map(({ at }) => at));
  const passTo = (time: number): void => {
    now = time;
    for (const { start, at } of open.filter((one) => one.at <= now).sort((a, b) => a.at - b.at))
      spacing.answered(start, at);
    open = open.filter((one) => one.at > now);
  };
  const passUntil = (instant: () => number): void => {
    for (let until = instant(); until > now; until = instant()) passTo(Math.min(until, nextAnswer()));
  };
  for (const [index, [out, back]] of ways.entries()) {
    passTo(now);
    while (open.length >= most || spacing.waitsForAnswer()) passTo(nextAnswer());
    const holdMs = spacing.expectedHold(now);
    passUntil(() => launchable);
    launchable = now + gap + holdMs;
    passTo(now + (stalls[index] ?? 0));
    const launch = { at: now, holdMs };
    passUntil(() => spacing.heldUntil(launch));
    arrivals.push(now + out);
    spacing.departed(launch, now);
    open.push({ start: now, at: now + out + back });
    // A started request takes some time to leave, so the next check is later.
    now += 0.001;
  }
  return arrivals;
}

test('the gate spaces by the arrival of a delayed request, not by the time of its ledger row', async () => {
  const { start, sandbox, arrived } = benchOf({ rate: 1, perDay: 5000 });
  const path = await freshMirrorFile();
  const late = await start(path, { lockedMs: () => 900 });
  const other = await start(path);
  const first = late.ask();
  await arrived(1);

  await Promise.all([first, other.ask()]);

  expect(sandbox.arrivals.map(({ status }) => status)).toEqual([200, 200]);
});

/** Park and Miller's random numbers, from 0 to 1. */
function evenly(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

const closest = (instants: readonly number[]): number =>
  Math.min(...instants.slice(1).map((at, index) => at - (instants[index] ?? 0)));

test('with steady jitter and any latency, no two requests arrive closer than a gap', () => {
  const steady = fc.record({
    gap: fc.integer({ min: 50, max: 3000 }),
    out: fc.nat(2000),
    back: fc.nat(2000),
    jitterOut: fc.nat(250),
    jitterBack: fc.nat(250),
  });
  // Steady means evenly spread; fast-check itself prefers extremes.
  const seeds = fc.integer({ min: 1, max: 2 ** 31 - 2 });
  fc.assert(
    fc.property(steady, seeds, ({ gap, out, back, jitterOut, jitterBack }, seed) => {
      const draw = evenly(seed);
      const ways = Array.from(
        { length: 60 },
        () => [out + draw() * jitterOut, back + draw() * jitterBack] as const,
      );
      expect(closest(simulate(ways, gap, 4))).toBeGreaterThanOrEqual(gap - 0.01);
    }),
    { seed: 1, numRuns: 1000 },
  );
});

test('a request that is up to 4 s late on its way lets none arrive closer than a gap, if answers are fast', () => {
  const lines = fc.record({
    latency: fc.integer({ min: 10, max: 800 }),
    spread: fc.nat(60),
    lateMs: fc.integer({ min: 100, max: 4000 }),
    lateShare: fc.constantFrom(0.01, 0.03, 0.1),
  });
  const seeds = fc.integer({ min: 1, max: 2 ** 31 - 2 });
  fc.assert(
    fc.property(lines, seeds, ({ latency, spread, lateMs, lateShare }, seed) => {
      const draw = evenly(seed);
      const ways = Array.from({ length: 120 }, () => {
        const lateBy = draw() < lateShare ? lateMs * draw() : 0;
        return [latency / 2 + draw() * spread + lateBy, latency / 2 + draw() * spread] as const;
      });
      expect(closest(simulate(ways, 1000, 4))).toBeGreaterThanOrEqual(999.99);
    }),
    { seed: 1, numRuns: 200 },
  );
});

test('a launch after one at which the process stalled is held for the whole gap', () => {
  const some = fc.array(fc.tuple(fc.nat(50), fc.nat(50), fc.constantFrom(0, 0, 0, 30, 200)), {
    minLength: 2,
    maxLength: 10,
  });
  fc.assert(
    fc.property(some, (requests) => {
      const ways = requests.map(([out, back]) => [out, back] as const);
      const stalls = requests.map(([, , stall]) => stall);
      expect(closest(simulate(ways, 1000, 4, stalls))).toBeGreaterThanOrEqual(999.99);
    }),
  );
});

test('among the first ten requests, no delay makes two of them arrive closer than a gap', () => {
  const wild = fc.array(fc.tuple(fc.nat(20_000), fc.nat(20_000)), { minLength: 2, maxLength: 10 });
  fc.assert(
    fc.property(wild, fc.integer({ min: 1, max: 5000 }), (ways, gap) => {
      expect(closest(simulate(ways, gap, 4))).toBeGreaterThanOrEqual(gap - 0.01);
    }),
  );
});
