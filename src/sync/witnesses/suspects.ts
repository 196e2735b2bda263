import { SEARCHED_BY } from '../../core/lists.ts';
import type { Suspect } from '../../mirror/items/suspects/suspects.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { SweepDeps, Tally } from '../deps.ts';
import { hearSuspects, type Settling, type Testimony } from './hearing.ts';
import { spread } from './sample.ts';
import { askUnlisted } from './unlisted.ts';
import { takeTurns } from './waiting.ts';

/** Up to 20 suspects of a sweep are each asked for. More are a batch, of which a sample is asked for. */
const MOST_ASKED = 20;

/** Suspects in the sample of a batch. */
const SAMPLE = 5;

/**
 * Up to 100 conversations of a batch are each asked for after its sample: a list may leave out a few rows
 * while many others are deleted. More would take too large a part of a day's budget.
 */
const MOST_ASKED_AFTER_SAMPLE = 100;

/** The suspects of one sweep. */
interface Case {
  readonly suspects: readonly Suspect[];
  /** Those that this sweep may condemn: one more witness is enough, or none is needed. */
  readonly due: readonly Suspect[];
  readonly isBatch: boolean;
  /** A person must decide on the due ones. */
  readonly isHeld: boolean;
}

/**
 * Closes a sweep's walk and decides on its suspects (docs/decisions/0010):
 *
 * - a conversation is gone if the service, asked for its id, does not know it, although it returns others;
 * - an inbox is gone if two independent sweeps lack it and the service does not know its id;
 * - a user or a tag is gone if two independent sweeps lack it and list others: its name may have changed, so
 *   that a search can only show that it is still there;
 * - of a batch of conversations a sample is asked for. If the service knows none of it, those are gone that
 *   two independent sweeps lack; up to 100 others are each asked for first. If it knows one of the sample,
 *   those that the last sweep lacked too are each judged by their own answers.
 *
 * A suspect that the service still has refutes the sweep: it acquits the other users or tags, and the whole
 * batch of any list. It is an unlisted row from then on: later sweeps do not suspect it, and it refutes none.
 * A list that leaves out rows is no second witness for users and tags, though: these wait for a person, the
 * unlisted ones too.
 *
 * If they are too many, or all users or tags of an inbox, nothing is marked, unless a person accepts it. A
 * consent covers the rows that were missing when it was given, and before this sweep began. Others are judged
 * by the next sweep: the list may be faulty by the time at which the consent is carried out.
 *
 * @returns how many rows are held for a person
 * @throws MirrorError
 */
export async function settleSuspects(
  deps: SweepDeps,
  walked: Sweep,
  options: Settling,
  tally: Tally,
): Promise<number> {
  const closed = await deps.mirror.suspects.closeWalk(walked, deps.clock.now());
  const { sweep, suspects, unlisted, isLacking, hasAccepted } = closed;
  await askUnlisted(deps, sweep, unlisted, options, tally);
  const ids = await acceptedIds(deps, sweep, options);
  const isAccepted = (suspect: Suspect): boolean => ids.has(suspect.id) && isIndependent(suspect, sweep, 0);
  await condemn(deps, sweep, { suspects: suspects.filter(isAccepted), accepted: true }, tally);
  const others = suspects.filter((suspect) => !isAccepted(suspect));
  if (others.length === 0) return 0;
  // The brake does not count the deletions of a sweep that a person has accepted: it deletes no other row.
  const onlyAcquits = options.acceptedBy !== null || hasAccepted;
  const readBefore = await lastRead(deps, sweep, options);
  const judging = { ...options, onlyAcquits, isLacking, readBefore };
  const { held } = await judgeSuspects(deps, sweep, others, judging, tally);
  return held;
}

/** When the list's last complete sweep began, epoch ms; null if none has, and for a resync to ask for all. */
async function lastRead(
  { mirror }: Pick<SweepDeps, 'mirror'>,
  sweep: Sweep,
  { reason }: Settling,
): Promise<number | null> {
  if (reason === 'resync') return null;
  return (await mirror.sweeps.lastComplete(sweep))?.startedAt.getTime() ?? null;
}

async function acceptedIds(
  { mirror }: Pick<SweepDeps, 'mirror'>,
  sweep: Sweep,
  { acceptedBy }: Settling,
): Promise<ReadonlySet<string>> {
  return acceptedBy === null ? new Set() : await mirror.suspects.accepted(sweep, acceptedBy);
}

/** How the suspects of a sweep, or of a page that was read singly, were decided. */
interface Verdict {
  /** Rows that wait for a person. */
  readonly held: number;
  /** Suspects that the service still has, among those that it was asked for. */
  readonly refuted: readonly string[];
}

interface Judging extends Settling {
  readonly onlyAcquits?: boolean;
  readonly isLacking?: boolean;
  readonly readBefore?: number | null;
  readonly singly?: boolean;
}

/**
 * Decides on suspects as {@link settleSuspects} does. `sweep` may be a round (`AppliedPage.round`).
 * @param options `onlyAcquits`: no row is deleted, but those that the service still has are acquitted.
 *   `isLacking`: the list leaves out rows that the service has. `readBefore`: as for {@link takeTurns}.
 *   `singly`: each one is asked for, however many they are
 */
export async function judgeSuspects(
  deps: SweepDeps,
  sweep: Sweep,
  all: readonly Suspect[],
  options: Judging,
  tally: Tally,
): Promise<Verdict> {
  const { mirror, onEvent, goneAfterMs } = deps;
  const { onlyAcquits = false, isLacking = false, readBefore = null, singly = false } = options;
  const suspects = await takeTurns(deps, sweep, all, readBefore);
  if (suspects.length === 0) return { held: 0, refuted: [] };
  const isBatch = !singly && suspects.length > MOST_ASKED;
  const isDue = (suspect: Suspect): boolean =>
    (sweep.list === 'conversations' && !isBatch) || isIndependent(suspect, sweep, goneAfterMs);
  const due = onlyAcquits ? [] : suspects.filter(isDue);
  const isHeld = await needsPerson(deps, sweep, due, isLacking);
  const testimony = await hear(deps, sweep, { suspects, due, isBatch, isHeld }, options, tally);
  const refuted = suspects.flatMap(({ id }) => (testimony.answers.get(id) === 'there' ? id : []));
  if ((isBatch || !byIdentity(sweep)) && refuted.length > 0) {
    const others = suspects.filter(({ id }) => !refuted.includes(id));
    const doubted = await missedAgain(deps, sweep, others);
    const inTurn = new Set(suspects);
    const waiting = all.filter((suspect) => !inTurn.has(suspect));
    await mirror.suspects.acquit(sweep, [...waiting, ...doubted]);
    onEvent({ kind: 'acquitted', key: sweep, suspects: suspects.length - doubted.length });
    if (doubted.length === 0) return { held: 0, refuted };
    const verdict = await judgeSuspects(deps, sweep, doubted, options, tally);
    return { held: verdict.held, refuted: [...refuted, ...verdict.refuted] };
  }
  const left = due.filter(({ id }) => !['there', 'gone'].includes(testimony.answers.get(id) ?? ''));
  if (isHeld) return { held: await hold(deps, sweep, left, isLacking), refuted };
  if (isBatch && mayAskEach(testimony, sweep, left))
    return await judgeSuspects(deps, sweep, left, { ...options, readBefore: null, singly: true }, tally);
  if (provesAbsence(testimony, sweep, isBatch))
    await condemn(deps, sweep, { suspects: left, accepted: false }, tally);
  return { held: 0, refuted };
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
  return spread(again, sweep.items === 0 ? SAMPLE : MOST_ASKED, sweep.id);
}

/** True if the service can be asked for the list's items by their ids. */
function byIdentity({ list }: Sweep): boolean {
  return SEARCHED_BY[list] === null;
}

function hasRefuted({ answers }: Testimony): boolean {
  return [...answers.values()].includes('there');
}

/** True if some of a batch's sample are gone, and the other conversations of the batch are not too many. */
function mayAskEach({ answers, isWhole }: Testimony, { list }: Sweep, left: readonly Suspect[]): boolean {
  const isSomeGone = isWhole && [...answers.values()].includes('gone');
  return list === 'conversations' && isSomeGone && left.length <= MOST_ASKED_AFTER_SAMPLE;
}

/** True if all suspects that are due are gone. Otherwise each one is marked by its own answer, or waits. */
function provesAbsence({ answers, isWhole }: Testimony, { list }: Sweep, isBatch: boolean): boolean {
  if (SEARCHED_BY[list] !== null) return true;
  const isSampleGone = isWhole && [...answers.values()].every((answer) => answer === 'gone');
  return list === 'conversations' && isBatch && isSampleGone;
}

/**
 * True if a person must decide: the suspects are too many, or all users or tags of an inbox, or such a list
 * leaves out rows. An empty or cut answer often comes twice. A search may find nothing either, if a row was
 * renamed, and no question by id can refute the answer.
 */
async function needsPerson(
  { mirror, clock }: Pick<SweepDeps, 'mirror' | 'clock'>,
  sweep: Sweep,
  due: readonly Suspect[],
  isLacking: boolean,
): Promise<boolean> {
  if (due.length === 0) return false;
  if (!byIdentity(sweep) && (isLacking || sweep.items + sweep.rejected === 0)) return true;
  return await mirror.suspects.exceedsBrake(sweep, due, clock.now());
}

/** Holds the suspects that still need a person after the service's answers. */
async function hold(deps: SweepDeps, sweep: Sweep, due: readonly Suspect[], isLacking: boolean) {
  const { mirror, onEvent } = deps;
  const isHeld = await needsPerson(deps, sweep, due, isLacking);
  const held = isHeld ? due.length : 0;
  await mirror.suspects.hold(sweep, held);
  if (isHeld) onEvent({ kind: 'held', key: sweep, rows: held });
  return held;
}

/** True if a sweep that ended at least `goneAfterMs` before this one began did not list the suspect. */
function isIndependent({ missingSince }: Suspect, { startedAt }: Sweep, goneAfterMs: number): boolean {
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
  const isOld = ({ missingSince: since }: Suspect): boolean => since !== null && since < sweep.startedAt;
  const [old, fresh] = [suspects.filter(isOld), suspects.filter((suspect) => !isOld(suspect))];
  const mayDecide = due.length > 0 && !isHeld;
  if (fresh.length === 0 && !mayDecide && (isBatch || isHeld)) return { answers: new Map(), isWhole: false };
  const mayCondemn = (suspect: Suspect): boolean => byIdentity(sweep) && !isHeld && due.includes(suspect);
  const counts = (suspect: Suspect): boolean => mayDecide && (isBatch || due.includes(suspect));
  const ask = async (asked: readonly Suspect[]): Promise<Testimony> =>
    await hearSuspects(deps, sweep, { asked, isBatch, counts, mayCondemn }, options, tally);
  // Each of those that are equally old is the first at some sweep: two that fail in a row end the questions.
  if (!isBatch) return await ask([...fresh, ...spread(old, old.length, sweep.id)].toSorted(byNewest));
  const sample = sampleOf(due, suspects, sweep.id);
  const heard = await ask(sample);
  const isOpen = heard.isWhole && !hasRefuted(heard) && mayDecide;
  if (sweep.list !== 'inboxes' || !isOpen) return heard;
  // An inbox takes all its rows with it, so that each one is asked for.
  return await ask(due.filter((suspect) => !sample.includes(suspect)));
}

/** The newest suspicion first: rows whose questions always fail must not end the questions for others. */
function byNewest({ missingSince: a }: Suspect, { missingSince: b }: Suspect): number {
  return (b?.getTime() ?? Number.MAX_SAFE_INTEGER) - (a?.getTime() ?? Number.MAX_SAFE_INTEGER);
}

/**
 * Chooses the sample of a batch, spread over the ids: suspects that may be condemned now, then others. The
 * sweep's id moves it, so that each sweep asks for other rows. Where the sample does not decide for the
 * others, the newest suspicions go first: older ones may wait for an answer that never comes.
 */
function sampleOf(due: readonly Suspect[], suspects: readonly Suspect[], sweepId: number): Suspect[] {
  const decides = due.length > SAMPLE + MOST_ASKED_AFTER_SAMPLE;
  const [newest] = due.toSorted(byNewest);
  const first = decides ? due : due.filter((suspect) => newest && byNewest(suspect, newest) === 0);
  const sample: Suspect[] = [];
  for (const group of [first, due, suspects]) {
    const others = group.filter((suspect) => !sample.includes(suspect));
    sample.push(...spread(others, SAMPLE - sample.length, sweepId));
  }
  return sample;
}

async function condemn(
  { mirror, clock, onEvent }: SweepDeps,
  sweep: Sweep,
  { suspects, accepted }: { suspects: readonly Suspect[]; accepted: boolean },
  tally: Tally,
): Promise<void> {
  if (suspects.length === 0) return;
  await mirror.suspects.condemn(sweep, suspects, { accepted, now: clock.now() });
  tally.deleted += suspects.length;
  onEvent({ kind: 'rows', key: sweep, rows: { tombstoned: suspects.length } });
}
