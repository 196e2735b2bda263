import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { listId } from '../../src/core/lists.ts';
import { openMirror } from '../../src/mirror/mirror.ts';
import { readConfig } from '../../src/session/config/config.ts';
import { judge } from '../../src/status/judge.ts';
import { daemonHouse, type HouseOptions, type TestHouse } from '../support/daemon.ts';
import { sized } from '../support/histories.ts';
import { count, mostInADay } from '../support/rows.ts';
import { expectEqualToService } from '../support/truth.ts';

const LIMITS = { pageSize: 10, perDay: 400, reserved: 40 };

/** Two inboxes with 25 and 8 pages: a whole walk of all lists costs about 40 requests. */
function pagesHouse(options: HouseOptions = {}): Promise<TestHouse> {
  return daemonHouse({
    readPages: true,
    limits: LIMITS,
    pollMs: 2 * MINUTE,
    ...options,
    schedules: { conversations: '0 3 * * *', ...options.schedules },
    sandbox: { conversations: [250, 80], perDay: 400, activityPerHour: 4, ...options.sandbox },
  });
}

/** Walks over all pages of a list of conversations. */
function wholeWalks({ events }: TestHouse): number {
  return events.filter(
    (event) => event.kind === 'list-begun' && event.key.list === 'conversations' && event.resumedAtPage === 0,
  ).length;
}

/** The lists of which a single page was read during a walk. */
function readWhileWalked(events: TestHouse['events']): string[] {
  const walked = new Set<string>();
  return events.flatMap((event) => {
    if (event.kind === 'list-begun') walked.add(listId(event.key));
    if (event.kind === 'list-done') walked.delete(listId(event.report.key));
    return event.kind === 'page-read' && walked.has(listId(event.key)) ? [listId(event.key)] : [];
  });
}

/** The oldest reading of any page, as its age in hours. */
async function oldestHours({ database, clock }: TestHouse): Promise<number> {
  const readings = await openMirror(database).bookmarks.oldestReadings();
  return (clock.now() - Math.min(...[...readings.values()].map((at) => at.getTime()))) / HOUR;
}

describe('a daemon that reads single pages', () => {
  test('walks each list once, then reads each page once a day and spends the rest where most changes', async () => {
    const house = await pagesHouse();
    const { clock, sandbox, database } = house;
    await house.start();
    await clock.sleep(2.2 * DAY);
    expect(wholeWalks(house)).toBe(2);
    expect(await oldestHours(house)).toBeLessThan(25);
    expect(sandbox.arrivals.filter(({ status }) => status === 429)).toEqual([]);
    expect(mostInADay(sandbox)).toBeLessThanOrEqual(400);
    expect(sandbox.arrivals.length, 'the budget is spent').toBeGreaterThan(1.7 * 330);
    const pages = sandbox.arrivals.filter(({ path }) => path.includes('/conversations?'));
    const readings = [...Map.groupBy(pages, ({ path }) => path).values()]
      .map(({ length }) => length)
      .sort((a, b) => a - b);
    expect(readings.at(-1), 'the busiest page').toBeGreaterThan(3 * readings[readings.length >> 1]!);
    expect(await house.late()).toEqual([]);
    const complete = await count(database, `sweeps WHERE list = 'conversations' AND state = 'complete'`);
    expect(complete, 'a round for each slot and list').toBeGreaterThanOrEqual(2 + 2);
    const { lists } = await house.status();
    const rows = lists.flatMap((list) => (list.list === 'conversations' ? (list.rows ?? 0) : []));
    expect(Math.min(...rows), 'a round counts the rows of its list').toBeGreaterThan(60);
  }, 180_000);

  test('equals the service a day after its last change', async () => {
    const house = await pagesHouse({ sandbox: { activityPerHour: 0 } });
    const { world } = house.sandbox;
    const daemon = await house.start();
    for (let hour = 0; hour < 12; hour += 1) {
      await house.clock.sleep(HOUR);
      for (const { id, conversations } of world.inboxes.values()) {
        const { order } = conversations;
        world.addConversation(id);
        world.setStatus(id, order[(hour * 37) % order.length]!, 'pending');
        if (hour % 3 === 0) world.removeConversation(id, order[(hour * 53) % order.length]!);
      }
    }
    await house.clock.sleep(26 * HOUR);
    const gone = await count(house.database, `conversations WHERE deleted_at IS NOT NULL`);
    expect(gone).toBe(8);
    await daemon.stop();
    await expectEqualToService(house);
  }, 180_000);

  test('keeps what it had learned, and the ages of its pages, after a restart at which an order waits', async () => {
    const house = await pagesHouse();
    const { clock, database } = house;
    const first = await house.start();
    await clock.sleep(sized(10, 24) * HOUR);
    await first.stop();
    const learned = await openMirror(database).rates();
    expect(learned.length).toBeGreaterThan(3);
    const walks = wholeWalks(house);
    await house.order({ kind: 'resync', lists: ['tags'] });
    await house.start();
    await clock.sleep(6 * HOUR);
    expect(wholeWalks(house)).toBe(walks);
    const later = new Map((await openMirror(database).rates()).map((rate) => [rate.name, rate]));
    for (const { name, hours } of learned) expect(later.get(name)!.hours).toBeGreaterThan(0.9 * hours);
  }, 180_000);

  test.each([-6, 6])(
    'keeps reading when the clock is set by %s hours',
    async (hours) => {
      const house = await pagesHouse();
      const { clock, sandbox } = house;
      await house.start();
      await clock.sleep(sized(10, 24) * HOUR);
      clock.setWall(hours * HOUR);
      const from = sandbox.arrivals.length;
      await clock.sleep(3 * HOUR);
      expect(sandbox.arrivals.length - from).toBeGreaterThan(15);
      expect(await oldestHours(house)).toBeLessThan(26);
      expect(await oldestHours(house)).toBeGreaterThan(0);
      expect(wholeWalks(house)).toBe(2);
    },
    180_000,
  );

  test('leaves a list to an order, and has new bookmarks after it', async () => {
    const house = await pagesHouse();
    const { clock, database } = house;
    await house.start();
    await clock.sleep(8 * HOUR);
    const ordered = new Date(clock.now() - HOUR);
    const from = house.events.length;
    const order = await house.order({ kind: 'resync', lists: ['conversations'] });
    await clock.sleep(2 * HOUR);
    expect(readWhileWalked(house.events.slice(from))).toEqual([]);
    const followed = await openMirror(database).orderSweeps.since(ordered, 0);
    const walked = followed.filter(({ list }) => list === 'conversations');
    expect(walked.map(({ state }) => state)).toEqual(['complete', 'complete']);
    expect(await count(database, `sync_requests WHERE id = $1 AND state = 'done'`, order)).toBe(1);
    expect(wholeWalks(house)).toBe(4);
    expect(await oldestHours(house)).toBeLessThan(3);
  }, 180_000);

  test('reads a list whose ids have no order whole, as often as the budget allows', async () => {
    const house = await pagesHouse({ sandbox: { listOrder: 'mixed', conversations: [60, 20] } });
    await house.start();
    await house.clock.sleep(DAY);
    expect(wholeWalks(house)).toBeGreaterThan(20);
    expect(await house.late()).toEqual([]);
  }, 180_000);

  test('with tokens that expire still reads every list, and asks for few expired ones', async () => {
    const house = await pagesHouse({ sandbox: { tokenLifeMs: 3 * HOUR, conversations: [60, 20] } });
    const { clock, sandbox } = house;
    await house.start();
    const days = sized(1, 2);
    await clock.sleep(days * DAY);
    expect(sandbox.arrivals.filter(({ status }) => status === 400).length).toBeLessThanOrEqual(10);
    expect(wholeWalks(house)).toBeGreaterThan(5 * days);
    expect(await house.late()).toEqual([]);
  }, 180_000);

  test('spreads the cover of a large account over days, and calls it fresh all the while', async () => {
    const house = await pagesHouse({
      sandbox: { conversations: [600, 300], perDay: 0 },
      limits: { pageSize: 10, perDay: 150, reserved: 30 },
      schedules: { inboxes: '0 */6 * * *', users: '20 1 * * *', tags: '40 1 * * *' },
      pollMs: 10 * MINUTE,
    });
    const { clock } = house;
    await house.start();
    const schedules = { SCHEDULE_INBOXES: '0 */6 * * *' };
    const config = readConfig(schedules, '/', { service: false });
    const self = { host: 'test-host', pid: 1, isAlive: () => true, isWriter: false };
    for (let hours = 0; hours < sized(4, 8) * 24; hours += 6) {
      await clock.sleep(6 * HOUR);
      const status = await house.status();
      const { judged } = judge(status, { now: clock.now(), config, databaseName: '', self });
      if (hours < 24) continue;
      expect(status.coverDays).toBe(2);
      const late = judged.filter(({ list, freshness }) => list === 'conversations' && freshness !== 'fresh');
      expect(late).toEqual([]);
    }
    expect(await oldestHours(house)).toBeGreaterThan(24);
    expect(await oldestHours(house)).toBeLessThan(73);
  }, 180_000);

  test('rests a page that always fails, and reads all others in time', async () => {
    const house = await pagesHouse();
    const { clock, sandbox, database } = house;
    await house.start();
    await clock.sleep(6 * HOUR);
    const [broken] = await database.query<{ token: string; after_id: string }>(
      `SELECT token, after_id FROM bookmarks WHERE token IS NOT NULL ORDER BY after_id LIMIT 1 OFFSET 8`,
    );
    const query = `next_page=${encodeURIComponent(broken!.token)}`;
    sandbox.script(({ path }) => (path.includes(query) ? { status: 500, body: '' } : undefined));
    await clock.sleep(30 * HOUR);
    const old = await database.query<{ after_id: string }>(
      `SELECT after_id FROM bookmarks WHERE read_at < $1`,
      new Date(clock.now() - 27 * HOUR).toISOString().replace('Z', '+00:00'),
    );
    expect(old.map(({ after_id: after }) => after)).toEqual([broken!.after_id]);
    const failed = sandbox.arrivals.filter(({ path }) => path.includes(query)).length;
    expect(failed).toBeLessThan(80);
  }, 180_000);

  test('keeps its bookmarks through wrong answers of minutes, and reads on soon after an hour of them', async () => {
    const house = await pagesHouse();
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(6 * HOUR);
    const walks = wholeWalks(house);
    const maintain = async (ms: number, body: string): Promise<void> => {
      sandbox.script(({ path }) => (path.includes('/conversations?') ? { status: 200, body } : undefined));
      await clock.sleep(ms);
      sandbox.script(undefined);
    };
    for (const body of ['{"message":"maintenance"}', '{"results":[],"pagination":{"next_page":null}}']) {
      await maintain(8 * MINUTE, body);
      await clock.sleep(HOUR);
      expect(wholeWalks(house)).toBe(walks);
    }
    await maintain(HOUR, '{"message":"maintenance"}');
    const from = sandbox.arrivals.length;
    await clock.sleep(2 * HOUR);
    const pages = sandbox.arrivals.slice(from).filter(({ path }) => path.includes('/conversations?'));
    expect(pages.length).toBeGreaterThan(20);
    await clock.sleep(6 * HOUR);
    expect(await oldestHours(house)).toBeLessThan(10);
    expect(await house.late()).toEqual([]);
  }, 180_000);

  test('reads a list again soon whose first request failed', async () => {
    const house = await pagesHouse();
    const { clock, sandbox } = house;
    const [inbox] = [...sandbox.world.inboxes.keys()];
    let failures = 0;
    sandbox.script(({ path }) =>
      path.includes(`/inboxes/${inbox}/conversations`) && (failures += 1) === 1
        ? { status: 404, body: '' }
        : undefined,
    );
    await house.start();
    await clock.sleep(HOUR);
    const { lists } = await house.status();
    const list = lists.find((one) => one.list === 'conversations' && one.inboxId === inbox);
    expect(list?.rows ?? 0).toBeGreaterThan(200);
  }, 180_000);

  test('rests a list that it may not read any more, and reads the others', async () => {
    const house = await pagesHouse();
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(6 * HOUR);
    const [broken, healthy] = [...sandbox.world.inboxes.keys()];
    sandbox.faults.set(`/inboxes/${broken}/conversations`, 'forbidden');
    const from = sandbox.arrivals.length;
    await clock.sleep(DAY);
    const after = sandbox.arrivals.slice(from);
    const to = (inbox: string | undefined) =>
      after.filter(({ path }) => path.includes(`/inboxes/${inbox}/conversations`)).length;
    expect(to(broken)).toBeLessThan(6);
    expect(to(healthy)).toBeGreaterThan(100);
    const { lists } = await house.status();
    expect(lists.find(({ list, inboxId }) => list === 'conversations' && inboxId === broken)).toMatchObject({
      failureCode: 'LIST_FORBIDDEN',
    });
  }, 180_000);
});
