import { type Clock, DAY, MINUTE } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Writer } from '../mirror/mirror.ts';
import type { ViewSettings } from '../mirror/settings/views.ts';
import type { Log } from '../session/log.ts';

const FIRST_AFTER_MS = MINUTE;
const EVERY_MS = DAY;

/**
 * Deletes rows that are no longer needed, and adds the coming days and the sums of past days for the views: a
 * minute after the start, then once a day until the signal. Never rejects.
 */
export async function housekeepDaily(
  mirror: Pick<Writer, 'countDays' | 'housekeep' | 'keepViewSettings'>,
  settings: ViewSettings,
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> {
  for (let wait = FIRST_AFTER_MS; ; wait = EVERY_MS) {
    try {
      await clock.sleep(wait, signal);
      await mirror.keepViewSettings(settings, clock.now());
      const deleted = await mirror.housekeep(clock.now());
      await mirror.countDays(clock.now(), { signal });
      const isIdle = Object.values(deleted).every((rows) => rows === 0);
      log[isIdle ? 'debug' : 'info']({ ...deleted }, 'housekeeping done');
    } catch (error) {
      if (signal.aborted) return;
      // A warning only: the next operation that needs the database reports its failure.
      log.warn({ cause: messageOf(error) }, 'housekeeping failed; retrying in a day');
    }
  }
}
