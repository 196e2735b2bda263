import { HOUR } from '../../core/clock.ts';
import type { Suspect } from '../../mirror/items/suspects/suspects.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { SweepDeps, SweepOptions } from '../deps.ts';
import { byNewest } from './sample.ts';

/**
 * A conversation on which no answer decides is asked for again each time its wait has doubled, and at last
 * every 20 hours, so that a daily sync always asks.
 */
const LAST_MS = 20 * HOUR;

/** More such conversations than this wait longer: about 100 questions a day. */
const MOST_OFTEN_ASKED = 100;

/** The suspects of a sweep or page for which the service may be asked now. */
export interface Askable {
  /** Those that no question was asked for since they are missing, the newest suspicion first. */
  readonly fresh: readonly Suspect[];
  /** Those on which an answer has decided nothing, and whose turn it is, the longest unasked first. */
  readonly again: readonly Suspect[];
}

/**
 * Chooses the suspects whose turn it is. Without turns, each reading of a page would ask for all its rows on
 * which no answer decides, and such rows would be in the way of others. Only conversations take turns. If the
 * brake holds them, all are `fresh`: they are counted, and not asked for.
 */
export async function chooseAskable(
  { mirror, clock }: Pick<SweepDeps, 'mirror' | 'clock'>,
  sweep: Sweep,
  suspects: readonly Suspect[],
  { reason }: Pick<SweepOptions, 'reason'>,
): Promise<Askable> {
  const all = { fresh: suspects.toSorted(byNewest), again: [] };
  if (sweep.list !== 'conversations') return all;
  const askedAt = await mirror.suspects.askedAt(sweep, suspects);
  const now = clock.now();
  if (askedAt.size === 0 || (await mirror.suspects.exceedsBrake(sweep, suspects, now))) return all;
  const lastMs = LAST_MS * Math.max(1, (await mirror.suspects.countUndecided()) / MOST_OFTEN_ASKED);
  const asked = ({ id }: Suspect): number => askedAt.get(id)?.getTime() ?? 0;
  const isDue = (suspect: Suspect): boolean => {
    const waited = asked(suspect) - (suspect.missingSince?.getTime() ?? 0);
    const since = now - asked(suspect);
    return since < 0 || since >= Math.min(waited, lastMs);
  };
  return {
    fresh: all.fresh.filter(({ id }) => !askedAt.has(id)),
    again: suspects
      .filter((suspect) => askedAt.has(suspect.id) && (reason === 'resync' || isDue(suspect)))
      .toSorted((a, b) => asked(a) - asked(b)),
  };
}
