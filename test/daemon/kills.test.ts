import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { daemonHouse } from '../support/daemon.ts';
import { histories } from '../support/histories.ts';
import { count } from '../support/rows.ts';
import { expectEqualToService } from '../support/truth.ts';

const KILLS = 20;
const HISTORIES = histories(1, 20);

/** A daemon is killed before its statement number `statement` and restarted `minutes` later. */
const kills = fc.array(
  fc.record({ statement: fc.integer({ min: 1, max: 250 }), minutes: fc.integer({ min: 0, max: 30 }) }),
  {
    minLength: KILLS,
    maxLength: KILLS,
  },
);

test(
  'a daemon killed 20 times in a day converges within the limits and rereads only pages in flight',
  async () => {
    await fc.assert(
      fc.asyncProperty(kills, async (moments) => {
        const house = await daemonHouse({
          sandbox: { conversations: [35, 15], activityPerHour: 4 },
          limits: { pageSize: 10 },
          schedules: { conversations: '0 * * * *' },
        });
        const { clock, sandbox, database } = house;
        const until = clock.now() + DAY;
        let killed = 0;
        const order = await house.order({ kind: 'resync' });
        for (const { statement, minutes } of moments) {
          const { killSwitch } = await house.start();
          killSwitch.dieBefore = (number) => number === statement;
          while (!killSwitch.dead && clock.now() < until) await clock.sleep(MINUTE);
          killSwitch.throw();
          killed += 1;
          await clock.sleep(minutes * MINUTE);
        }
        expect(killed).toBe(KILLS);
        const daemon = await house.start();
        await clock.sleep(Math.max(until - clock.now(), 2 * HOUR));
        expect(await house.late()).toEqual([]);
        expect(sandbox.arrivals.filter(({ status }) => status !== 200 && status !== 404)).toEqual([]);
        const times = sandbox.arrivals.map(({ at }) => at);
        expect(Math.min(...times.slice(1).map((at, index) => at - times[index]!))).toBeGreaterThanOrEqual(
          1000,
        );
        const [applied] = await database.query<{ pages: number }>(`SELECT sum(pages) AS pages FROM sweeps`);
        const listed = sandbox.arrivals.filter(({ path }) => path.includes('limit='));
        expect(listed.length - applied!.pages).toBeLessThanOrEqual(2 * KILLS);
        expect(await count(database, `requests`)).toBeGreaterThanOrEqual(sandbox.arrivals.length);
        expect(await count(database, `sync_requests WHERE id = $1 AND state = 'done'`, order)).toBe(1);
        await clock.sleep(HOUR - (clock.now() % HOUR) + 2 * MINUTE);
        expect(await count(database, `sweeps WHERE state IN ('running', 'paused')`)).toBe(0);
        await daemon.stop();
        await expectEqualToService(house);
      }),
      { ...HISTORIES.parameters, seed: 1 },
    );
  },
  HISTORIES.timeoutMs,
);
