import { type Clock, HOUR, MINUTE } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import type { Log } from '../../session/log.ts';
import type { Load } from '../../sync/planning/load/load.ts';

/** Milliseconds between two checks: until every list has been read once, and from then on. */
const WHILE_UNKNOWN_MS = 10 * MINUTE;
const EVERY_MS = 6 * HOUR;

export interface FitDeps {
  /** Reads what the schedules cost. */
  readonly readLoad: () => Promise<Load>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Logs when growing lists no longer fit the day's budget, when they fit it again, and, once every list has
 * been read, whether they fit. Does not repeat the load `printed` at the start. Runs until the signal; never
 * rejects.
 */
export async function watchFit({ readLoad, clock, log, signal }: FitDeps, printed: Load): Promise<void> {
  for (let last = printed; ;) {
    try {
      await clock.sleep(last.complete ? EVERY_MS : WHILE_UNKNOWN_MS, signal);
      const load = await readLoad();
      if (fits(load) !== fits(last) || (load.complete && !last.complete)) logFit(log, load);
      last = load;
    } catch (error) {
      if (signal.aborted) return;
      // Debug only: the next operation that needs the database reports its failure.
      log.debug({ cause: messageOf(error) }, 'cannot check whether the schedules fit the budget');
    }
  }
}

function fits({ wanted, available }: Load): boolean {
  return wanted <= available;
}

function logFit(log: Log, load: Load): void {
  const { available, complete } = load;
  const figures = { wanted: Math.round(load.wanted), available };
  if (!fits(load)) {
    const ages = load.kinds.map(({ list, worstAgeMs }) => `${list} ${duration(worstAgeMs ?? 0)}`);
    log.warn(
      figures,
      'the schedules need more requests a day than scheduled work may use; ' +
        `lists that are read whole will be up to this old: ${ages.join(', ')}`,
    );
  } else if (complete) log.info(figures, "the schedules fit the day's budget");
}
