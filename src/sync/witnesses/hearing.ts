import { isMirrorError, messageWithoutAdvice, type MirrorError } from '../../core/errors.ts';
import type { AbsentRow } from '../../mirror/items/suspects/closed-walk.ts';
import type { Side, Suspect } from '../../mirror/items/suspects/suspects.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import { type Answer, askFor, byIdentity, isNoWitness, isThrottledQuestion } from './ask.ts';
import { type Control, control, searchFinds } from './control.ts';
import type { CallOptions } from '../../service/client.ts';
import { doubtOf } from '../account/single.ts';
import { countRows, type SweepDeps, type SweepOptions, type Tally } from '../deps.ts';

/**
 * At most 5 suspects between two control questions. Their 404s are written after the second one: if the day's
 * budget ends before it, at most 5 are asked for again. After an earlier run the first part is one suspect,
 * for 4 requests: with 5, runs that have a few requests each never ended.
 */
const PART = 5;

/** After 5 pairs of answers that cannot be used, no other suspect is asked for. */
const MOST_FAULTY_PAIRS = 5;

/** Why a 404 proves nothing. */
const NO_PROOF = {
  'not-returned': 'the service does not return a row by its id that its list shows',
  'no-other-row':
    'the list shows no other row, so that nothing proves that the service returns its rows by their ' +
    'id; a resync with --accept-deletes deletes them',
  unsteady:
    'in the last 6 hours the service did not know a row by its id, and later returned it; perhaps one of ' +
    'its servers has no rows',
};

export interface Settling extends SweepOptions {
  /** An earlier run of this sweep had already read all pages. */
  readonly askedBefore: boolean;
}

export interface Questions {
  readonly asked: readonly AbsentRow[];
  /** Rows that the list lacks, and that are no suspects yet. */
  readonly lacking?: readonly string[];
  /** True if one suspect that is still there is enough. */
  readonly endsAtFirstFound: boolean;
  /** True if a 404 for the suspect decides something now. Otherwise it is not put to the proof. */
  readonly counts: (suspect: Suspect) => boolean;
  /** True if an answer that the service does not know the suspect is its second witness. */
  readonly mayCondemn: (suspect: Suspect) => boolean;
}

/**
 * `unusable`: the answer cannot be used. `unanswered`: there was none. `partial`: the search has further
 * rows.
 */
type Heard = Answer['kind'] | 'unusable' | 'unanswered' | 'partial';

/** The service's answers for the suspects that it was asked for. */
export interface Testimony {
  readonly answers: ReadonlyMap<string, Heard>;
  /**
   * `whole`: the service was asked for all of them. `cut`: its answers cannot be used, or its 404s prove
   * nothing. `unanswered`: a 429 or a failure has ended the questions. `none`: it was asked for none.
   */
  readonly extent: 'whole' | 'cut' | 'unanswered' | 'none';
}

/** The errors of a question that has no answer, but may have one later. */
const UNANSWERED = ['ANSWER_FAILED', 'SERVICE_DOWN'] as const;

const QUESTIONS_REST = 'such questions have drawn 429s and rest for some hours; nothing was asked';

/**
 * Asks for each suspect of a sweep and writes the answers.
 *
 * A 404 counts only between two proofs that the service returns rows by their id (docs/decisions/0025). An
 * outage that begins or ends outside of a part's questions therefore condemns no row.
 * @throws MirrorError
 */
export async function hearSuspects(
  deps: SweepDeps,
  sweep: Sweep,
  questions: Questions,
  settling: Settling,
  tally: Tally,
): Promise<Testimony> {
  const hearing = new Hearing(deps, sweep, questions, settling, tally);
  if (await deps.mirror.questionsRest(sweep, deps.clock.now())) {
    deps.onEvent({ kind: 'asking-ended', key: sweep, cause: QUESTIONS_REST });
    return { answers: hearing.answers, extent: 'unanswered' };
  }
  deps.onEvent({ kind: 'asking', key: sweep, suspects: questions.asked.length });
  try {
    await hearing.hear();
    return { answers: hearing.answers, extent: hearing.isWithheld ? 'cut' : 'whole' };
  } catch (error) {
    const isThrottled = isThrottledQuestion(error, settling.askedBefore);
    if (!isThrottled && !isNoWitness(error, settling.askedBefore)) throw error;
    deps.onEvent({ kind: 'asking-ended', key: sweep, cause: messageWithoutAdvice(error) });
    const isUnanswered = isThrottled || isMirrorError(error, ...UNANSWERED);
    return { answers: hearing.answers, extent: isUnanswered ? 'unanswered' : 'cut' };
  }
}

/** How a question is sent. A probe has priority over scheduled sweeps, but not over a command's pages. */
export function questionCall({ signal }: SweepDeps, { reason, askedBefore }: Settling): CallOptions {
  // After an earlier run one try is enough: more never ended where the day's budget ends between them.
  const tries = askedBefore ? { tries: 1 } : {};
  return { reason: 'probe', scheduled: reason === 'schedule', signal, ...tries };
}

/**
 * True if an earlier run could not send all searches of a sweep. A search that finds nothing leaves no mark,
 * so that short runs would begin with the same ones each time. A few are sent, and the others wait for the
 * next sweep.
 */
export function isResumedSearch(sweep: Sweep, { askedBefore }: Settling): boolean {
  return askedBefore && !byIdentity(sweep);
}

class Hearing {
  readonly answers = new Map<string, Heard>();
  readonly #deps: SweepDeps;
  readonly #sweep: Sweep;
  readonly #questions: Questions;
  readonly #tally: Tally;
  readonly #askedBefore: boolean;
  readonly #acceptAccount: boolean;
  readonly #call: CallOptions;
  /** The result of the last control question; null if a 404 needs a new one. */
  #proof: Control | 'unsteady' | null = null;
  /** The last answer could not be used. */
  #isFaulty = false;
  #faultyPairs = 0;

  constructor(deps: SweepDeps, sweep: Sweep, questions: Questions, settling: Settling, tally: Tally) {
    this.#deps = deps;
    this.#sweep = sweep;
    this.#questions = questions;
    this.#tally = tally;
    this.#askedBefore = settling.askedBefore;
    this.#acceptAccount = settling.acceptAccount;
    this.#call = questionCall(deps, settling);
  }

  /** True if a control question has failed. */
  get isWithheld(): boolean {
    return this.#proof !== null && this.#proof !== 'returned';
  }

  async hear(): Promise<void> {
    const { asked } = this.#questions;
    let from = 0;
    for (let size = this.#askedBefore ? 1 : PART; from < asked.length; size = PART) {
      if (!(await this.#hearPart(asked.slice(from, from + size)))) return;
      from += size;
    }
  }

  /** @returns false if no further question is necessary */
  async #hearPart(part: readonly Suspect[]): Promise<boolean> {
    const { endsAtFirstFound, counts } = this.#questions;
    const gone: Suspect[] = [];
    /** The suspect that was asked for before and after the first control question. */
    let askedTwice: Suspect | null = null;
    let end: MirrorError | undefined;
    for (const suspect of part) {
      let answer = await this.#ask(suspect);
      const fault = answer.kind === 'open' ? answer.fault : undefined;
      // Single rows may be unreadable. After two in a row perhaps all are, or the route does not work.
      if (fault !== undefined && this.#isFaulty) {
        await this.#settle(suspect, answer);
        if (!(await this.#mayContinue(suspect))) {
          end = fault;
          break;
        }
        this.#isFaulty = false;
        continue;
      }
      this.#isFaulty = fault !== undefined;
      if (answer.kind === 'gone' && counts(suspect) && this.#proof === null) {
        await this.#control(suspect, 'after');
        askedTwice = suspect;
        if (this.#proof === 'returned') answer = await this.#askTwice(suspect);
      }
      if (answer.kind === 'gone' && counts(suspect) && this.#proof === 'returned') gone.push(suspect);
      else if (answer.kind === 'gone') await this.#settle(suspect, { kind: 'open' }, counts(suspect));
      else await this.#settle(suspect, answer);
      if (endsAtFirstFound && answer.kind === 'there') return false;
    }
    // The second 404 for the same suspect, after the control question, needs no further one.
    const isClosed = gone.some((suspect) => suspect !== askedTwice);
    if (isClosed) await this.#control(gone.at(-1)!, 'before');
    await this.#condemn(gone);
    if (end !== undefined) throw end;
    // The last question of a part also opens the next one. An earlier one would be too old.
    if (!isClosed && this.#proof === 'returned') this.#proof = null;
    return true;
  }

  /** Writes the 404s of a part, which count if all of its control questions were answered by the row. */
  async #condemn(gone: readonly Suspect[]): Promise<void> {
    if (gone.length === 0) return;
    if (this.#proof === 'returned' && (await this.#isUnsteady())) this.#withhold('unsteady');
    for (const suspect of gone)
      await this.#settle(suspect, { kind: this.#proof === 'returned' ? 'gone' : 'open' });
  }

  /**
   * Asks twice in a row, unless the first answer does not say that the suspect is gone. Where two servers
   * answer by turns and one of them knows no row, the other one returns it.
   */
  async #askTwice(suspect: Suspect): Promise<Answer> {
    const answer = await this.#ask(suspect);
    return answer.kind === 'gone' ? await this.#ask(suspect) : answer;
  }

  async #ask(suspect: Suspect): Promise<Answer> {
    const { client } = this.#deps;
    try {
      const answer = await this.#proven(() => askFor(client, this.#sweep, suspect, this.#call));
      if (answer.kind !== 'there' || this.#sweep.list !== 'inboxes') return answer;
      const refusal = await doubtOf(this.#deps, answer.item, this.#call, this.#acceptAccount);
      return refusal === null ? answer : { kind: 'open', refusal };
    } catch (error) {
      if (isThrottledQuestion(error, this.#askedBefore)) {
        // The row was asked for: the next time, others go first.
        await this.#settle(suspect, { kind: 'open', refusal: error.message });
        throw error;
      }
      if (!isNoWitness(error, this.#askedBefore)) throw error;
      return { kind: 'open', refusal: error.message, fault: error };
    }
  }

  async #proven<Result>(send: () => Promise<Result>): Promise<Result> {
    const { account, client } = this.#deps;
    return await account.sendProven(client, this.#call, send);
  }

  async #control(suspect: Suspect, side: Side): Promise<void> {
    try {
      this.#proof = (await this.#isUnsteady()) ? 'unsteady' : await this.#askControl(suspect.id, side);
    } catch (error) {
      // As in `#ask`: the next time, other suspects go first.
      if (isThrottledQuestion(error, this.#askedBefore)) await this.#settle(suspect, { kind: 'open' });
      throw error;
    }
    if (this.#proof !== 'returned') this.#withhold(this.#proof);
  }

  async #isUnsteady(): Promise<boolean> {
    const { mirror, clock } = this.#deps;
    return await mirror.suspects.isUnsteady(clock.now());
  }

  /** True if the service returns or finds a row that its list shows, after two answers of no use in a row. */
  async #mayContinue({ id: near }: Suspect): Promise<boolean> {
    this.#faultyPairs += 1;
    if (this.#faultyPairs >= MOST_FAULTY_PAIRS) return false;
    if (byIdentity(this.#sweep)) return (await this.#askControl(near, 'after')) === 'returned';
    return await this.#proven(() => searchFinds(this.#deps, this.#sweep, this.#askedBefore, this.#call));
  }

  async #askControl(near: string, side: Side): Promise<Control> {
    const { lacking = [] } = this.#questions;
    const question = { near, side, lacking, askedBefore: this.#askedBefore };
    return await this.#proven(() => control(this.#deps, this.#sweep, question, this.#call));
  }

  /** No 404 counts any more. */
  #withhold(why: keyof typeof NO_PROOF): void {
    this.#proof = why;
    this.#deps.onEvent({ kind: 'withheld', key: this.#sweep, cause: NO_PROOF[why] });
  }

  /** @param hasCounted false: the answer was not to decide anything */
  async #settle(suspect: Suspect, answer: Answer, hasCounted = true): Promise<void> {
    const { mirror, clock, onEvent } = this.#deps;
    const key = this.#sweep;
    const refusal = answer.kind === 'open' ? answer.refusal : undefined;
    if (refusal !== undefined) onEvent({ kind: 'withheld', key, cause: refusal });
    const isGone = answer.kind === 'gone' && this.#questions.mayCondemn(suspect);
    const found = answer.kind === 'there' ? answer.item : null;
    const isUndecided = answer.kind === 'open' && hasCounted;
    const now = clock.now();
    const changed = await mirror.suspects.settle(key, suspect, { found, isGone, isUndecided, now });
    countRows(this.#deps, key, this.#tally, { changed, deleted: isGone ? 1 : 0 });
    this.answers.set(suspect.id, heardOf(answer));
  }
}

function heardOf(answer: Answer): Heard {
  if (answer.kind !== 'open') return answer.kind;
  if (isMirrorError(answer.fault, ...UNANSWERED)) return 'unanswered';
  if (answer.refusal !== undefined) return 'unusable';
  return answer.isPartial === true ? 'partial' : 'open';
}
