import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import type { HouseOptions, TestHouse } from '../support/daemon.ts';
import { pagesHouse } from '../support/pages-house.ts';
import { count, firstInbox, mostInADay, nthInbox } from '../support/rows.ts';

/**
 * Three lists of 30, 20 and 8 pages, at a pace of 10 requests an hour. By default their page tokens expire
 * after 20 minutes.
 */
function expiringHouse(sandbox: HouseOptions['sandbox'] = {}): Promise<TestHouse> {
  return pagesHouse({
    limits: { pageSize: 10, perDay: 280, reserved: 40 },
    sandbox: {
      conversations: [300, 200, 80],
      perDay: 280,
      activityPerHour: 1,
      tokenLifeMs: 20 * MINUTE,
      ...sandbox,
    },
  });
}

/** Each hour a deploy of the service voids all page tokens. */
function voidHourly({ sandbox, clock }: TestHouse): void {
  sandbox.script(({ path }) => {
    const token = new URLSearchParams(path.split('?')[1]).get('next_page');
    if (token === null) return undefined;
    const { issued_at: at } = JSON.parse(Buffer.from(token, 'base64').toString()) as { issued_at: number };
    if (Math.floor(at / HOUR) === Math.floor(clock.now() / HOUR)) return undefined;
    return { status: 400, body: '{"errors":[{"message":"invalid next_page"}]}' };
  });
}

/** The greatest age of a list of each kind, in hours, on the second day and later. */
async function worstAges(house: TestHouse, days: number): Promise<Record<string, number>> {
  const { clock } = house;
  const worst: Record<string, number> = {};
  await clock.sleep(1.5 * DAY);
  for (let hour = 36; hour < days * 24; hour += 1) {
    await clock.sleep(HOUR);
    for (const { list, completeAsOf } of (await house.status()).lists)
      worst[list] = Math.max(worst[list] ?? 0, (clock.now() - (completeAsOf?.getTime() ?? 0)) / HOUR);
  }
  return worst;
}

test.each([
  ['expire after 20 minutes', 20 * MINUTE, undefined],
  ['are void after each hour', 100 * DAY, voidHourly],
])(
  'long lists whose page tokens %s are read each day, within the budget',
  async (_how, tokenLifeMs, begin) => {
    const house = await expiringHouse({ tokenLifeMs });
    begin?.(house);
    await house.start();
    const { conversations, inboxes } = await worstAges(house, 4);
    expect(conversations).toBeLessThan(20);
    expect(inboxes, 'the others are read meanwhile').toBeLessThan(4);
    const { arrivals } = house.sandbox;
    expect(arrivals.filter(({ status }) => status === 429)).toEqual([]);
    expect(mostInADay(house.sandbox)).toBeLessThanOrEqual(240);
    expect(arrivals.length, 'the budget is spent').toBeGreaterThan(0.85 * 4 * 240);
    expect(arrivals.filter(({ status }) => status === 400).length).toBeLessThan(0.1 * arrivals.length);
  },
);

/** The service is out of reach for some minutes each few hours, from the second day on. */
function breakOff({ sandbox, clock }: TestHouse, everyMs: number, lastsMs: number): void {
  const begin = clock.now();
  sandbox.script(() => {
    const passed = clock.now() - begin;
    return passed > DAY && passed % everyMs > everyMs - lastsMs ? 'reset' : undefined;
  });
}

test.each([
  ['5 minutes each hour', HOUR, 5 * MINUTE],
  ['20 minutes each 6 hours', 6 * HOUR, 20 * MINUTE],
])(
  'they are read within two days also if the service is out of reach for %s',
  async (_how, everyMs, lastsMs) => {
    const house = await expiringHouse();
    breakOff(house, everyMs, lastsMs);
    await house.start();
    const { conversations } = await worstAges(house, 5);
    expect(conversations).toBeLessThan(48);
    expect(await count(house.database, 'sweeps WHERE restarts > 2'), 'only refused tokens count').toBe(0);
  },
);

test('they are read within two days also if one request in thirteen draws a 429 that asks to wait for 5 minutes', async () => {
  const house = await expiringHouse();
  let sent = 0;
  house.sandbox.script(() => {
    sent += 1;
    const isLimited = sent > 240 && sent % 13 === 0;
    return isLimited ? { status: 429, headers: { 'retry-after': '300' }, body: '{}' } : undefined;
  });
  await house.start();
  const { conversations } = await worstAges(house, 5);
  expect(conversations).toBeLessThan(48);
});

test.each([
  ['', 2 * DAY],
  [', although the daemon restarts each 12 hours', 12 * HOUR],
])('a list that grows to five times its pages is read to its end within two days%s', async (_how, runMs) => {
  const house = await expiringHouse();
  const { clock, sandbox } = house;
  let daemon = await house.start();
  await clock.sleep(2 * DAY);
  const grown = clock.now();
  const { id } = nthInbox(sandbox, 2);
  for (let nth = 0; nth < 320; nth += 1) sandbox.world.addConversation(id);
  while (clock.now() < grown + 2 * DAY) {
    await daemon.stop();
    daemon = await house.start();
    await clock.sleep(runMs);
  }
  const { lists } = await house.status();
  const list = lists.find(({ list: kind, inboxId }) => kind === 'conversations' && inboxId === id);
  expect(list!.completeAsOf!.getTime()).toBeGreaterThan(grown);
});

test('a walk that saves requests does not delay the end of an outage', async () => {
  const house = await expiringHouse();
  const { clock, sandbox } = house;
  const begin = clock.now();
  const isOutage = (at: number): boolean => at - begin > DAY && (at - begin) % (6 * HOUR) > 5 * HOUR;
  sandbox.script(() => (isOutage(clock.now()) ? 'reset' : undefined));
  await house.start();
  await clock.sleep(3 * DAY);
  const silences = Array.from({ length: 7 }, (_, nth) => {
    const end = begin + DAY + (nth + 1) * 6 * HOUR;
    return (sandbox.arrivals.find(({ at, status }) => at >= end && status === 200)!.at - end) / MINUTE;
  });
  expect(Math.max(...silences)).toBeLessThan(20);
});

test('a daemon that restarts each 11 minutes spends few requests on refused page tokens', async () => {
  const house = await expiringHouse();
  const { clock, sandbox } = house;
  const begin = clock.now();
  while (clock.now() < begin + 1.5 * DAY) {
    const daemon = await house.start();
    await clock.sleep(11 * MINUTE);
    await daemon.stop();
  }
  const lastDay = sandbox.arrivals.filter(({ at }) => at > clock.now() - DAY);
  expect(lastDay.filter(({ status }) => status === 400).length).toBeLessThan(0.2 * lastDay.length);
});

test('a walk keeps the requests that it has saved when the daemon restarts', async () => {
  const house = await expiringHouse();
  for (let hour = 0; hour < 60; hour += 1) {
    const daemon = await house.start();
    await house.clock.sleep(HOUR);
    await daemon.stop();
  }
  const { arrivals } = house.sandbox;
  const lastDay = arrivals.filter(({ at }) => at > house.clock.now() - DAY);
  expect(lastDay.length, 'the budget is spent').toBeGreaterThan(0.6 * 240);
});

test('a budget that is lowered beneath what a walk saves does not keep its list from being asked for', async () => {
  const house = await expiringHouse({ conversations: [500, 200, 80] });
  const { clock, limits, sandbox } = house;
  await house.start();
  await clock.sleep(1.5 * DAY);
  Object.assign(limits, { perDay: 60, reserved: 8 });
  await clock.sleep(2 * DAY);
  const pages = `/inboxes/${firstInbox(sandbox).id}/conversations?`;
  const asked = sandbox.arrivals.filter(
    ({ at, path }) => at > clock.now() - 1.5 * DAY && path.includes(pages),
  );
  expect(asked.length).toBeGreaterThan(0);
});
