import { type Clock, DAY, MINUTE } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Writer } from '../mirror/mirror.ts';
import type { ViewSettings } from '../mirror/view-settings.ts';
import type { Log } from '../session/log.ts';

const FIRST_AFTER_MS = MINUTE;
const EVERY_MS = DAY;

/** Tidies the mirror, and keeps days for the views ready, a minute after the start and once a day from then on, until the signal. Never rejects. */
export async function housekeepDaily(
  mirror: Pick<Writer, 'housekeep' | 'keepViewSettings'>,
  settings: ViewSettings,
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> {
  for (let wait = FIRST_AFTER_MS; ; wait = EVERY_MS) {
    try {
      await clock.sleep(wait, signal);
      await mirror.keepViewSettings(settings, clock.now());
      const tidied = await mirror.housekeep(clock.now());
      const idle = Object.values(tidied).every((rows) => rows === 0);
      log[idle ? 'debug' : 'info']({ ...tidied }, 'housekeeping done');
    } catch (error) {
      if (signal.aborted) return;
      // What matters to the mirror will be said by whoever needs the database next.
      log.warn({ cause: messageOf(error) }, 'housekeeping failed; trying again tomorrow');
    }
  }
}
