import { expect, test } from 'vitest';
import { DAY, MINUTE } from '../../src/core/clock.ts';
import { daemonHouse } from '../support/daemon.ts';
import { askedSince, firstIds, firstInbox, removeConversations } from '../support/rows.ts';

test.each([
  [21, 1],
  [16, 8],
])(
  'a turn of 24 requests that ends in the questions of a list of %i pages (deleted rows: %i) does not keep it unread',
  async (pages, deleted) => {
    const house = await daemonHouse({
      limits: { pageSize: 10, perDay: 120, reserved: 24 },
      pollMs: 5 * MINUTE,
      schedules: { conversations: '0 3 * * *', inboxes: '0 */6 * * *' },
      sandbox: { conversations: [pages * 10 - 1], listOrder: 'mixed', activityPerHour: 0 },
    });
    await house.start();
    await house.clock.sleep(DAY);
    const { id, conversations } = firstInbox(house.sandbox);
    const before = house.sandbox.arrivals.length;
    removeConversations(house, id, firstIds(conversations, deleted));
    await house.clock.sleep(4 * DAY);
    expect(await house.late()).toEqual([]);
    const questions = askedSince(house.sandbox, before).filter((path) => /conversations\/\d/.test(path));
    expect(questions.length).toBeLessThanOrEqual(4 + 2 * deleted);
  },
);
