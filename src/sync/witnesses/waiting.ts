import { DAY, MINUTE } from '../../core/clock.ts';
import type { Suspect } from '../../mirror/items/suspects/suspects.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { SweepDeps } from '../deps.ts';

/**
 * A conversation on which no answer decides is asked for again once it has waited for 10 minutes, then each
 * time its wait has doubled, and at last once a day.
 */
const FIRST_MS = 10 * MINUTE;
const LAST_MS = DAY;

/**
 * Chooses the suspects whose turn it is: new ones, and those that have reached one more of these times since
 * their list or page was last read. Without turns, each reading of a page would ask for all its rows on which
 * no answer decides. More than 20 such rows in a list would be a batch that holds up all others. Only
 * conversations take turns. If the brake holds them, all are returned: they are counted, and not asked for.
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

/** Counts the turns of a suspect that has waited this long; -1 before it was a suspect. */
function turnsIn(waitedMs: number): number {
  if (waitedMs < 0) return -1;
  if (waitedMs < FIRST_MS) return 0;
  const doublings = Math.floor(Math.log2(Math.min(waitedMs, LAST_MS) / FIRST_MS));
  return 1 + doublings + Math.floor(waitedMs / LAST_MS);
}
