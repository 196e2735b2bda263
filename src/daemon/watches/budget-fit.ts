import type { Clock } from '../../core/clock.ts';
import { duration } from '../../core/humanize.ts';
import type { ListName } from '../../core/lists.ts';
import type { Reader } from '../../mirror/mirror.ts';
import type { Log } from '../../session/log.ts';
import type { Cron } from '../../sync/planning/cron.ts';
import { type Outlook, type OutlookLimits, outlookOf } from '../../sync/planning/outlook.ts';

/** Until every list has been read once their sizes come in; from then on they grow slowly. */
const WHILE_UNKNOWN_MS = 600_000;
const EVERY_MS = 6 * 3_600_000;

export interface FitDeps {
  readonly store: Pick<Reader, 'liveInboxes' | 'latestSweeps' | 'completeSweeps'>;
  readonly crons: Readonly<Record<ListName, Cron>>;
  readonly limits: OutlookLimits;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Tells when the schedules no longer fit the day's budget, as lists grow, or fit it again; and once every list has been read, whether they do. What the
 * plan at the start said (`told`) is not said again. Until the signal; never rejects.
 */
export async function watchFit(
  { store, crons, limits, clock, log, signal }: FitDeps,
  told: Outlook,
): Promise<void> {
  for (let last = told; ;) {
    try {
      await clock.sleep(last.complete ? EVERY_MS : WHILE_UNKNOWN_MS, signal);
      const outlook = await outlookOf(store, crons, limits, clock.now());
      if (fits(outlook) !== fits(last) || (outlook.complete && !last.complete)) tell(log, outlook);
      last = outlook;
    } catch (error) {
      if (signal.aborted) return;
      // What matters to the mirror is said by whoever needs the database next.
      log.debug(
        { cause: error instanceof Error ? error.message : String(error) },
        'whether the schedules fit cannot be told now',
      );
    }
  }
}

function fits({ wanted, available }: Outlook): boolean {
  return wanted <= available;
}

function tell(log: Log, outlook: Outlook): void {
  const { available, complete } = outlook;
  const figures = { wanted: Math.round(outlook.wanted), available };
  if (!fits(outlook)) {
    const ages = outlook.kinds.map(({ list, worstAgeMs }) => `${list} ${duration(worstAgeMs ?? 0)}`);
    log.warn(
      figures,
      `the schedules want more requests a day than scheduled work may use; at the worst lists will be old: ${ages.join(', ')}`,
    );
  } else if (complete) log.info(figures, "the schedules fit the day's budget");
}
