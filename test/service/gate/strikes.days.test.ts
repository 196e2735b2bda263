import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/core/clock.ts';
import { isMirrorError } from '../../../src/core/errors.ts';
import { foreignUse } from '../../../src/core/gate-state.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { type Bench, benchOf, OK, type Process, times } from './bench.ts';

const TOO_MANY = { status: 429, body: '{"Message":"Too Many Requests"}' };

/** Sends a request each second for `span` ms; after a refusal it waits until the time that the gate named. */
async function insist({ clock }: Bench, { ask }: Process, span: number): Promise<void> {
  const end = clock.monotonic() + span;
  while (clock.monotonic() < end) {
    try {
      await ask();
      await clock.sleep(SECOND);
    } catch (error) {
      if (!isMirrorError(error, 'GATE_PAUSED', 'ANSWER_FAILED')) throw error;
      const resumeAt = error.resumeAt?.getTime() ?? 0;
      await clock.sleep(Math.max(SECOND, resumeAt - clock.now()));
    }
  }
}

const FULL_DAY = { ...TOO_MANY, body: '{"Message":"daily limit"}' };

/** Draws one 429, and then good answers until the pause is over. */
async function strike(bench: Bench, { ask }: Process, refusal = TOO_MANY): Promise<void> {
  const { sandbox } = bench;
  const before = sandbox.arrivals.length;
  sandbox.script(() => (sandbox.arrivals.length === before + 1 ? refusal : OK));
  await ask();
}

test('while 429s and good answers alternate, an hour draws at most a dozen 429s', async () => {
  const bench = benchOf();
  const { sandbox } = bench;
  let refused = 0;
  sandbox.script(() => (sandbox.arrivals.length % 2 === 1 ? ((refused += 1), TOO_MANY) : OK));
  const process = await bench.start(await freshMirrorFile());
  await insist(bench, process, HOUR);
  expect(refused).toBeGreaterThanOrEqual(4);
  expect(refused).toBeLessThanOrEqual(12);
});

test('another client that collides with 1 request in 40 costs less than half of the rate', async () => {
  const bench = benchOf();
  const { sandbox } = bench;
  let refused = 0;
  sandbox.script(() => (sandbox.arrivals.length % 40 === 0 ? ((refused += 1), TOO_MANY) : OK));
  const process = await bench.start(await freshMirrorFile());
  const span = 5 * MINUTE;
  await insist(bench, process, span);
  expect(refused).toBeGreaterThan(3);
  expect(sandbox.arrivals.length).toBeGreaterThan(span / SECOND / 2);
});

test('another client that collides with 1 request in 20 draws at most 20 429s in an hour', async () => {
  const bench = benchOf();
  const { sandbox } = bench;
  let refused = 0;
  sandbox.script(() => (sandbox.arrivals.length % 20 === 0 ? ((refused += 1), TOO_MANY) : OK));
  const process = await bench.start(await freshMirrorFile());
  await insist(bench, process, HOUR);
  expect(refused).toBeGreaterThanOrEqual(10);
  expect(refused).toBeLessThanOrEqual(20);
});

test('bursts of another client do not keep the pauses at an hour', async () => {
  const bench = benchOf();
  const { clock, sandbox } = bench;
  const process = await bench.start(await freshMirrorFile());
  await process.database.execute(
    `INSERT INTO gate_state (id, strikes, paused_until, slowdown) VALUES (1, 5, $1, 16)`,
    new Date(clock.now()).toISOString(),
  );
  // Ten requests, a second apart, each 3 minutes.
  const isTaken = (): boolean => clock.monotonic() % (3 * MINUTE) > 170 * SECOND;
  let served = 0;
  sandbox.script(() => (isTaken() ? TOO_MANY : ((served += 1), OK)));
  await insist(bench, process, HOUR);
  expect(served).toBeGreaterThan(60);
});

test.each([
  ['a 429', 1, TOO_MANY],
  ['a 429 for the limit of the day', 2, FULL_DAY],
])('10 answers after the end of a pause, %s is strike %i', async (_what, strikes, refusal) => {
  const bench = benchOf();
  const process = await bench.start(await freshMirrorFile(), { random: () => 0 });
  await strike(bench, process, refusal);
  await times(9, () => process.ask());
  await strike(bench, process, refusal);
  expect(await process.ledger.gateState()).toMatchObject({ strikes });
});

test.each([
  [59, 2],
  [61, 1],
])('a 429 that comes %i min after the end of a pause is strike %i', async (minutes, strikes) => {
  const bench = benchOf();
  const process = await bench.start(await freshMirrorFile(), { random: () => 0 });
  await strike(bench, process);
  expect(await process.ledger.gateState()).toMatchObject({ strikes: 1, pausedAt: null, pausedUntil: null });
  await bench.clock.sleep(minutes * MINUTE);
  await strike(bench, process);
  expect(await process.ledger.gateState()).toMatchObject({ strikes, pausedUntil: null });
  expect(process.events.map(({ kind }) => kind)).toEqual(['paused', 'opened', 'paused', 'opened']);
});

test('a request that always draws 429 opens the breaker, although others are served', async () => {
  const bench = benchOf();
  const { sandbox } = bench;
  sandbox.script(({ path }) => (path.startsWith('/v1/inboxes/1') ? TOO_MANY : OK));
  const { ask } = await bench.start(await freshMirrorFile());
  const stop = new AbortController();
  const others = (async () => {
    for (;;) {
      await ask({ signal: stop.signal });
      await bench.clock.sleep(500, stop.signal);
    }
  })().catch(() => undefined);
  await expect(ask({ path: '/inboxes/1' })).rejects.toMatchObject({ code: 'GATE_PAUSED' });
  stop.abort(new Error('enough'));
  await others;
  expect(sandbox.arrivals.filter(({ path }) => path.startsWith('/v1/inboxes/1'))).toHaveLength(3);
});

test('after a pause has ended, requests leave side by side, not as trials', async () => {
  const bench = benchOf();
  const process = await bench.start(await freshMirrorFile(), { random: () => 0 });
  await times(10, () => process.ask());
  await strike(bench, process);
  bench.sandbox.script(() => OK);
  const way = (): readonly [number, number] => [0, 20 * SECOND];
  const since = bench.clock.monotonic();
  await Promise.all([process.ask({ way }), process.ask({ way }), process.ask({ way })]);
  expect(bench.clock.monotonic() - since).toBeLessThan(40 * SECOND);
});

test('a person who resets the gate also ends the count of 429s', async () => {
  const bench = benchOf();
  const process = await bench.start(await freshMirrorFile(), { random: () => 0 });
  await strike(bench, process);
  await process.ledger.openGate(bench.clock.now());
  await strike(bench, process);
  expect(await process.ledger.gateState()).toMatchObject({ strikes: 1 });
});

test.each([
  ['behind', 0],
  ['behind and is then set right', 3 * HOUR],
])('a pause that has ended does not shut the gate of a machine that boots %s', async (_how, set) => {
  const bench = benchOf();
  const { clock, sandbox, start } = bench;
  const path = await freshMirrorFile();
  const before = await start(path, { random: () => 0 });
  await strike(bench, before);
  await before.database.close();
  clock.reboot(MINUTE, -3 * HOUR);
  sandbox.script(() => OK);
  const process = await start(path);
  const since = clock.monotonic();
  await process.ask();
  clock.setWall(set);
  await process.ask();
  expect(clock.monotonic() - since).toBeLessThan(MINUTE);
  const { endedAt } = await process.ledger.gateState();
  expect(endedAt?.getTime()).toBeLessThanOrEqual(clock.now());
});

test('a limit of the day that a clock ahead has recorded ends a day after the clock is right', async () => {
  const bench = benchOf();
  const { clock, sandbox, start } = bench;
  const path = await freshMirrorFile();
  const before = await start(path, { random: () => 0 });
  sandbox.script(() => (sandbox.arrivals.length === 1 ? FULL_DAY : OK));
  await before.ask();
  await before.database.close();
  clock.reboot(MINUTE, -3 * HOUR);
  const process = await start(path);
  await process.ask();
  const use = foreignUse(await process.ledger.gateState(), clock.now());
  expect(use?.kind).toBe('day');
  expect(use?.kind === 'day' && use.until.getTime() - clock.now()).toBeLessThanOrEqual(DAY + MINUTE);
});
