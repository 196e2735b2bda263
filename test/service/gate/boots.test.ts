import { expect, test } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../../src/core/clock.ts';
import { isMirrorError } from '../../../src/core/errors.ts';
import { systemClock } from '../../../src/session/clock.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { benchOf, OK, type StartOptions, times } from './bench.ts';

const BUDGET = { budget: { perSecond: 1000, perDay: 4 } };

/** A mirror that has sent `sent` of 4 requests. `restart` boots the machine and counts what it may send then. */
async function sentBefore(sent: number, { date }: { date: (now: number) => string | undefined }) {
  const { start, clock, sandbox } = benchOf();
  sandbox.script(() => OK);
  const path = await freshMirrorFile();
  const begin = clock.now();
  const options: StartOptions = { ...BUDGET, date: () => date(begin + clock.monotonic()) };
  let process = await start(path, options);
  await times(sent, () => process.ask());
  const grants = async (): Promise<number> => {
    const before = sandbox.arrivals.length;
    for (;;) {
      try {
        await process.ask();
      } catch (error) {
        if (!isMirrorError(error, 'BUDGET_SPENT')) throw error;
        return sandbox.arrivals.length - before;
      }
    }
  };
  return {
    clock,
    grants,
    async reboot(offMs: number, wrongByMs: number): Promise<void> {
      await process.database.close();
      clock.reboot(offMs, wrongByMs);
      process = await start(path, options);
    },
    doubts: () => process.events.flatMap((event) => (event.kind === 'clock' ? [event.cause] : [])),
  };
}

const TRUE_DATE = { date: (now: number) => new Date(now).toUTCString() };
const NO_DATE = { date: () => undefined };

test('after 30 hours off, one answer with a date frees the requests of before', async () => {
  const { grants, reboot, doubts } = await sentBefore(3, TRUE_DATE);
  await reboot(30 * HOUR, 0);
  expect(await grants()).toBe(4);
  expect(doubts()).toEqual([]);
});

test.each([
  ['a day ahead', 24 * HOUR],
  ['a thousand hours ahead', 1000 * HOUR],
])('a clock that boots %s frees no request, and the gate reports it once', async (_how, wrongByMs) => {
  const { grants, reboot, doubts } = await sentBefore(2, TRUE_DATE);
  await reboot(HOUR, wrongByMs);
  expect(await grants()).toBe(2);
  expect(doubts()).toEqual([
    expect.stringMatching(/it was off for .*, by the service's for (1 h|59 min|60 min)/),
  ]);
});

test('without a date the requests of before count a day of the new run, and the gate reports it once', async () => {
  const { grants, reboot, doubts, clock } = await sentBefore(2, NO_DATE);
  await reboot(30 * HOUR, 0);
  expect(await grants()).toBe(2);
  expect(doubts()).toEqual([expect.stringContaining('do not confirm that (no usable Date header)')]);
  await clock.sleep(24 * HOUR + MINUTE);
  expect(await grants()).toBe(4);
});

test('a date that goes back confirms nothing, and the next good one does', async () => {
  let answers = 0;
  // The second answer is the first one after the boot.
  const date = (now: number) => new Date((answers += 1) === 2 ? now - 1000 * HOUR : now).toUTCString();
  const { grants, reboot, doubts } = await sentBefore(1, { date });
  await reboot(30 * HOUR, 0);
  expect(await grants()).toBe(4);
  expect(doubts()).toHaveLength(1);
});

test('a date that is far ahead frees no more than the time off by the clock', async () => {
  let wrongBy = 0;
  const { grants, reboot } = await sentBefore(3, { date: (now) => new Date(now + wrongBy).toUTCString() });
  wrongBy = 1000 * HOUR;
  await reboot(2 * HOUR, 0);
  expect(await grants()).toBe(1);
});

test('a clock that boots behind and is set right a minute later gets its time off confirmed', async () => {
  const { grants, reboot, clock } = await sentBefore(3, TRUE_DATE);
  await reboot(30 * HOUR, -30 * HOUR);
  await clock.sleep(MINUTE);
  clock.setWall(30 * HOUR);
  expect(await grants()).toBe(4);
});

test('a spent budget is free after a day of running, however often the machine boots meanwhile', async () => {
  const { grants, reboot, clock } = await sentBefore(4, NO_DATE);
  for (let boots = 0; boots < 3; boots += 1) {
    await reboot(9 * HOUR, 0);
    await clock.sleep(7 * HOUR);
    expect(await grants()).toBe(0);
  }
  await reboot(9 * HOUR, 0);
  await clock.sleep(3 * HOUR + 31 * SECOND);
  expect(await grants()).toBe(4);
});

test('the run of a machine is known by its boot alone, without the name of a host or container', () => {
  const boot = systemClock().boot();
  expect(Object.keys(boot ?? {}).sort()).toEqual(['at', 'id']);
});
