import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/clock.ts';
import { pagesHouse } from '../support/pages-house.ts';

/** The requests that the service allows in a calendar day (UTC). */
const PER_DAY = 400;

interface ServedDay {
  own: number;
  others: number;
}

/**
 * Lets the daemon run for `days` days beside another client of the account.
 * @param wants the requests that the other client has sent by that time of the day (ms)
 * @param namesTime a 429 names the time until the day ends
 * @returns the requests served on each whole day
 */
async function servedBeside(
  wants: (time: number) => number,
  { days, namesTime }: { days: number; namesTime: boolean },
): Promise<ServedDay[]> {
  const { clock, sandbox, start } = await pagesHouse({
    limits: { perDay: PER_DAY, reserved: 20, pageSize: 10 },
    lowersBudget: true,
  });
  const served = new Map<number, ServedDay>();
  const upTo = (at: number): ServedDay => {
    const day = Math.floor(at / DAY);
    const today = served.get(day) ?? { own: 0, others: 0 };
    served.set(day, today);
    today.others = Math.max(today.others, Math.min(Math.floor(wants(at % DAY)), PER_DAY - today.own));
    return today;
  };
  sandbox.script(() => {
    const at = clock.now();
    const today = upTo(at);
    if (today.own + today.others >= PER_DAY)
      return {
        status: 429,
        body: '{"Message":"daily limit exceeded"}',
        headers: namesTime ? { 'retry-after': String(Math.ceil((DAY - (at % DAY)) / SECOND)) } : {},
      };
    today.own += 1;
    return undefined;
  });
  await start();
  await clock.sleep((days + 1) * DAY);
  for (const day of served.keys()) upTo((day + 1) * DAY - 1);
  return [...served.values()].slice(1, -1);
}

test.each([
  ['names the time until its day ends', true],
  ['names no time', false],
])(
  'another client that fills each day at night does not lower the budget each day, if a 429 %s',
  async (_how, namesTime) => {
    const night = (time: number): number => Math.max(0, time - 22 * HOUR - 5 * MINUTE) / (5 * SECOND);
    const days = await servedBeside(night, { days: 5, namesTime });
    for (const { own } of days) expect(own).toBeGreaterThan(0.17 * PER_DAY);
  },
);

// Now and then the budget is tried whole again.
test('another client that sends three quarters evenly has them on the third day, and four fifths in a week', async () => {
  const evenly = (time: number): number => (0.75 * PER_DAY * time) / DAY;
  const days = await servedBeside(evenly, { days: 7, namesTime: true });
  expect(days[2]!.others).toBeGreaterThan(0.95 * 0.75 * PER_DAY);
  const others = days.slice(2).map((day) => day.others);
  expect(others.reduce((sum, requests) => sum + requests) / others.length).toBeGreaterThan(0.6 * PER_DAY);
});
