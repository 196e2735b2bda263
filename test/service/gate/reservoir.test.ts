import { expect, test, vi } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../../src/core/clock.ts';
import { accessId } from '../../../src/core/secrets.ts';
import { KEY } from '../../support/mirror.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { accessWith, type Bench, benchOf, type Process, times } from './bench.ts';

/** The milliseconds after which the gate refuses a request because the budget is spent. */
async function refusedAfter({ clock }: Bench, { ask }: Process): Promise<number> {
  const from = clock.monotonic();
  await expect(ask()).rejects.toMatchObject({ code: 'BUDGET_SPENT' });
  return clock.monotonic() - from;
}

test('a caller learns at once that the budget is spent, without a wait for the gap', async () => {
  const bench = benchOf();
  const process = await bench.start(await freshMirrorFile(), { budget: { perDay: 2 } });
  await times(2, () => process.ask());

  expect(await refusedAfter(bench, process)).toBe(0);
});

test('requests of another process empty the reservoir', async () => {
  const bench = benchOf();
  const path = await freshMirrorFile();
  const options = { budget: { perDay: 4 } };
  const [first, second] = [await bench.start(path, options), await bench.start(path, options)];
  await first.ask();
  await times(3, () => second.ask());

  // The ledger refuses the first of these two, and the empty reservoir the second.
  await refusedAfter(bench, first);
  expect(await refusedAfter(bench, first)).toBe(0);
  expect(bench.sandbox.arrivals).toHaveLength(4);
});

test('while the reservoir lasts, the gate reads the ledger for it once an hour', async () => {
  const { start, clock } = benchOf();
  const { ask, ledger } = await start(await freshMirrorFile(), { budget: { perDay: 50 } });
  const fill = vi.spyOn(ledger, 'budgetLeft');
  await times(20, () => ask());
  expect(fill).toHaveBeenCalledTimes(1);

  await clock.sleep(HOUR);
  await times(20, () => ask());

  expect(fill).toHaveBeenCalledTimes(2);
});

test('requests that leave the window fill the reservoir before it is empty', async () => {
  const bench = benchOf();
  const { ask, ledger } = await bench.start(await freshMirrorFile(), { budget: { perDay: 10 } });
  await times(6, () => ask());
  await bench.clock.sleep(23.8 * HOUR);
  await ask();
  const fill = vi.spyOn(ledger, 'budgetLeft');

  await bench.clock.sleep(0.3 * HOUR);
  await times(9, () => ask());

  expect(fill).toHaveBeenCalledTimes(1);
});

test('an empty reservoir is filled as soon as one request has left the window', async () => {
  const bench = benchOf();
  const process = await bench.start(await freshMirrorFile(), { budget: { perDay: 3 } });
  await times(3, async () => {
    await process.ask();
    await bench.clock.sleep(MINUTE);
  });
  await refusedAfter(bench, process);

  await bench.clock.sleep(24 * HOUR - 3 * MINUTE + 30 * SECOND);

  expect(await process.ask()).toMatchObject({ ok: true });
  await refusedAfter(bench, process);
});

test('while the budget is spent, the gate still reports a refused key and a long pause first', async () => {
  const bench = benchOf();
  bench.sandbox.script(() => ({ status: 401 }));
  const { ask, ledger } = await bench.start(await freshMirrorFile(), {
    budget: { perDay: 1 },
    patienceMs: MINUTE,
  });

  await expect(ask()).rejects.toMatchObject({ code: 'KEY_REFUSED' });
  await expect(ask()).rejects.toMatchObject({ code: 'KEY_REFUSED' });
  await ledger.allowKey(accessId(accessWith(KEY)));
  await ledger.pauseGate(1, () => bench.clock.now() + HOUR, 'HTTP 429', bench.clock.now());
  await expect(ask()).rejects.toMatchObject({ code: 'GATE_PAUSED' });
});

test('a budget that another mirror lowers while a request waits for its launch is kept to', async () => {
  const { start, sandbox, clock, arrived } = benchOf();
  let isUsedUp = false;
  const { ask } = await start(await freshMirrorFile(), {
    budget: {
      perDay: 5,
      get isUsedUp() {
        return isUsedUp;
      },
    },
  });
  const slow = Promise.all([1, 2, 3, 4].map(() => ask({ way: () => [0, 20 * SECOND] })));
  await arrived(4);

  // All places in flight are taken: the next request waits for an answer.
  const next = ask();
  await clock.sleep(SECOND);
  isUsedUp = true;

  await expect(next).rejects.toMatchObject({ code: 'BUDGET_SPENT' });
  await slow;
  expect(sandbox.arrivals).toHaveLength(4);
});
