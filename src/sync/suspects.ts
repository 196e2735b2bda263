import { isMirrorError, type MirrorError } from '../core/errors.ts';
import type { Suspect } from '../mirror/items/suspects.ts';
import type { Sweep } from '../mirror/sweeps/sweeps.ts';
import { type Answer, askFor } from './ask.ts';
import type { SweepDeps, SweepOptions, Tally } from './deps.ts';

/** Up to 20 suspects of a sweep are each asked for. More are a batch, of which a sample is asked for. */
const MOST_ASKED = 20;

/** Suspects in the sample of a batch. */
const SAMPLE = 5;

/** Its multiples, without their whole part, are spread evenly between 0 and 1. */
const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;

interface Settling extends SweepOptions {
  /** An earlier run of this sweep had already read all pages. */
  readonly askedBefore: boolean;
}

/** The suspects of one sweep. */
interface Case {
  readonly suspects: readonly Suspect[];
  /** Those that an independent earlier sweep did not list either. */
  readonly due: readonly Suspect[];
  readonly isBatch: boolean;
}

/** What the service said of the suspects that it was asked for. */
interface Testimony {
  readonly answers: ReadonlyMap<string, Answer['kind']>;
  /** True if the service was asked for all of them. */
  readonly isWhole: boolean;
}

/**
 * Closes a sweep's walk and decides on its suspects (docs/decisions/0010):
 *
 * - a conversation is gone if the service, asked for its id, does not know it;
 * - an inbox is gone if two independent sweeps lack it and the service does not know its id;
 * - a user or a tag is gone if two independent sweeps lack it: its name may have changed, so that a search
 *   can only show that it is still there;
 * - of a batch of conversations those are gone that two independent sweeps lack, if the service knows none
 *   of a sample. One that it knows acquits the whole batch, of any list.
 *
 * @throws MirrorError
 */
export async function settleSuspects(
  deps: SweepDeps,
  sweep: Sweep,
  options: Settling,
  tally: Tally,
): Promise<void> {
  const { mirror, clock, onEvent, goneAfterMs } = deps;
  const suspects = await mirror.suspects.closeWalk(sweep, clock.now());
  if (suspects.length === 0) return;
  if (options.acceptDeletes) {
    await condemn(deps, sweep, suspects, tally);
    return;
  }
  const due = suspects.filter((suspect) => isIndependent(suspect, sweep, goneAfterMs));
  const isBatch = suspects.length > MOST_ASKED;
  const { answers, isWhole } = await hear(deps, sweep, { suspects, due, isBatch }, options, tally);
  if (isBatch && [...answers.values()].includes('there')) {
    await mirror.suspects.acquit(sweep);
    onEvent({ kind: 'acquitted', key: sweep, suspects: suspects.length });
    return;
  }
  const isRefuted = ({ id }: Suspect): boolean => answers.get(id) === 'there';
  const areGone = isWhole && [...answers.values()].every((answer) => answer === 'gone');
  if (sweep.list === 'users' || sweep.list === 'tags')
    await condemn(
      deps,
      sweep,
      due.filter((suspect) => !isRefuted(suspect)),
      tally,
    );
  else if (sweep.list === 'conversations' && isBatch && areGone) await condemn(deps, sweep, due, tally);
}

/** True if a sweep that ended at least `goneAfterMs` before this one began did not list the suspect. */
function isIndependent({ missingSince }: Suspect, { startedAt }: Sweep, goneAfterMs: number): boolean {
  if (missingSince === null) return false;
  const between = startedAt.getTime() - missingSince.getTime();
  return between > 0 && between >= goneAfterMs;
}

/** Asks for the suspects of a case, or for a sample of a batch. A batch that only waits is not asked for. */
async function hear(
  deps: SweepDeps,
  sweep: Sweep,
  { suspects, due, isBatch }: Case,
  options: Settling,
  tally: Tally,
): Promise<Testimony> {
  const isNew = suspects.some(({ missingSince: since }) => since === null || since >= sweep.startedAt);
  if (isBatch && !isNew && due.length === 0) return { answers: new Map(), isWhole: false };
  const mayCondemn = (suspect: Suspect): boolean =>
    sweep.list === 'inboxes' ? due.includes(suspect) : sweep.list === 'conversations' && !isBatch;
  const ask = async (asked: readonly Suspect[]): Promise<Testimony> =>
    await askEach(deps, sweep, { asked, isBatch, mayCondemn }, options, tally);
  if (!isBatch) return await ask(suspects);
  const sample = sampleOf(due, suspects, sweep.id);
  const heard = await ask(sample);
  const isOpen = heard.isWhole && ![...heard.answers.values()].includes('there');
  if (sweep.list !== 'inboxes' || !isOpen) return heard;
  // An inbox takes all its rows with it, so that each one is asked for.
  return await ask(due.filter((suspect) => !sample.includes(suspect)));
}

/**
 * Chooses the sample of a batch: suspects that may be condemned now, then others, spread over the ids. The
 * sweep's id moves it, so that each sweep asks for other rows.
 */
function sampleOf(due: readonly Suspect[], suspects: readonly Suspect[], sweepId: number): Suspect[] {
  const first = spread(due, SAMPLE, sweepId);
  const others = suspects.filter((suspect) => !due.includes(suspect));
  return [...first, ...spread(others, SAMPLE - first.length, sweepId)];
}

function spread(suspects: readonly Suspect[], many: number, sweepId: number): Suspect[] {
  const step = suspects.length / many;
  if (step <= 1) return [...suspects];
  const shift = ((sweepId * GOLDEN_RATIO) % 1) * step;
  return Array.from({ length: many }, (_, part) => suspects[Math.floor(part * step + shift)] ?? []).flat();
}

interface Questions {
  readonly asked: readonly Suspect[];
  readonly isBatch: boolean;
  /** True if an answer that the service does not know the suspect is its second witness. */
  readonly mayCondemn: (suspect: Suspect) => boolean;
}

/** Asks for each suspect and writes each answer at once. Of a batch, one that is still there is enough. */
async function askEach(
  { client, mirror, clock, onEvent, signal }: SweepDeps,
  sweep: Sweep,
  { asked, isBatch, mayCondemn }: Questions,
  { reason, askedBefore }: Settling,
  tally: Tally,
): Promise<Testimony> {
  const answers = new Map<string, Answer['kind']>();
  onEvent({ kind: 'asking', key: sweep, suspects: asked.length });
  try {
    for (const suspect of asked) {
      // A probe has priority over scheduled sweeps, but not over a command's pages.
      const call = { reason: 'probe', scheduled: reason === 'schedule', signal } as const;
      const answer = await askFor(client, sweep, suspect, call);
      const isGone = answer.kind === 'gone' && mayCondemn(suspect);
      const found = answer.kind === 'there' ? answer.item : null;
      const changed = await mirror.suspects.settle(sweep, suspect, { found, isGone, now: clock.now() });
      const tombstoned = isGone ? 1 : 0;
      tally.changed += changed;
      tally.deleted += tombstoned;
      onEvent({ kind: 'rows', key: sweep, rows: { changed, tombstoned } });
      answers.set(suspect.id, answer.kind);
      if (isBatch && found !== null) break;
    }
    return { answers, isWhole: true };
  } catch (error) {
    if (!isNoWitness(error, askedBefore)) throw error;
    onEvent({ kind: 'asking-ended', key: sweep, cause: error.message });
    return { answers, isWhole: false };
  }
}

/**
 * True if the service cannot answer for a suspect; the suspects then wait for the next complete sweep.
 *
 * A request that fails pauses the sweep once, because an outage may be the cause. The second time the sweep
 * completes: an item whose requests always fail must not keep its list incomplete.
 */
function isNoWitness(error: unknown, askedBefore: boolean): error is MirrorError {
  return (
    isMirrorError(error, 'REQUEST_REFUSED', 'BAD_ANSWER') ||
    (askedBefore && isMirrorError(error, 'ANSWER_FAILED', 'SERVICE_DOWN'))
  );
}

async function condemn(
  { mirror, clock, onEvent }: SweepDeps,
  sweep: Sweep,
  suspects: readonly Suspect[],
  tally: Tally,
): Promise<void> {
  if (suspects.length === 0) return;
  await mirror.suspects.condemn(sweep, suspects, clock.now());
  tally.deleted += suspects.length;
  onEvent({ kind: 'rows', key: sweep, rows: { tombstoned: suspects.length } });
}
