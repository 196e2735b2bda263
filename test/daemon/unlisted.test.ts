import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../src/core/clock.ts';
import { pagesHouse, wholeWalks } from '../support/pages-house.ts';
import { count, firstIds, firstInbox } from '../support/rows.ts';
import { wrongTombstones } from '../support/truth.ts';

test('a block of conversations that the list leaves out costs few walks, and the pages are read on', async () => {
  const house = await pagesHouse();
  const { clock, sandbox, database } = house;
  await house.start();
  await clock.sleep(3 * HOUR);
  const before = wholeWalks(house);
  const inbox = firstInbox(sandbox);
  for (const id of firstIds(inbox.conversations, 30, 60)) sandbox.world.unlistConversation(inbox.id, id);
  await clock.sleep(2 * DAY);
  const walks = wholeWalks(house);
  expect(walks - before).toBeLessThanOrEqual(3);
  expect(await count(database, 'unlisted')).toBe(30);
  await clock.sleep(DAY);
  expect(wholeWalks(house)).toBe(walks);
  expect(await house.late()).toEqual([]);
  expect(await count(database, 'bookmark_lists WHERE lost_at IS NOT NULL')).toBe(0);
  expect(await wrongTombstones(house)).toEqual([]);
});
