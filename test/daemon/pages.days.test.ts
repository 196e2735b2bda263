import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { listId } from '../../src/core/lists.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { readOutlook } from '../../src/sync/planning/pages/outlook.ts';
import { cronsOf } from '../../src/sync/planning/cron.ts';
import type { TestHouse } from '../support/daemon.ts';
import { sized, someOf } from '../support/histories.ts';
import { oldestHours, pagesHouse, wholeWalks } from '../support/pages-house.ts';
import { count, firstIds, firstInbox, mostInADay, removeConversations } from '../support/rows.ts';

/** The lists of which a single page was read during a walk. */
function readWhileWalked(events: TestHouse['events']): string[] {
  const walked = new Set<string>();
  return events.flatMap((event) => {
    if (event.kind === 'list-begun') walked.add(listId(event.key));
    if (event.kind === 'list-done') walked.delete(listId(event.report.key));
    return event.kind === 'page-read' && walked.has(listId(event.key)) ? [listId(event.key)] : [];
  });
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

  test('keeps what it had learned, and the ages of its pages, after a restart at which an order waits', async () => {
    const house = await pagesHouse();
    const { clock, database } = house;
    const first = await house.start();
    await clock.sleep(sized(6, 24) * HOUR);
    await first.stop();
    const learned = await mirrorOn(database).rates();
    expect(learned.length).toBeGreaterThan(3);
    const walks = wholeWalks(house);
    await house.order({ kind: 'resync', lists: ['tags'] });
    await house.start();
    await clock.sleep(6 * HOUR);
    expect(wholeWalks(house)).toBe(walks);
    const later = new Map((await mirrorOn(database).rates()).map((rate) => [rate.name, rate]));
    for (const { name, hours } of learned) expect(later.get(name)!.hours).toBeGreaterThan(0.9 * hours);
  }, 180_000);

  test('reads no page of a list that fails before the time for which it asks, and reads the others', async () => {
    const house = await pagesHouse({ sandbox: { conversations: [120, 60], activityPerHour: 2 } });
    const { clock, sandbox } = house;
    const [id] = sandbox.world.inboxes.keys();
    await house.start();
    await clock.sleep(6 * HOUR);
    sandbox.script(({ path }) =>
      path.startsWith(`/v1/inboxes/${id}/`) ? { status: 503, headers: { 'retry-after': '3600' } } : undefined,
    );
    await clock.sleep(4 * HOUR);
    const served = [];
    const failed = [];
    for (let hours = 0; hours < 20; hours += 1) {
      const from = sandbox.arrivals.length;
      await clock.sleep(HOUR);
      const statuses = sandbox.arrivals.slice(from).map(({ status }) => status);
      served.push(statuses.filter((status) => status === 200).length);
      failed.push(statuses.filter((status) => status === 503).length);
    }
    expect(Math.min(...served)).toBeGreaterThanOrEqual(4);
    expect(Math.max(...failed), 'one for each of the three lists').toBeLessThanOrEqual(4);
  }, 180_000);

  test('deletes the few rows of each day, although a round takes more than one, and holds many of a day', async () => {
    const house = await pagesHouse({ sandbox: { activityPerHour: 0 } });
    const { clock, sandbox } = house;
    const remove = async (many: number, hours: number): Promise<void> => {
      const { id, conversations } = firstInbox(sandbox);
      removeConversations(house, id, firstIds(conversations, many));
      await clock.sleep(hours * HOUR);
    };
    const held = (): number => house.events.filter(({ kind }) => kind === 'held').length;
    await house.start();
    await clock.sleep(1.2 * DAY);
    for (let part = 0; part < sized(2, 4) * 15; part += 1) await remove(1, 24 / 15);
    expect(held()).toBe(0);
    clock.setWall(30 * HOUR);
    for (let part = 0; part < 5; part += 1) await remove(4, 1.6);
    await clock.sleep(8 * HOUR);
    expect(held()).toBe(1);
    await clock.sleep(6 * HOUR);
    expect(held(), 'once a round, not for each page').toBeLessThanOrEqual(2);
  }, 180_000);

  test('warns of rows that it cannot read once a round, and its status counts them meanwhile', async () => {
    const house = await pagesHouse({ sandbox: { activityPerHour: 0 } });
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(6 * HOUR);
    const { conversations } = firstInbox(sandbox);
    const broken = firstIds(conversations, 90).flatMap((id, nth) =>
      nth % 3 === 0 ? [conversations.get(id)!] : [],
    );
    for (const row of broken) (row as { status: unknown }).status = 7;
    const rejected = async (): Promise<number> =>
      Math.max(...(await house.status()).lists.map((list) => list.rejected));
    const warned = (): number => house.said(40).filter(({ msg }) => msg.includes('cannot be read;')).length;
    await clock.sleep(12 * HOUR);
    expect(await rejected()).toBe(30);
    expect(warned()).toBe(1);
    await clock.sleep(DAY);
    expect(await rejected()).toBe(30);
    expect(warned(), 'once more in the round of the next day').toBe(2);
    for (const row of broken) row.status = 'open';
    await clock.sleep(DAY);
    expect(await rejected()).toBe(0);
  }, 180_000);

  test('promises its lists no later while other mirrors have used up the day', async () => {
    const house = await pagesHouse();
    const { clock } = house;
    await house.start();
    await clock.sleep(3 * HOUR);
    const { coverDays } = await house.status();
    Object.assign(house.limits, { perDay: 1, reserved: 0, isUsedUp: true });
    await clock.sleep(3 * HOUR);
    expect((await house.status()).coverDays).toBe(coverDays);
  }, 180_000);

  test('leaves a list to an order, and has new bookmarks after it', async () => {
    const house = await pagesHouse();
    const { clock, database } = house;
    await house.start();
    await clock.sleep(3 * HOUR);
    const ordered = new Date(clock.now() - HOUR);
    const from = house.events.length;
    const order = await house.order({ kind: 'resync', lists: ['conversations'] });
    await clock.sleep(2 * HOUR);
    expect(readWhileWalked(house.events.slice(from))).toEqual([]);
    const followed = await mirrorOn(database).orderSweeps.since(ordered, 0);
    const walked = followed.filter(({ list }) => list === 'conversations');
    expect(walked.map(({ state }) => state)).toEqual(['complete', 'complete']);
    expect(await count(database, `sync_requests WHERE id = $1 AND state = 'done'`, order)).toBe(1);
    expect(wholeWalks(house)).toBe(4);
    expect(await oldestHours(house)).toBeLessThan(3);
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

  test('rests a page that always fails, and reads all others in time', async () => {
    const house = await pagesHouse();
    const { clock, sandbox, database } = house;
    await house.start();
    // From the second day on, each request of the day has its use.
    await clock.sleep(26 * HOUR);
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
    expect(failed).toBeLessThan(60);
  }, 180_000);

  test('sends few requests while every page of conversations fails, and reads on within an hour of its end', async () => {
    const house = await pagesHouse();
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(3 * HOUR);
    sandbox.script(({ path }) => (path.includes('/conversations?') ? { status: 503, body: '' } : undefined));
    await clock.sleep(10 * HOUR);
    sandbox.script(undefined);
    const failed = sandbox.arrivals.filter(({ status }) => status === 503).length;
    expect(failed, 'about one an hour for each of the two lists').toBeLessThan(50);
    await clock.sleep(HOUR);
    const from = sandbox.arrivals.length;
    await clock.sleep(2 * HOUR);
    const pages = sandbox.arrivals.slice(from).filter(({ path }) => path.includes('/conversations?'));
    expect(pages.length).toBeGreaterThan(20);
    expect(await house.late()).toEqual([]);
  }, 180_000);

  test('keeps its bookmarks through wrong answers of minutes, and reads on soon after an hour of them', async () => {
    const house = await pagesHouse();
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(3 * HOUR);
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
    await clock.sleep(2 * HOUR);
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

  test('calls a walk failed until each page has been read since', async () => {
    const house = await pagesHouse({ sandbox: { conversations: [120, 60], activityPerHour: 2 } });
    const { clock, sandbox } = house;
    const [inbox = ''] = sandbox.world.inboxes.keys();
    await house.start();
    await clock.sleep(sized(6, 30) * HOUR);
    sandbox.script(({ path }) =>
      path.startsWith(`/v1/inboxes/${inbox}/conversations?`) && path.includes('next_page')
        ? { status: 200, body: '{"no": "list"}' }
        : undefined,
    );
    await house.order({ kind: 'resync', lists: ['conversations'], inboxId: inbox });
    // The test clock does not stop while an order computes beside scheduled requests that wait.
    await clock.sleep(10 * MINUTE);
    sandbox.script(undefined);
    const list = async () =>
      (await house.status()).lists.find((one) => one.list === 'conversations' && one.inboxId === inbox);
    expect(await list()).toMatchObject({ failureCode: 'BAD_ANSWER', failures: { sweeps: 1 } });
    await clock.sleep(22 * HOUR);
    expect(await list()).toMatchObject({ failureCode: null, failures: null });
  }, 180_000);

  const FAILURES = [
    ['503', { 'retry-after': '86400' }],
    ['429', {}],
    ['500', {}],
  ] as const;

  test.each(someOf(FAILURES, 1))(
    'names a list of which no page can be read any more because of a %s',
    async (status, headers) => {
      const house = await pagesHouse();
      const { clock, sandbox, database } = house;
      const [broken = ''] = sandbox.world.inboxes.keys();
      await house.start();
      await clock.sleep(6 * HOUR);
      const conversations = async () =>
        (await house.status()).lists.filter(({ list }) => list === 'conversations');
      expect((await conversations()).map(({ failingPages }) => failingPages)).toEqual([null, null]);
      const from = clock.now();
      sandbox.script(({ path }) =>
        path.startsWith(`/v1/inboxes/${broken}/conversations?`)
          ? { status: Number(status), headers, body: '{"message":"no index"}' }
          : undefined,
      );
      await clock.sleep(12 * HOUR);
      const [list, healthy] = await conversations();
      expect(list).toMatchObject({ inboxId: broken, failure: expect.stringContaining('no index') });
      expect(list!.failingPages!.since.getTime() - from).toBeLessThan(HOUR);
      expect(healthy).toMatchObject({ failure: null, failingPages: null });
      const { next } = await readOutlook(mirrorOn(database), {
        budget: house.limits,
        stretches: false,
        cron: cronsOf(house.schedules, 'UTC').conversations,
        timezone: 'UTC',
        now: clock.now(),
      });
      expect(next.map(({ inboxId }) => inboxId)).not.toContain(broken);
      sandbox.script(undefined);
      await clock.sleep(status === '503' ? 20 * HOUR : 2 * HOUR);
      expect((await conversations()).map(({ failure }) => failure)).toEqual([null, null]);
    },
    180_000,
  );
});
