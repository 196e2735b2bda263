import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { pagesHouse } from '../support/pages-house.ts';
import { count } from '../support/rows.ts';

const EMPTY = { status: 200, body: '{"results":[],"pagination":{"next_page":null}}' };

describe('a walk that an empty page ends before the end of its list', () => {
  test.each([['desc' as const], ['asc' as const]])(
    'in a first copy leaves no row unread for more than a cover (%s)',
    async (listOrder) => {
      const house = await pagesHouse({
        limits: { pageSize: 10, perDay: 900, reserved: 45, perSecond: 1 },
        sandbox: { conversations: [2000], listOrder, perDay: 900, activityPerHour: 6 },
      });
      const { clock, sandbox, database } = house;
      const until = clock.now() + HOUR;
      let later = 0;
      sandbox.script(({ path }) => {
        if (!/\/conversations\?.*next_page/.test(path) || clock.now() > until) return undefined;
        later += 1;
        return later > 20 ? EMPTY : undefined;
      });
      await house.start();
      await clock.sleep(2 * DAY);
      const [inbox] = sandbox.world.inboxes.values();
      expect(await count(database, 'conversations')).toBeGreaterThanOrEqual(inbox!.conversations.size - 5);
    },
  );

  test('reads the rest within hours if the page has rows again at once', async () => {
    const house = await pagesHouse({
      limits: { pageSize: 10, perDay: 900, reserved: 45, perSecond: 1 },
      sandbox: { conversations: [2000], listOrder: 'desc', perDay: 900, activityPerHour: 6 },
    });
    const { clock, sandbox, database } = house;
    let later = 0;
    const until = clock.now() + 10 * MINUTE;
    sandbox.script(({ path }) => {
      if (!/\/conversations\?.*next_page/.test(path) || clock.now() > until) return undefined;
      later += 1;
      return later === 20 ? EMPTY : undefined;
    });
    await house.start();
    await clock.sleep(14 * HOUR);
    const [inbox] = sandbox.world.inboxes.values();
    expect(await count(database, 'conversations')).toBeGreaterThanOrEqual(inbox!.conversations.size - 5);
  });
});
