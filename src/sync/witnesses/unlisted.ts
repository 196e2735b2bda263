import { HOUR } from '../../core/clock.ts';
import type { Suspect, UnlistedRow } from '../../mirror/items/suspects.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { SweepDeps, Tally } from '../deps.ts';
import { hearSuspects, type Settling } from './hearing.ts';
import { spread } from './sample.ts';

/** An unlisted row is asked for again when the service has not returned it for 12 hours. */
const ASKED_EVERY_MS = 12 * HOUR;

/** At most 5 unlisted rows are asked for after a walk, or after a page that was read singly. */
const MOST_ASKED = 5;

/** Questions whose answers delete no row. */
const ONLY_FINDS = { isBatch: false, counts: () => false, mayCondemn: () => false };

/**
 * Asks for unlisted rows that were not asked for lately. One that the service no longer returns becomes a
 * suspect like any other.
 * @param sweep a sweep that has every page, or a round (`AppliedPage.round`)
 * @returns the new suspects
 * @throws MirrorError
 */
export async function askUnlisted(
  deps: SweepDeps,
  sweep: Sweep,
  unlisted: readonly UnlistedRow[],
  options: Settling,
  tally: Tally,
): Promise<Suspect[]> {
  const { mirror, clock } = deps;
  const since = clock.now() - ASKED_EVERY_MS;
  const due = unlisted.filter(({ returnedAt }) => returnedAt.getTime() <= since);
  if (due.length === 0) return [];
  const asked = spread(due, MOST_ASKED, sweep.id);
  const { answers } = await hearSuspects(deps, sweep, { asked, ...ONLY_FINDS }, options, tally);
  const lost = asked.filter(({ id }) => answers.get(id) === 'open');
  const ids = lost.map(({ id }) => id);
  await mirror.suspects.suspectUnlisted(sweep, ids, clock.now());
  return lost;
}
