import { type Boot, type Clock, DAY, HOUR, MINUTE, wasSet } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Writer } from '../mirror/mirror.ts';
import type { ViewSettings } from '../mirror/settings/views.ts';
import type { Log } from '../session/log.ts';

const FIRST_AFTER_MS = MINUTE;
const EVERY_MS = DAY;
const RETRY_AFTER_MS = HOUR;

/** At least this often (ms) it looks whether the clock was set: the views then need other days. */
const CLOCK_MS = 5 * MINUTE;

/**
 * Deletes rows that are no longer needed, and adds the coming days and the sums of past days for the views: a
 * minute after the start, then once a day, after the clock was set and an hour after a failure, until the
 * signal. Never rejects.
 */
export async function housekeepDaily(
  mirror: Pick<Writer, 'countDays' | 'housekeep' | 'keepViewSettings' | 'ledger'>,
  settings: ViewSettings,
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> {
  let begin = bootOf(clock);
  for (let wait = FIRST_AFTER_MS; ;) {
    try {
      await sleepUnlessSet(clock, begin, wait, signal);
      // Before the work: the clock may be set while it lasts.
      begin = bootOf(clock);
      // The requests must move with a set clock before any of them counts as old.
      await mirror.ledger.followClock(await clock.ledgerTime());
      await mirror.keepViewSettings(settings, clock.now());
      const deleted = await mirror.housekeep(clock.now(), signal);
      await mirror.countDays(clock.now(), { signal });
      const isIdle = Object.values(deleted).every((rows) => rows === 0);
      log[isIdle ? 'debug' : 'info']({ ...deleted }, 'housekeeping done');
      wait = EVERY_MS;
    } catch (error) {
      if (signal.aborted) return;
      // A warning only: the next operation that needs the database reports its failure.
      log.warn({ cause: messageOf(error) }, 'housekeeping failed; retrying in an hour');
      wait = RETRY_AFTER_MS;
    }
  }
}

/** Sleeps for `ms`, or until the clock has been set since `begin`. */
async function sleepUnlessSet(
  clock: Clock,
  begin: Pick<Boot, 'at'>,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const until = clock.monotonic() + ms;
  while (clock.monotonic() < until && !wasSet(bootOf(clock), begin))
    await clock.sleep(Math.min(CLOCK_MS, until - clock.monotonic()), signal);
}

/** When the machine booted. A server's time has no boot: it is compared with this process's own time. */
function bootOf(clock: Clock): Pick<Boot, 'at'> {
  return { at: clock.boot()?.at ?? clock.now() - clock.monotonic() };
}
