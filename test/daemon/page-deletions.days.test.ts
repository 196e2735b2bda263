import { expect } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import { pagesHouse, wholeWalks } from '../support/pages-house.ts';
import { firstInbox, removeConversations } from '../support/rows.ts';
import { rule } from '../support/rule.ts';
import { wrongTombstones } from '../support/truth.ts';

rule.each(['asc', 'desc'] as const)(
  'a list (%s) that lost 14 neighbouring conversations shows new ones within hours, and is not walked',
  async (listOrder) => {
    const perDay = 1000;
    const house = await pagesHouse({
      limits: { perDay },
      sandbox: { conversations: [1200, 60], perDay, activityPerHour: 6, listOrder },
    });
    const { clock, database, sandbox } = house;
    await house.start();
    await clock.sleep(6 * HOUR);
    const walks = wholeWalks(house);
    const { id, conversations } = firstInbox(sandbox);
    const gone = new Set(conversations.order.slice(-17, -3));
    removeConversations(house, id, [...gone]);
    await clock.sleep(5 * HOUR);
    const rows = await database.query<{ id: string }>(
      `SELECT id FROM conversations WHERE deleted_at IS NULL AND inbox_id = $1`,
      id,
    );
    const live = new Set(rows.map((row) => row.id));
    const old = conversations.order.slice(0, -10);
    expect(old.filter((listed) => !live.has(listed))).toEqual([]);
    expect([...gone].filter((deleted) => live.has(deleted))).toEqual([]);
    expect(wholeWalks(house)).toBe(walks);
    expect(await wrongTombstones(house)).toEqual([]);
  },
  180_000,
);
