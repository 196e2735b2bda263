import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { daemonHouse, type HouseOptions, type TestHouse } from './daemon.ts';

const LIMITS = { pageSize: 10, perDay: 400, reserved: 40 };

/** Two inboxes with 25 and 8 pages: a whole walk of all lists costs about 40 requests. */
export function pagesHouse(options: HouseOptions = {}): Promise<TestHouse> {
  return daemonHouse({
    readPages: true,
    limits: LIMITS,
    pollMs: 5 * MINUTE,
    ...options,
    schedules: { conversations: '0 3 * * *', ...options.schedules },
    sandbox: { conversations: [250, 80], perDay: 400, activityPerHour: 4, ...options.sandbox },
  });
}

/** Walks over all pages of a list of conversations. */
export function wholeWalks({ events }: TestHouse): number {
  return events.filter(
    (event) => event.kind === 'list-begun' && event.key.list === 'conversations' && event.resumedAtPage === 0,
  ).length;
}

/** The oldest reading of any page, as its age in hours. */
export async function oldestHours({ database, clock }: TestHouse): Promise<number> {
  const readings = await mirrorOn(database).bookmarks.oldestReadings();
  return (clock.now() - Math.min(...[...readings.values()].map((at) => at.getTime()))) / HOUR;
}
