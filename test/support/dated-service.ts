import type { Http } from '../../src/service/http.ts';
import { TestClock } from './clock.ts';
import type { MirrorOptions } from './mirror.ts';

/** A clock, and a service that dates its answers rightly, however that clock is set or boots. */
export function datedService(): Required<Pick<MirrorOptions, 'clock' | 'wrapHttp'>> {
  const begin = new TestClock().now();
  const clock = new TestClock(begin);
  const wrapHttp = (http: Http): Http => ({
    ...http,
    get: async (path, query) => ({
      ...(await http.get(path, query)),
      date: new Date(begin + clock.monotonic()).toUTCString(),
    }),
  });
  return { clock, wrapHttp };
}
