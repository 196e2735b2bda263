import { expect, test } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../../src/core/clock.ts';
import { isMirrorError } from '../../../src/core/errors.ts';
import { foreignUse } from '../../../src/core/gate-state.ts';
import { temporaryDatabase } from '../../support/mirror.ts';
import { ON_SQLITE } from '../../support/provider.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { type Bench, benchOf, gapsOf, OK, type Process, times } from './bench.ts';

const TOO_MANY = { status: 429, body: '{"Message":"Too Many Requests"}' };
/** A gap of the gate at one request a second: the least, and the most with what the network adds. */
const FULL_RATE = { least: SECOND, most: 1.1 * SECOND };

/** Sends requests for `span` ms as fast as the gate lets them leave, and waits as long as it says. */
async function insist({ clock }: Bench, { ask }: Process, span: number): Promise<void> {
  const end = clock.monotonic() + span;
  while (clock.monotonic() < end) {
    try {
      await ask();
    } catch (error) {
      if (!isMirrorError(error, 'GATE_PAUSED', 'ANSWER_FAILED')) throw error;
      await clock.sleep(Math.max(SECOND, (error.resumeAt?.getTime() ?? 0) - clock.now()));
    }
  }
}

/** The next `count` requests draw a 429 each; all later ones are answered. */
function refuseNext({ sandbox }: Bench, count: number): void {
  const last = sandbox.arrivals.length + count;
  sandbox.script(() => (sandbox.arrivals.length <= last ? TOO_MANY : OK));
}

/** The ms between the arrivals of the next `count` requests. */
async function nextGaps({ sandbox }: Bench, { ask }: Process, count: number): Promise<number[]> {
  await times(count + 1, () => ask());
  return gapsOf(sandbox).slice(-count);
}

test('a 429 doubles the gap between requests, and eight good answers restore it', async () => {
  const bench = benchOf();
  const process = await bench.start(await freshMirrorFile());
  await times(20, () => process.ask());
  refuseNext(bench, 1);
  const gaps = await nextGaps(bench, process, 14);
  expect(gaps[1]).toBeGreaterThan(1.5 * SECOND);
  for (const [nth, gap] of gaps.slice(1, 7).entries()) expect(gap).toBeGreaterThanOrEqual(gaps[nth + 2] ?? 0);
  for (const gap of gaps.slice(-4)) {
    expect(gap).toBeGreaterThanOrEqual(FULL_RATE.least);
    expect(gap).toBeLessThan(FULL_RATE.most);
  }
});

/** Draws `count` 429s, and returns when the last pause is over. */
async function drawInARow(bench: Bench, { ask, ledger }: Process, count: number): Promise<void> {
  const { sandbox, clock } = bench;
  const last = sandbox.arrivals.length + count;
  refuseNext(bench, count);
  while (sandbox.arrivals.length < last) {
    await ask().catch(() => undefined);
    const { pausedUntil } = await ledger.gateState();
    await clock.sleep(Math.max(0, (pausedUntil?.getTime() ?? 0) - clock.now()));
  }
}

test('429s in a row lengthen the gap to 16 times at most, and a restart keeps it', async () => {
  const bench = benchOf();
  const path = await freshMirrorFile();
  const process = await bench.start(path, { patienceMs: 0 });
  await drawInARow(bench, process, 6);
  expect(await process.ledger.gateState()).toMatchObject({ slowdown: 16 });
  const [, second] = await nextGaps(bench, await bench.start(path), 2);
  expect(second).toBeGreaterThan(15 * SECOND);
  expect(second).toBeLessThan(17 * SECOND);
});

test('two hours of 429s and good answers by turns draw a dozen 429s; a quiet hour restores the rate', async () => {
  const bench = benchOf();
  const { sandbox, clock } = bench;
  const process = await bench.start(await freshMirrorFile());
  let refused = 0;
  sandbox.script(() => (sandbox.arrivals.length % 2 === 1 ? ((refused += 1), TOO_MANY) : OK));
  await insist(bench, process, 2 * HOUR);
  expect(refused).toBeGreaterThanOrEqual(5);
  expect(refused).toBeLessThanOrEqual(12);
  sandbox.script(() => OK);
  await insist(bench, process, MINUTE);
  await clock.sleep(HOUR);
  const [, second] = await nextGaps(bench, process, 2);
  expect(second).toBeLessThan(FULL_RATE.most);
});

test('after the longest gap, 120 good answers in 20 minutes restore the full rate', async () => {
  const bench = benchOf();
  const process = await bench.start(await freshMirrorFile(), { patienceMs: 0 });
  await drawInARow(bench, process, 6);
  const from = bench.clock.monotonic();
  await times(120, () => process.ask());
  expect(bench.clock.monotonic() - from).toBeLessThan(20 * MINUTE);
  const [gap] = await nextGaps(bench, process, 1);
  expect(gap).toBeLessThan(FULL_RATE.most);
});

test('another process of the mirror keeps the longer gap too', async () => {
  const bench = benchOf();
  const path = await freshMirrorFile();
  const process = await bench.start(path, { patienceMs: 0 });
  await drawInARow(bench, process, 6);
  const other = await bench.start(path);
  await times(2, () => process.ask());
  await other.ask();
  expect(gapsOf(bench.sandbox).at(-1)).toBeGreaterThan(14 * SECOND);
});

test('a 429 every 50 minutes never opens the breaker and pauses for half a minute at most', async () => {
  const bench = benchOf();
  const process = await bench.start(await freshMirrorFile());
  const pauses: number[] = [];
  for (let nth = 0; nth < 8; nth += 1) {
    refuseNext(bench, 1);
    const from = bench.clock.monotonic();
    await process.ask();
    pauses.push(bench.clock.monotonic() - from);
    await bench.clock.sleep(50 * MINUTE);
  }
  expect(Math.max(...pauses)).toBeLessThan(40 * SECOND);
  expect(process.events.map(({ kind }) => kind)).not.toContain('breaker');
});

test('a list that alone draws 429s does not shut the gate for the others', async () => {
  const bench = benchOf();
  const { sandbox, clock } = bench;
  const process = await bench.start(await freshMirrorFile(), { patienceMs: MINUTE });
  sandbox.script(({ path }) => (path.startsWith('/v1/inboxes/1') ? TOO_MANY : OK));
  const served: number[] = [];
  for (let hour = 0; hour < 4; hour += 1) {
    const from = sandbox.arrivals.length;
    const end = clock.monotonic() + HOUR;
    for (let minute = 0; clock.monotonic() < end; minute += 1) {
      if (minute % 15 === 0) await process.ask({ path: '/inboxes/1' }).catch(() => undefined);
      await process.ask().catch(() => undefined);
      await clock.sleep(MINUTE);
    }
    served.push(sandbox.arrivals.slice(from).filter(({ path }) => !path.startsWith('/v1/inboxes/1')).length);
  }
  for (const hourly of served.slice(1)) expect(hourly).toBeGreaterThan(45);
  const { strikes, pausedUntil } = await process.ledger.gateState();
  expect({ strikes, pausedUntil }).toEqual({ strikes: 1, pausedUntil: null });
});

test('a limit of the day for a list that alone draws 429s ends when others are served', async () => {
  const bench = benchOf();
  const { sandbox, clock } = bench;
  const process = await bench.start(await freshMirrorFile(), { patienceMs: MINUTE });
  const full = { ...TOO_MANY, headers: { 'retry-after': '3600' } };
  sandbox.script(({ path }) => (path.startsWith('/v1/inboxes/1') ? full : OK));
  const use = async (): Promise<unknown> => foreignUse(await process.ledger.gateState(), clock.now());
  for (let round = 0; round < 3; round += 1) {
    await times(12, () => process.ask());
    await expect(process.ask({ path: '/inboxes/1' })).rejects.toMatchObject({ status: 429 });
    expect(await use()).toEqual(round < 2 ? expect.objectContaining({ kind: 'day' }) : null);
    await clock.sleep(HOUR);
  }
  expect(process.events.filter(({ kind }) => kind === 'day-full')).toHaveLength(2);
});

test('a gap that 429s have made longer than any request holds for another process too', async () => {
  const bench = benchOf();
  const place = await freshMirrorFile();
  const slow = { budget: { perSecond: 0.2 } };
  const before = await bench.start(place, slow);
  await before.ask();
  await before.database.execute(`UPDATE gate_state SET slowdown = 16`);
  await bench.clock.sleep(75 * SECOND);
  await (await bench.start(place, slow)).ask();
  expect(gapsOf(bench.sandbox)[0]).toBeGreaterThanOrEqual(16 * 5 * SECOND);
});

test.each(['Infinity', '-Infinity', '1e300', '17', '0', '-5'])(
  'a slowdown of %s that another program has stored neither stops requests nor brings them closer',
  async (value) => {
    const bench = benchOf();
    const place = await freshMirrorFile();
    const process = await bench.start(place);
    await process.ask();
    const database = await temporaryDatabase(place);
    await database.execute(`INSERT INTO gate_state (id) VALUES (1) ON CONFLICT (id) DO NOTHING`);
    // SQLite has no word for infinity, and PostgreSQL refuses a number that is too large.
    const literal = ON_SQLITE ? value.replace('Infinity', '9e999') : `'${value}'`;
    await database.execute(`UPDATE gate_state SET slowdown = ${literal}`);
    for (const asking of [process, await bench.start(place)])
      for (const gap of await nextGaps(bench, asking, 3)) {
        expect(gap).toBeGreaterThanOrEqual(FULL_RATE.least);
        expect(gap).toBeLessThan(2 * FULL_RATE.most);
      }
  },
);
