import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/clock.ts';
import { iso } from '../../src/database/instants.ts';
import { stopViewsAt } from '../../src/database/views/views.ts';
import type { TestHouse } from '../support/daemon.ts';
import { pagesHouse } from '../support/pages-house.ts';
import { count } from '../support/rows.ts';

/** Kills the daemon after a walk of all conversations has read so many pages. */
async function killAmidWalk(house: TestHouse, pages: number): Promise<void> {
  const { clock, database } = house;
  const running = await house.start();
  await clock.sleep(26 * HOUR);
  await house.order({ kind: 'resync', lists: ['conversations'] });
  const walks = `sweeps WHERE list = 'conversations' AND state IN ('running', 'paused') AND pages`;
  for (let waited = 0; waited < HOUR; waited += SECOND) {
    await clock.sleep(SECOND);
    if ((await count(database, `${walks} = ${pages}`)) === 1) break;
  }
  running.killSwitch.throw();
  expect(await count(database, `${walks} = ${pages}`), 'open walks').toBe(1);
}

test('a walk that resumes after days does not make the pages fresh that it had read before', async () => {
  const house = await pagesHouse({ sandbox: { conversations: [250], activityPerHour: 0 } });
  const { clock, database, sandbox } = house;
  await killAmidWalk(house, 20);
  await clock.sleep(MINUTE);
  clock.advance(7 * DAY);
  const returned = clock.now();
  const [inbox] = sandbox.world.inboxes.values();
  for (const conversation of inbox!.conversations.values()) conversation.status = 'snoozed';

  await house.start();
  const looks = [];
  for (let minutes = 5; minutes <= 120; minutes += 5) {
    await clock.sleep(5 * MINUTE);
    await stopViewsAt(database, iso(clock.now()));
    const [list] = await database.query<{ complete_as_of: Date; state: string }>(
      `SELECT complete_as_of, state FROM freshness WHERE list = 'conversations'`,
    );
    const isNew = new Date(list!.complete_as_of).getTime() >= returned;
    const old = await count(database, `conversations WHERE status <> 'snoozed'`);
    looks.push({ minutes, isNew, view: list!.state, late: (await house.late()).length, old });
  }
  const wrong = looks.filter(
    ({ isNew, view, late, old }) => old > 0 && (isNew || view !== 'stale' || late === 0),
  );
  expect(wrong).toEqual([]);
  expect(looks.filter(({ old }) => old > 0).length, 'looks at old rows').toBeGreaterThan(3);
  expect(looks.at(-1)).toMatchObject({ isNew: true, view: 'fresh', late: 0, old: 0 });
});
