import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { histories } from '../support/histories.ts';
import { pagesHouse } from '../support/pages-house.ts';
import { mostInADay } from '../support/rows.ts';
import { StrangeDays } from '../support/strange-days.ts';
import { strangeStep } from '../support/strange-steps.ts';
import { expectEqualToService, wrongTombstones } from '../support/truth.ts';
import { fold, readTables } from '../views/fold.ts';

const CAP = 400;
/** Above the id of every change, which is a 32-bit integer on PostgreSQL. */
const LAST_ID = 2 ** 31 - 1;
const HISTORIES = histories(2);

const account = fc.record({
  seed: fc.nat(1000),
  listOrder: fc.constantFrom('asc', 'asc', 'desc', 'mixed'),
  pageTokens: fc.constantFrom('ids', 'ids', 'positions'),
});

test(
  'whatever days a daemon lives through, it deletes nothing wrongly, keeps the limits, goes on, and heals',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        account,
        fc.array(strangeStep, { minLength: 5, maxLength: 20 }),
        async (readPages, form, steps) => {
          const sandbox = { conversations: [90, 60, 12], perDay: CAP, activityPerHour: 0, ...form };
          const house = await pagesHouse({ readPages, sandbox });
          const days = new StrangeDays(house);
          await days.begin();
          // Rows that return after a rightful tombstone have it until they are read again.
          let before: string[] = [];
          for (const step of steps) {
            await days.take(step);
            expect(days.ended).toBeUndefined();
            const wrong = await wrongTombstones(house);
            const mayReturn = step.kind === 'happen' || step.kind === 'inbox-returns';
            if (!mayReturn) expect(wrong.filter((row) => !before.includes(row))).toEqual([]);
            before = wrong;
          }
          expect(await days.rest(), 'late a day after the last fault').toEqual([]);
          expect(days.ended).toBeUndefined();
          expect(await house.late()).toEqual([]);
          expect((await house.status()).openPasses).toEqual([]);
          expect(await days.wronglyMissed()).toEqual([]);
          const { arrivals } = house.sandbox;
          expect(mostInADay({ arrivals })).toBeLessThanOrEqual(CAP);
          const gaps = arrivals.slice(1).map(({ at }, index) => at - arrivals[index]!.at);
          expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000);
          await days.stop();
          await expectEqualToService(house);
          expect(await fold(house.database, LAST_ID)).toEqual(await readTables(house.database));
        },
      ),
      // Fast-check reports a failure with its seed and does not shrink it, which would take minutes.
      { ...HISTORIES.parameters, endOnFailure: true },
    );
  },
  HISTORIES.timeoutMs,
);
