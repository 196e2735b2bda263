import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/clock.ts';
import type { Credit } from '../../src/mirror/settings/credit.ts';
import { Pacer } from '../../src/daemon/sweeps/pacer.ts';
import { quickMirror } from '../support/template.ts';

/** Ten scheduled requests an hour. */
const BUDGET = { perSecond: 1, perDay: 280, reserved: 40, pageSize: 10 };

/** A mirror that has sent no request, and the pacers of its daemons. */
async function pacedMirror(budget = BUDGET) {
  const { writer, clock } = await quickMirror();
  return { clock, newPacer: () => new Pacer({ mirror: writer, clock, budget, timezone: 'UTC' }) };
}

test('requests that a walk has saved and gives back are there for the next walk', async () => {
  const { clock, newPacer } = await pacedMirror();
  const { signal } = new AbortController();
  const pacer = newPacer();
  const begin = clock.monotonic();
  const purse = await pacer.saveUp('list', () => 30, signal);
  expect(purse.left).toBe(30);
  const saved = clock.monotonic();
  expect(saved - begin).toBeGreaterThan(3 * HOUR);
  purse.close(true);
  expect((await pacer.saveUp('list', () => 30, signal)).left).toBe(30);
  expect(clock.monotonic()).toBe(saved);
});

test('a walk saves its requests although the daemon restarts each ten minutes, often before the walk', async () => {
  const { clock, newPacer } = await pacedMirror();
  const begin = clock.monotonic();
  let saved = 0;
  for (let daemon = 0; saved === 0 && clock.monotonic() - begin < DAY; daemon += 1) {
    const pacer = newPacer();
    const stop = new AbortController();
    const end = clock.sleep(10 * MINUTE).then(() => stop.abort());
    // Another list is read first.
    await pacer.take(true, stop.signal);
    if (daemon % 2 === 0) {
      const purse = await pacer.saveUp('list', () => 30, stop.signal).catch(() => null);
      saved = purse?.left ?? 0;
    }
    await end;
  }
  expect(saved).toBe(30);
});

test.each(['an outage', 'a restart'])(
  'a walk that %s interrupts while it saves finds its requests again, whoever saves first',
  async (cause) => {
    const { clock, newPacer } = await pacedMirror();
    const pacer = newPacer();
    const stop = new AbortController();
    const interrupted = pacer.saveUp('long', () => 30, stop.signal).catch(() => null);
    await clock.sleep(3.5 * HOUR);
    stop.abort();
    await interrupted;
    const again = clock.monotonic();
    const { signal } = new AbortController();
    const next = cause === 'a restart' ? newPacer() : pacer;
    const short = next.saveUp('short', () => 15, signal);
    expect((await next.saveUp('long', () => 20, signal)).left).toBe(20);
    expect(clock.monotonic() - again).toBeLessThan(10 * MINUTE);
    expect((await short).left).toBe(15);
  },
);

test('a walk that is interrupted amid its pages finds the requests again that it has not sent', async () => {
  const { clock, newPacer } = await pacedMirror();
  const pacer = newPacer();
  const { signal } = new AbortController();
  const purse = await pacer.saveUp('long', () => 30, signal);
  for (let page = 0; page < 10; page += 1) purse.spend();
  purse.close(false);
  const interrupted = clock.monotonic();
  const short = pacer.saveUp('short', () => 15, signal);
  await clock.sleep(10 * MINUTE);
  expect((await pacer.resume('long'))?.left).toBe(20);
  expect(await pacer.resume('long')).toBeNull();
  await short;
  expect(clock.monotonic() - interrupted, 'the others save for theirs').toBeGreaterThan(HOUR);
});

test.each(['saves', 'resumes'])(
  'a daemon that is killed seconds after a walk %s does not find its requests again',
  async (begins) => {
    const { clock, newPacer } = await pacedMirror();
    const { signal } = new AbortController();
    const pacer = newPacer();
    const purse = await pacer.saveUp('long', () => 30, signal);
    if (begins === 'resumes') {
      purse.close(false);
      await clock.sleep(2 * MINUTE);
      await pacer.take(false, signal);
      expect((await pacer.resume('long'))?.left).toBe(30);
    }
    await clock.sleep(SECOND);
    expect(await newPacer().resume('long')).toBeNull();
  },
);

test('a database that does not record what a walk takes leaves it to the walk', async () => {
  const { writer, clock } = await quickMirror();
  let fails = false;
  const mirror = {
    ...writer,
    saveCredit: async (credit: Credit): Promise<void> => {
      if (fails) throw new Error('the database is locked');
      await writer.saveCredit(credit);
    },
  };
  const pacer = new Pacer({ mirror, clock, budget: BUDGET, timezone: 'UTC' });
  const { signal } = new AbortController();
  (await pacer.saveUp('long', () => 30, signal)).close(false);
  fails = true;
  await expect(pacer.resume('long')).rejects.toThrow('locked');
  fails = false;
  expect((await pacer.resume('long'))?.left).toBe(30);
});

test('requests that walks have saved, and not sent yet, are left to them', async () => {
  const { clock, newPacer } = await pacedMirror({ ...BUDGET, perDay: 50, reserved: 10 });
  const pacer = newPacer();
  const { signal } = new AbortController();
  for (const list of ['1', '2', '3']) {
    const purse = await pacer.saveUp(list, () => 12, signal);
    expect(purse.left).toBe(12);
  }
  await clock.sleep(2 * MINUTE);
  let others = 0;
  while (others < 40 && (await pacer.takeAtOnce())) others += 1;
  expect(others).toBeGreaterThan(0);
  expect(others).toBeLessThanOrEqual(40 - 3 * 12);
});

test('a request that goes ahead of the pace makes the next one wait, also after a restart', async () => {
  const { clock, newPacer } = await pacedMirror();
  const { signal } = new AbortController();
  const begin = clock.monotonic();
  const pacer = newPacer();
  for (let ahead = 0; ahead < 5; ahead += 1) await pacer.takeAhead(signal);
  expect(clock.monotonic()).toBe(begin);
  const stop = new AbortController();
  const interrupted = pacer.take(false, stop.signal).catch(() => null);
  await clock.sleep(10 * MINUTE);
  stop.abort();
  await interrupted;
  await newPacer().take(false, signal);
  expect((clock.monotonic() - begin) / MINUTE).toBeCloseTo(6 * 6, -1);
});

test('the pages of scheduled work are planned without the requests that orders took on each of the last two days', async () => {
  const { writer, clock, sync } = await quickMirror();
  const pacer = new Pacer({ mirror: writer, clock, budget: BUDGET, timezone: 'UTC' });
  const inADay = async (): Promise<number> => {
    await pacer.takeAtOnce();
    return pacer.hours.requestsUntil(clock.now() + DAY);
  };
  expect(await inADay()).toBeCloseTo(240);
  await sync();
  await sync();
  await clock.sleep(DAY - HOUR);
  expect(await inADay(), 'once is no habit').toBeCloseTo(240);
  await clock.sleep(2 * HOUR);
  await sync({ lists: ['conversations'] });
  const ordered = await writer.budget.sentInWindow(clock.now());
  expect(ordered).toBeGreaterThan(0);
  await clock.sleep(HOUR);
  expect(await inADay()).toBeCloseTo(240 - ordered);
  await clock.sleep(DAY);
  expect(await inADay()).toBeCloseTo(240);
});
