import type { Suspect } from '../../mirror/items/suspects/suspects.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { SweepDeps, Tally } from '../deps.ts';
import { byIdentity } from './ask.ts';
import { hearSuspects, type Settling } from './hearing.ts';
import { condemn, holdIfNeeded, isIndependent, judgeSuspects } from './judging.ts';
import { spread } from './sample.ts';
import { askUnlisted } from './unlisted.ts';

/** At most this many accepted rows are asked for before an interrupted consent is carried out. */
const MOST_ACCEPTED_ASKED = 100;

/** The same if an earlier run has read all pages: runs of a few requests each must come to an end. */
const MOST_ASKED_AGAIN = 3;

/**
 * Closes a sweep's walk and decides on its suspects (docs/decisions/0010 and 0025):
 *
 * - a conversation is gone if the service, asked for its id, does not know it, although it returns others;
 * - an inbox is gone if two independent sweeps lack it and the service does not know its id;
 * - a user or a tag is gone if two independent sweeps lack it and list others: its name may have changed, so
 *   that a search can only show that it is still there;
 * - of a batch of conversations a sample is asked for. If the service knows none of it, those are gone that
 *   two independent sweeps lack; up to 100 others are each asked for first. If it knows one of the sample,
 *   those that the last sweep lacked too are each judged by their own answers;
 * - a conversation on which an answer has decided nothing is in no batch: it is asked for again by turns.
 *
 * A suspect that the service still has refutes the sweep: it acquits the other users or tags, and the whole
 * batch of any list. It is an unlisted row from then on: later sweeps do not suspect it, and it refutes none.
 * A list that leaves out rows is no second witness for users and tags, though: these wait for a person. A day
 * after the service has returned the last of these rows, only they wait.
 *
 * If they are too many, or all users or tags of an inbox, nothing is marked, unless a person accepts it. A
 * consent covers the rows that were missing when it was given, and before this sweep began. Others are judged
 * by the next sweep: the list may be faulty by the time at which the consent is carried out. If an earlier
 * run has read some of the pages, rows are asked for first: the service may have them again. Without an
 * answer, they are held once more.
 *
 * @param options `isResumed`: an earlier run has read some of the pages
 * @returns how many rows are held for a person
 * @throws MirrorError
 */
export async function settleSuspects(
  deps: SweepDeps,
  walked: Sweep,
  options: Settling & { readonly isResumed: boolean },
  tally: Tally,
): Promise<number> {
  const closed = await deps.mirror.suspects.closeWalk(walked, deps.clock.now());
  const { sweep, suspects, unlisted, isLacking, returned, hasAccepted } = closed;
  await askUnlisted(deps, sweep, unlisted, options, tally);
  const ids = await acceptedIds(deps, sweep, options);
  const isAccepted = (suspect: Suspect): boolean => ids.has(suspect.id) && isIndependent(suspect, sweep, 0);
  const accepted = suspects.filter(isAccepted);
  const seen = options.isResumed ? await askForAccepted(deps, sweep, accepted, options, tally) : 'gone';
  if (seen === 'gone') await condemn(deps, sweep, { suspects: accepted, accepted: true }, tally);
  const kept = seen === 'unknown' ? await holdIfNeeded(deps, sweep, accepted, isLacking) : 0;
  const isReturned = seen !== 'gone' && seen !== 'unknown';
  const judgedApart = new Set(isReturned ? [seen] : accepted);
  const others = suspects.filter((suspect) => !judgedApart.has(suspect));
  if (others.length === 0) return kept;
  // The brake does not count the deletions of a sweep that a person has accepted: it deletes no other row.
  const onlyAcquits = options.acceptedBy !== null || hasAccepted;
  const judging = { ...options, onlyAcquits, holdsNames: isLacking };
  if (isLacking || byIdentity(sweep)) {
    const verdict = await judgeSuspects(deps, sweep, others, judging, tally);
    return kept + verdict.held;
  }
  // A row that its list has left out once, and that its search does not find any more, may have another name.
  const waiting = others.filter(({ id }) => returned.has(id));
  const clear = others.filter(({ id }) => !returned.has(id));
  const judged = await judgeSuspects(deps, sweep, clear, judging, tally);
  const { held } = await judgeSuspects(deps, sweep, waiting, { ...judging, holdsNames: true }, tally);
  if (judged.held > 0 && held > 0) await deps.mirror.suspects.hold(sweep, judged.held + held);
  return kept + judged.held + held;
}

/**
 * Asks for the accepted suspects; if they are many, for a part.
 * @returns the first one that the service returns; else `gone` if it does not know one of them, or if there
 *   is none; else `unknown`
 */
async function askForAccepted(
  deps: SweepDeps,
  sweep: Sweep,
  accepted: readonly Suspect[],
  options: Settling,
  tally: Tally,
): Promise<Suspect | 'gone' | 'unknown'> {
  const most = options.askedBefore ? MOST_ASKED_AGAIN : MOST_ACCEPTED_ASKED;
  const asked = spread(accepted, most, sweep.id).slice(0, most);
  if (asked.length === 0) return 'gone';
  const questions = { asked, endsAtFirstFound: true, counts: () => false, mayCondemn: () => false };
  const { answers } = await hearSuspects(deps, sweep, questions, options, tally);
  const returned = asked.find(({ id }) => answers.get(id) === 'there');
  if (returned !== undefined) return returned;
  return [...answers.values()].includes('open') ? 'gone' : 'unknown';
}

async function acceptedIds(
  { mirror }: Pick<SweepDeps, 'mirror'>,
  sweep: Sweep,
  { acceptedBy }: Settling,
): Promise<ReadonlySet<string>> {
  return acceptedBy === null ? new Set() : await mirror.suspects.accepted(sweep, acceptedBy);
}
