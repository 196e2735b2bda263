import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE, DAY } from '../../src/core/clock.ts';
import { readConfig } from '../../src/session/config/config.ts';
import { judge } from '../../src/status/judge.ts';
import { oldestHours, pagesHouse, wholeWalks } from '../support/pages-house.ts';
import { count } from '../support/rows.ts';
import { expectEqualToService } from '../support/truth.ts';

describe('a daemon that reads single pages', () => {
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

  test.each([-6, 6])(
    'keeps reading when the clock is set by %s hours',
    async (hours) => {
      const house = await pagesHouse();
      const { clock, sandbox } = house;
      await house.start();
      await clock.sleep(DAY);
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

  test('reads a list whose ids have no order whole, as often as the budget allows', async () => {
    const house = await pagesHouse({ sandbox: { listOrder: 'mixed', conversations: [60, 20] } });
    await house.start();
    await house.clock.sleep(DAY);
    expect(wholeWalks(house)).toBeGreaterThan(20);
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
    for (let hours = 0; hours < 8 * 24; hours += 6) {
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
});
