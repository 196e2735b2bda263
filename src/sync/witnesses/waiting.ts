import { DAY, MINUTE } from '../../core/clock.ts';
import type { Suspect } from '../../mirror/items/suspects/suspects.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { SweepDeps } from '../deps.ts';

/**
 * A conversation whose question decides nothing is asked for again when it has waited for 10 minutes, for
 * twice as long, and so on, at last once a day.
 */
const FIRST_MS = 10 * MINUTE;
const LAST_MS = DAY;

/**
 * The suspects whose turn it is: new ones, and those that have waited for one more of these times since their
 * list or page was last read. Otherwise each reading of a page would ask for all its rows whose questions
 * never decide anything, and more than 20 of them in a list would be a batch that holds up all others.
 * Only conversations wait for their turn, and held ones do not: they are counted, and not asked for.
 * @param readBefore when the list or the page was last read, epoch ms; null if all are to be asked for
 */
export async function takeTurns(
  { mirror, clock }: Pick<SweepDeps, 'mirror' | 'clock'>,
  sweep: Sweep,
  suspects: readonly Suspect[],
  readBefore: number | null,
): Promise<readonly Suspect[]> {
  if (sweep.list !== 'conversations' || readBefore === null) return suspects;
  const now = sweep.startedAt.getTime();
  const turn = suspects.filter(({ missingSince: since }) => {
    if (since === null || since.getTime() >= now) return true;
    return turnsIn(readBefore - since.getTime()) < turnsIn(now - since.getTime());
  });
  if (turn.length === suspects.length) return suspects;
  return (await mirror.suspects.exceedsBrake(sweep, suspects, clock.now())) ? suspects : turn;
}

/** How many turns a suspect has had that has waited so long. */
function turnsIn(waitedMs: number): number {
  if (waitedMs < FIRST_MS) return waitedMs < 0 ? -1 : 0;
  return 1 + Math.floor(Math.log2(Math.min(waitedMs, LAST_MS) / FIRST_MS)) + Math.floor(waitedMs / LAST_MS);
}
