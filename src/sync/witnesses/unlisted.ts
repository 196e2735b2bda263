import { HOUR, MINUTE } from '../../core/clock.ts';
import type { UnlistedRow } from '../../mirror/items/suspects/closed-walk.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { SweepDeps, Tally } from '../deps.ts';
import { hearSuspects, type Settling } from './hearing.ts';
import { spread } from './sample.ts';

/**
 * An unlisted row is asked for again 10 minutes after it was first returned: some services still return for a
 * while what their list has dropped. The others come at ever longer intervals, of 12 hours at last.
 */
const INTERVALS = { firstMs: 10 * MINUTE, growth: 3, lastMs: 12 * HOUR };

/** If the mirror has more unlisted rows than this, the last interval is longer: 100 questions a day. */
const MOST_OFTEN_ASKED = 50;

/** At most 5 unlisted rows are asked for after a walk, or after a page that was read singly. */
const MOST_UNLISTED_ASKED = 5;

/** Questions whose answers delete no row. */
const ONLY_FINDS = { endsAtFirstFound: false, counts: () => false, mayCondemn: () => false };

/**
 * Asks for unlisted rows that were not asked for lately. One that the service no longer returns becomes a
 * suspect like any other, on which the next sweep or reading of its page decides. Its list is no witness: if
 * this answer decided, a moment in which the service does not know the row would delete it for good.
 * @param sweep a sweep that has every page, or a round (`AppliedPage.round`)
 * @throws MirrorError
 */
export async function askUnlisted(
  deps: SweepDeps,
  sweep: Sweep,
  unlisted: readonly UnlistedRow[],
  options: Settling,
  tally: Tally,
): Promise<void> {
  const { mirror, clock } = deps;
  const dueAt = (lastMs: number) => unlisted.filter((row) => isDue(row, lastMs, clock.now()));
  if (dueAt(INTERVALS.lastMs).length === 0) return;
  const share = (await mirror.suspects.countUnlisted()) / MOST_OFTEN_ASKED;
  const due = dueAt(INTERVALS.lastMs * Math.max(1, share));
  if (due.length === 0) return;
  const asked = spread(due, MOST_UNLISTED_ASKED, sweep.id);
  const { answers } = await hearSuspects(deps, sweep, { asked, ...ONLY_FINDS }, options, tally);
  const lost = asked.map(({ id }) => id).filter((id) => answers.get(id) === 'open');
  await mirror.suspects.suspectUnlisted(sweep, lost, clock.now());
}

function isDue({ since, askedAt }: UnlistedRow, lastMs: number, now: number): boolean {
  const known = askedAt.getTime() - since.getTime();
  const interval = Math.max(INTERVALS.firstMs, INTERVALS.growth * known);
  return now - askedAt.getTime() >= Math.min(interval, lastMs);
}
