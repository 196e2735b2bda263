import { expect, test } from 'vitest';
import { DAY, MINUTE } from '../../src/core/clock.ts';
import { MirrorError } from '../../src/core/errors.ts';
import { INBOXES } from '../../src/core/lists.ts';
import { Pacer } from '../../src/daemon/sweeps/pacer.ts';
import { Turn } from '../../src/daemon/sweeps/turn.ts';
import { mostInStreak, StreakBroken } from '../../src/sync/pages/streak.ts';
import { daemonHouse } from '../support/daemon.ts';
import { testLog } from '../support/log.ts';
import { askedSince, firstIds, firstInbox, removeConversations } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';

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

test('a list of as many pages as a walk may save is read at the pace, and not begun again for ever', async () => {
  const budget = { perSecond: 1, perDay: 280, reserved: 40, pageSize: 10 };
  const most = mostInStreak(budget);
  const { writer, clock } = await quickMirror();
  const list = { key: INBOXES, requests: 1, first: false, spent: 0, small: false, worn: false, waits: false };
  const take = async (known: number): Promise<void> => {
    const pacer = new Pacer({ mirror: writer, clock, budget, timezone: 'UTC' });
    const deps = { pacer, budget, log: testLog().log, wornFillings: () => 0, isTest: () => false };
    const turn = new Turn(deps, list, new AbortController());
    const call = { reason: 'schedule', streak: { known, expected: known + 20, read: known } } as const;
    await turn.send(() => Promise.resolve(), call);
  };
  await expect(take(most - 1)).rejects.toBeInstanceOf(StreakBroken);
  await expect(take(most)).resolves.toBeUndefined();
});

test('a walk that resumes with what it had saved begins again if its page token expires on the way', async () => {
  const budget = { perSecond: 1, perDay: 280, reserved: 40, pageSize: 10 };
  const { writer, clock } = await quickMirror();
  const pacer = new Pacer({ mirror: writer, clock, budget, timezone: 'UTC' });
  const deps = { pacer, budget, log: testLog().log, wornFillings: () => 0, isTest: () => false };
  const list = { key: INBOXES, requests: 1, first: false, spent: 0, small: false, worn: false, waits: false };
  const callAt = (read: number) =>
    ({ reason: 'schedule', streak: { known: 30, expected: 34, read } }) as const;
  const [answer, refused] = [
    () => Promise.resolve(),
    () => Promise.reject(new MirrorError('TOKEN_REFUSED', 'invalid next_page')),
  ];
  const first = new Turn(deps, list, new AbortController());
  for (let read = 0; read < 10; read += 1) await first.send(answer, callAt(read));
  await expect(first.send(refused, callAt(10))).rejects.toMatchObject({ code: 'TOKEN_REFUSED' });
  first.end(false);
  const interrupted = clock.monotonic();
  const second = new Turn(deps, list, new AbortController());
  for (let read = 10; read < 20; read += 1) await second.send(answer, callAt(read));
  expect(clock.monotonic()).toBe(interrupted);
  await expect(second.send(refused, callAt(20))).rejects.toBeInstanceOf(StreakBroken);
});
