import type { Suspect } from '../../mirror/items/suspects/suspects.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import { countRows, type SweepDeps, type Tally } from '../deps.ts';
import { byIdentity } from './ask.ts';
import { searchFinds } from './control.ts';
import { hearSuspects, isResumedSearch, questionCall, type Settling, type Testimony } from './hearing.ts';
import { decidesForOthers, MOST_ASKED_AFTER_SAMPLE, SAMPLE, sampleOf, spread } from './sample.ts';
import { chooseAskable } from './askable.ts';

/** Up to 20 suspects of a sweep are each asked for. More are a batch, of which a sample is asked for. */
export const MOST_SINGLE = 20;

/** Up to three users or tags of a sweep are deleted although no search works. */
const MOST_UNPROVEN = 3;

/** The suspects of one sweep. */
interface Case {
  readonly suspects: readonly Suspect[];
  /** Those that this sweep may condemn: one more witness is enough, or none is needed. */
  readonly due: readonly Suspect[];
  readonly isBatch: boolean;
  /** A person must decide on the due ones. */
  readonly isHeld: boolean;
}

/** How the suspects of a sweep, or of a page that was read singly, were decided. */
interface Verdict {
  /** Rows that wait for a person. */
  readonly held: number;
  /** Suspects that the service still has, among those that it was asked for. */
  readonly refuted: readonly string[];
}

interface Judged extends Verdict {
  /** The service's answers cannot be used: no further question is asked. */
  readonly isCut: boolean;
}

interface Judging extends Settling {
  readonly onlyAcquits?: boolean;
  readonly holdsNames?: boolean;
  readonly singly?: boolean;
}

const NOTHING: Judged = { held: 0, refuted: [], isCut: false };

/**
 * Decides on suspects as `settleSuspects` does. `sweep` may be a round (`AppliedPage.round`).
 * @param options `onlyAcquits`: no row is deleted, but those that the service still has are acquitted.
 *   `holdsNames`: users and tags wait for a person, because their list leaves out rows
 */
export async function judgeSuspects(
  deps: SweepDeps,
  sweep: Sweep,
  suspects: readonly Suspect[],
  options: Omit<Judging, 'singly'>,
  tally: Tally,
): Promise<Verdict> {
  const { fresh, again } = await chooseAskable(deps, sweep, suspects, options);
  let verdict = await judge(deps, sweep, fresh, options, tally);
  // As long as all of them are gone, as after an outage of the questions, more follow.
  for (let from = 0; from < Math.min(again.length, MOST_ASKED_AFTER_SAMPLE); from += MOST_SINGLE) {
    if (verdict.isCut) break;
    const part = again.slice(from, from + MOST_SINGLE);
    const { deleted } = tally;
    verdict = both(verdict, await judge(deps, sweep, part, options, tally));
    if (tally.deleted - deleted < part.length && options.reason !== 'resync') break;
  }
  return verdict;
}

function both(first: Judged, second: Judged): Judged {
  return {
    held: first.held + second.held,
    refuted: [...first.refuted, ...second.refuted],
    isCut: first.isCut || second.isCut,
  };
}

/** Decides on suspects together. @param options `singly`: each one is asked for, however many they are */
async function judge(
  deps: SweepDeps,
  sweep: Sweep,
  suspects: readonly Suspect[],
  options: Judging,
  tally: Tally,
): Promise<Judged> {
  if (suspects.length === 0) return NOTHING;
  const { goneAfterMs } = deps;
  const { onlyAcquits = false, holdsNames = false, singly = false } = options;
  const isBatch = !singly && suspects.length > MOST_SINGLE;
  const isDue = (suspect: Suspect): boolean =>
    (sweep.list === 'conversations' && !isBatch) || isIndependent(suspect, sweep, goneAfterMs);
  const due = onlyAcquits ? [] : suspects.filter(isDue);
  const isHeld = await needsPerson(deps, sweep, due, holdsNames);
  // A round carries on what an earlier sweep held.
  if (due.length > 0 && !isHeld) await deps.mirror.suspects.hold(sweep, 0);
  const testimony = await hear(deps, sweep, { suspects, due, isBatch, isHeld }, options, tally);
  const { answers, extent } = testimony;
  const refuted = suspects.flatMap(({ id }) => (answers.get(id) === 'there' ? id : []));
  const judged: Judged = { held: 0, refuted, isCut: extent === 'cut' || extent === 'unanswered' };
  if ((isBatch || !byIdentity(sweep)) && refuted.length > 0)
    return both(judged, await judgeRefuted(deps, sweep, { suspects, refuted }, options, tally));
  const left = due.filter(({ id }) => !['there', 'gone'].includes(answers.get(id) ?? ''));
  if (isHeld) return { ...judged, held: await holdIfNeeded(deps, sweep, left, holdsNames) };
  if (provesAbsence(testimony, sweep, { isBatch, left })) {
    if (await isUnproven(deps, sweep, left, options))
      return { ...judged, held: await hold(deps, sweep, left.length) };
    const unclear = byIdentity(sweep) ? [] : unclearIn(testimony, left, isBatch);
    // If the questions ended early, the others wait for the next sweep.
    const isJudged = ({ id }: Suspect): boolean => (isBatch && decidesForOthers(due)) || answers.has(id);
    const clear = left.filter((suspect) => isJudged(suspect) && !unclear.includes(suspect));
    await condemn(deps, sweep, { suspects: clear, accepted: false }, tally);
    if (unclear.length > 0) return { ...judged, held: await hold(deps, sweep, unclear.length) };
  } else if (isBatch && extent === 'whole') {
    const each = askedEach(testimony, sweep, left);
    return both(judged, await judge(deps, sweep, each, { ...options, singly: true }, tally));
  }
  return judged;
}

/** The service still has some of the suspects: the others are acquitted, or judged by their own answers. */
async function judgeRefuted(
  deps: SweepDeps,
  sweep: Sweep,
  { suspects, refuted }: { suspects: readonly Suspect[]; refuted: readonly string[] },
  options: Judging,
  tally: Tally,
): Promise<Judged> {
  const others = suspects.filter(({ id }) => !refuted.includes(id));
  const doubted = await missedAgain(deps, sweep, others);
  const acquitted = others.filter((suspect) => !doubted.includes(suspect));
  await deps.mirror.suspects.acquit(sweep, acquitted);
  deps.onEvent({ kind: 'acquitted', key: sweep, suspects: suspects.length - doubted.length });
  return await judge(deps, sweep, doubted, options, tally);
}

/**
 * The conversations of a refuted batch that the last complete sweep did not list either, at most 20 of them.
 * Their own answers decide: in a list whose rows slip between the pages of each walk, no other witness would
 * ever find that one is gone.
 */
async function missedAgain(
  { mirror }: Pick<SweepDeps, 'mirror'>,
  sweep: Sweep,
  suspects: readonly Suspect[],
): Promise<readonly Suspect[]> {
  if (sweep.list !== 'conversations') return [];
  const again = await mirror.suspects.lackedBefore(sweep, suspects);
  // An empty list leaves out every row, and its rows are not found one by one.
  return spread(again, sweep.items === 0 ? SAMPLE : MOST_SINGLE, sweep.id);
}

/**
 * The conversations of a batch that are each asked for after its sample, which refutes none: all, if some of
 * the sample are gone and the others are not too many; otherwise the 20 newest suspicions.
 */
function askedEach({ answers }: Testimony, { list }: Sweep, left: readonly Suspect[]): readonly Suspect[] {
  if (list !== 'conversations') return [];
  const others = left.filter(({ id }) => !answers.has(id));
  const isSomeGone = [...answers.values()].includes('gone');
  return isSomeGone && others.length <= MOST_ASKED_AFTER_SAMPLE ? others : others.slice(0, MOST_SINGLE);
}

/**
 * True if the suspects that are `left` are gone: users and tags, and more than 100 conversations of a batch
 * whose sample is gone. Otherwise each one is marked by its own answer, or waits.
 */
function provesAbsence(
  { answers, extent }: Testimony,
  sweep: Sweep,
  { isBatch, left }: { isBatch: boolean; left: readonly Suspect[] },
): boolean {
  // A search that failed can still acquit its row. One that the service refuses (4xx) never will.
  if (!byIdentity(sweep)) return extent !== 'unanswered' && ![...answers.values()].includes('unanswered');
  if (sweep.list !== 'conversations' || !isBatch || left.length <= MOST_ASKED_AFTER_SAMPLE) return false;
  return extent === 'whole' && [...answers.values()].every((answer) => answer === 'gone');
}

/**
 * Users or tags that a person must decide on: their search has further rows, or they are too many whose
 * search is refused, or that have no address or name to search by. Of a batch, all of them if one is so.
 */
function unclearIn({ answers }: Testimony, left: readonly Suspect[], isBatch: boolean): readonly Suspect[] {
  const unheard = left.filter(({ id, askBy }) => !askBy || answers.get(id) === 'unusable');
  const partial = left.filter(({ id }) => answers.get(id) === 'partial');
  // The searches that a later run sends may be refused too.
  const unsure = left.filter(({ id, askBy }) => !askBy || (answers.get(id) ?? 'unusable') === 'unusable');
  const unclear = unheard.length > 0 && unsure.length > MOST_UNPROVEN ? [...unheard, ...partial] : partial;
  return isBatch && unclear.length > 0 ? left : unclear;
}

/**
 * True if more users or tags are due than may be deleted without a search that works: a list that ends early
 * for some hours, and a search that is refused or finds nothing, would delete all that the list lacks.
 */
async function isUnproven(
  deps: SweepDeps,
  sweep: Sweep,
  due: readonly Suspect[],
  options: Settling,
): Promise<boolean> {
  if (due.length <= MOST_UNPROVEN || byIdentity(sweep)) return false;
  const call = questionCall(deps, options);
  const finds = (): Promise<boolean> => searchFinds(deps, sweep, options.askedBefore, call);
  return !(await deps.account.sendProven(deps.client, call, finds));
}

/**
 * True if a person must decide: the suspects are too many, or all users or tags of an inbox, or such a list
 * leaves out rows (`holdsNames`). An empty or cut answer often comes twice. A search may find nothing either,
 * if a row was renamed, and no question by id can refute the answer.
 */
async function needsPerson(
  { mirror, clock }: Pick<SweepDeps, 'mirror' | 'clock'>,
  sweep: Sweep,
  due: readonly Suspect[],
  holdsNames: boolean,
): Promise<boolean> {
  if (due.length === 0) return false;
  if (!byIdentity(sweep) && (holdsNames || sweep.items + sweep.rejected === 0)) return true;
  return await mirror.suspects.exceedsBrake(sweep, due, clock.now());
}

/** Holds the suspects if they still need a person after the service's answers. */
export async function holdIfNeeded(
  deps: SweepDeps,
  sweep: Sweep,
  due: readonly Suspect[],
  holdsNames: boolean,
): Promise<number> {
  return await hold(deps, sweep, (await needsPerson(deps, sweep, due, holdsNames)) ? due.length : 0);
}

/** Holds `rows` deletions. A sweep reports it once, although a round judges the suspects of each page. */
async function hold({ mirror, onEvent }: SweepDeps, sweep: Sweep, rows: number): Promise<number> {
  const before = await mirror.suspects.hold(sweep, rows);
  if (rows > 0 && before === 0) onEvent({ kind: 'held', key: sweep, rows });
  return rows;
}

/** True if a sweep that ended at least `goneAfterMs` before this one began did not list the suspect. */
export function isIndependent({ missingSince }: Suspect, { startedAt }: Sweep, goneAfterMs: number): boolean {
  if (missingSince === null) return false;
  const between = startedAt.getTime() - missingSince.getTime();
  return between > 0 && between >= goneAfterMs;
}

/**
 * Asks for the suspects of a case, or for a sample of a batch. Suspects that only wait for a person or for
 * time are not asked for again and again.
 */
async function hear(
  deps: SweepDeps,
  sweep: Sweep,
  { suspects, due, isBatch, isHeld }: Case,
  options: Settling,
  tally: Tally,
): Promise<Testimony> {
  const isNew = ({ missingSince: since }: Suspect): boolean => since === null || since >= sweep.startedAt;
  const mayDecide = due.length > 0 && !isHeld;
  if (!mayDecide && (isBatch || isHeld) && !suspects.some(isNew))
    return { answers: new Map(), extent: 'none' };
  const mayCondemn = (suspect: Suspect): boolean => byIdentity(sweep) && mayDecide && due.includes(suspect);
  const counts = (suspect: Suspect): boolean => mayDecide && (isBatch || due.includes(suspect));
  const ask = async (asked: readonly Suspect[]): Promise<Testimony> =>
    await hearSuspects(deps, sweep, { asked, endsAtFirstFound: isBatch, counts, mayCondemn }, options, tally);
  // Conversations take turns. Of others, each is the first at some sweep: two that fail end the questions.
  const inTurn = sweep.list === 'conversations' ? suspects : spread(suspects, suspects.length, sweep.id);
  if (!isBatch) return await ask(isResumedSearch(sweep, options) ? inTurn.slice(0, SAMPLE) : inTurn);
  const sample = sampleOf(due, suspects, sweep.id);
  const heard = await ask(sample);
  const isRefuted = [...heard.answers.values()].includes('there');
  // An inbox takes all its rows with it. A list may leave out single users or tags while many others go.
  const asksEach = sweep.list === 'inboxes' || (!byIdentity(sweep) && !decidesForOthers(due));
  const isCutShort = isResumedSearch(sweep, options) || heard.extent !== 'whole';
  if (!asksEach || isCutShort || isRefuted || !mayDecide) return heard;
  const { answers, extent } = await ask(due.filter((suspect) => !sample.includes(suspect)));
  return { answers: new Map([...heard.answers, ...answers]), extent };
}

/** Sets the tombstones of suspects. @param accepted a person has accepted them */
export async function condemn(
  deps: SweepDeps,
  sweep: Sweep,
  { suspects, accepted }: { suspects: readonly Suspect[]; accepted: boolean },
  tally: Tally,
): Promise<void> {
  if (suspects.length === 0) return;
  await deps.mirror.suspects.condemn(sweep, suspects, { accepted, now: deps.clock.now() });
  countRows(deps, sweep, tally, { deleted: suspects.length });
}
