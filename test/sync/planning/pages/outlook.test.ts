import { expect, test } from 'vitest';
import { cronOf } from '../../../../src/sync/planning/cron.ts';
import { type Outlook, readOutlook } from '../../../../src/sync/planning/pages/outlook.ts';
import { quickMirror } from '../../../support/template.ts';

test('half of a budget gives the delay that a budget of that size has, with covers over as many days', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [200] }, pageSize: 10 });
  await mirror.sync();
  const outlookWith = async (perDay: number): Promise<Outlook> =>
    await readOutlook(mirror.writer, {
      budget: { perSecond: 1, perDay, reserved: 0, pageSize: 10 },
      stretches: true,
      cron: cronOf('0 3 * * *', 'UTC'),
      timezone: 'UTC',
      now: mirror.clock.now(),
    });
  const delayWith = ({ delays }: Outlook, factor: number): number =>
    delays.find((one) => one.factor === factor)!.ms!;
  const [large, small] = [await outlookWith(50), await outlookWith(25)];
  expect([large.cover.days, small.cover.days]).toEqual([1, 2]);
  expect(delayWith(large, 0.5)).toBeCloseTo(delayWith(small, 1));
  expect(delayWith(small, 2)).toBeCloseTo(delayWith(large, 1));
});
