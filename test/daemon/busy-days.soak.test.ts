import v8 from 'node:v8';
import vm from 'node:vm';
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { listId } from '../../src/core/lists.ts';
import { cronsOf } from '../../src/sync/planning/cron.ts';
import { promiseOf } from '../../src/sync/planning/freshness.ts';
import { loadOf } from '../../src/sync/planning/load/load.ts';
import { daemonHouse, LIMITS, type TestHouse } from '../support/daemon.ts';
import { sized } from '../support/histories.ts';
import { expectEqualToService } from '../support/truth.ts';

v8.setFlagsFromString('--expose-gc');
const collectGarbage = vm.runInNewContext('gc') as () => void;

/** Heap bytes in use after garbage collection. */
async function heap(): Promise<number> {
  for (let times = 0; times < 3; times += 1) {
    collectGarbage();
    await new Promise(setImmediate);
  }
  return process.memoryUsage().heapUsed;
}

/** Tracks the freshness of every list of the service by the events of the daemon's sweeps. */
function watch(house: TestHouse) {
  const crons = cronsOf(house.schedules, house.timezone);
  const completeAt = new Map<string, number>();
  let heard = 0;
  return {
    late(): string[] {
      for (; heard < house.events.length; heard += 1) {
        const event = house.events[heard]!;
        if (event.kind === 'list-done' && event.report.outcome === 'complete')
          completeAt.set(listId(event.report.key), house.clock.now());
      }
      const inboxes = [...house.sandbox.world.inboxes.keys()];
      const keys = inboxes.flatMap((inboxId) =>
        (['users', 'tags', 'conversations'] as const).map((list) => ({ list, inboxId })),
      );
      return [{ list: 'inboxes', inboxId: null } as const, ...keys]
        .map((key) => {
          const at = completeAt.get(listId(key));
          if (at === undefined) return `${listId(key)} was never read`;
          return house.clock.now() - at <= promiseOf(crons[key.list], new Date(at), house.clock.now())
            ? ''
            : `${listId(key)} is late`;
        })
        .filter((line) => line !== '');
    },
    forget(): void {
      house.events.length = heard = 0;
      house.logged.length = 0;
    },
  };
}

test('over busy days the daemon stays within its limits, promises, plan and memory', async () => {
  const house = await daemonHouse({
    sandbox: { conversations: [25, 15], activityPerHour: 4, usersPerInbox: 60, tagsPerInbox: 8 },
    limits: { pageSize: 50 },
  });
  const { clock, sandbox } = house;
  const daemon = await house.start();
  const watcher = watch(house);
  await clock.sleep(3 * MINUTE);
  const days = sized(2, 3);
  const heaps: number[] = [];
  for (let day = 0; day < days; day += 1) {
    const plan = await loadOf(
      daemon.writer,
      cronsOf(house.schedules, 'UTC'),
      { budget: { ...LIMITS, pageSize: 50 }, readPages: null },
      clock.now(),
    );
    expect(plan.complete).toBe(true);
    const from = sandbox.arrivals.length;
    for (const until = clock.now() + DAY; clock.now() < until;) {
      await clock.sleep(MINUTE);
      expect(watcher.late()).toEqual([]);
    }
    const sent = sandbox.arrivals.length - from;
    expect(sent).toBeGreaterThanOrEqual(plan.wanted * 0.98);
    // Each suspect costs a request of its own, and a growing list may have another page by evening.
    expect(sent).toBeLessThan(plan.wanted * 1.5);
    watcher.forget();
    heaps.push(await heap());
  }
  // Over a week the heap varies by 1.5 MB and does not grow. Half a kilobyte kept a page and poll would
  // exceed this limit.
  expect(heaps.at(-1)! - heaps.at(-2)!).toBeLessThan(3_000_000);
  expect(sandbox.arrivals.filter(({ status }) => status !== 200 && status !== 404)).toEqual([]);
  const times = sandbox.arrivals.map(({ at }) => at);
  expect(Math.min(...times.slice(1).map((at, index) => at - times[index]!))).toBeGreaterThanOrEqual(1000);
  await clock.sleep(HOUR - (clock.now() % HOUR) + MINUTE);
  await expectEqualToService(house);
});
