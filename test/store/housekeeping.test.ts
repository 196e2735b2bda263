import { expect, test } from 'vitest';
import { count } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const DAY = 24 * 3_600_000;

test('housekeeping drops old requests, ended passes and sweeps that found nothing; what is mirrored stays, and a second time there is nothing to do', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [12] } });
  for (let syncs = 0; syncs < 5; syncs++) {
    await mirror.sync();
    mirror.clock.advance(10 * DAY);
  }
  const { store, clock, database } = mirror;
  // 50, 40 and 30 days old, four lists each; of the sweeps, the first ones found rows and the two newest are kept.
  expect(await store.housekeep(clock.now())).toEqual({ requests: 12, pages: 0, sweeps: 8, orders: 3 });
  expect(await count(database, 'requests')).toBe(8);
  expect(await store.housekeep(clock.now())).toEqual({ requests: 0, pages: 0, sweeps: 0, orders: 0 });
  await expectEqualToService(mirror);
});
