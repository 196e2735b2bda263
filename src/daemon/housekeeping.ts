import type { Clock } from '../core/clock.ts';
import { isMirrorError } from '../core/errors.ts';
import type { Database } from '../database/database.ts';
import type { Store } from '../mirror/mirror.ts';
import { keepReport, type ReportSettings } from '../mirror/report.ts';
import type { Log } from '../session/log.ts';

const FIRST_AFTER_MS = 60_000;
const EVERY_MS = 24 * 3_600_000;

/** Tidies the mirror, and keeps days for the views ready, a minute after the start and once a day from then on, until the signal. Never rejects. */
export async function keepHouse(
  store: Pick<Store, 'housekeep'>,
  { database, settings }: { database: Database; settings: ReportSettings },
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> {
  for (let wait = FIRST_AFTER_MS; ; wait = EVERY_MS) {
    try {
      await clock.sleep(wait, signal);
      await keepReport(database, settings, clock.now());
      const tidied = await store.housekeep(clock.now());
      const idle = Object.values(tidied).every((rows) => rows === 0);
      log[idle ? 'debug' : 'info']({ ...tidied }, 'housekeeping done');
    } catch (error) {
      if (signal.aborted) return;
      // What matters to the mirror will be said by whoever needs the database next.
      log.warn(
        { cause: isMirrorError(error) ? error.message : String(error) },
        'housekeeping failed; trying again tomorrow',
      );
    }
  }
}
