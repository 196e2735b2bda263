import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../src/core/clock.ts';
import { sized } from '../support/histories.ts';
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
  await clock.sleep(sized(0.5, 1) * DAY);
  expect(wholeWalks(house)).toBe(walks);
  expect(await house.late()).toEqual([]);
  expect(await count(database, 'bookmark_lists WHERE lost_at IS NOT NULL')).toBe(0);
  expect(await wrongTombstones(house)).toEqual([]);
});

test('a question that always fails takes few requests of a list that is walked whole', async () => {
  const house = await pagesHouse({ readPages: false, schedules: { conversations: '0 * * * *' } });
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(DAY);
  const inbox = firstInbox(sandbox);
  const [id] = firstIds(inbox.conversations, 1, 55);
  sandbox.world.unlistConversation(inbox.id, id!);
  let questions = 0;
  sandbox.script(({ path }) => {
    if (!path.endsWith(`/conversations/${id}`)) return undefined;
    questions += 1;
    return { status: 500 };
  });
  await clock.sleep(DAY);
  expect(questions).toBeGreaterThan(0);
  expect(questions).toBeLessThan(50);
});
