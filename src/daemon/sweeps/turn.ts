import { type Budget, scheduledCap } from '../../core/budget.ts';
import { isMirrorError, MirrorError } from '../../core/errors.ts';
import { listId } from '../../core/lists.ts';
import type { Log } from '../../session/log.ts';
import type { PageCall } from '../../sync/deps.ts';
import type { DueList } from '../../sync/planning/agenda.ts';
import { maySaveFor, StreakBroken } from '../../sync/pages/streak.ts';
import { turnOf } from '../../sync/planning/planner.ts';
import type { Pacer } from './pacer.ts';
import type { Purse } from './savings.ts';

const NO_END =
  "the first filling of a list has cost more than a day's requests and has not ended; " +
  'it takes its turn among the others';

const TURN_OVER = 'its turn is over; other lists go first';

export interface TurnDeps {
  readonly pacer: Pick<Pacer, 'take' | 'takeAtOnce' | 'saveUp' | 'resume'>;
  readonly budget: Budget;
  readonly log: Log;
  /** First fillings that have used up a turn share the requests that need not wait for the pace. */
  readonly wornFillings: () => number;
  /** True if the sweep only tests whether the service answers again. */
  readonly isTest: () => boolean;
}

/** The requests of one scheduled sweep: they wait for the pace, and end with the sweep's turn. */
export class Turn {
  readonly #deps: TurnDeps;
  readonly #list: DueList;
  readonly #stop: AbortController;
  #requests: number;
  #purse: Purse | null = null;
  /** The walk was interrupted amid its pages: its page token may expire although it does not wait now. */
  #isResumed = false;
  /** Requests that may follow those of the purse at once, if there is room. */
  #more = 0;

  constructor(deps: TurnDeps, list: DueList, stop: AbortController) {
    this.#deps = deps;
    this.#list = list;
    this.#stop = stop;
    this.#requests = list.spent;
  }

  /**
   * Sends a request when it may go to the gate. Stops the sweep at the end of its turn, before a page:
   * questions about rows come to an end by themselves, and would begin again. A first filling need not wait
   * for the pace until it has cost a day's requests. A walk that must not pause saves up a credit for each of
   * its pages first. If it was interrupted amid them, it resumes with those that it has not spent.
   * @throws the signal's reason, the error of the request, or StreakBroken if a walk that must not pause
   *   would wait amid pages, or its page token expired while it was interrupted
   */
  async send<Answer>(request: () => Promise<Answer>, call: PageCall): Promise<Answer> {
    await this.#waitFor(call);
    this.#count();
    try {
      return await request();
    } catch (error) {
      const hasPaused = this.#isResumed && call.streak !== undefined;
      throw hasPaused && isMirrorError(error, 'TOKEN_REFUSED') ? new StreakBroken() : error;
    }
  }

  /** The sweep has ended. @param isDone false: it was interrupted, or failed */
  end(isDone: boolean): void {
    this.#purse?.close(isDone);
  }

  async #waitFor({ reason, streak }: PageCall): Promise<void> {
    const { pacer, budget } = this.#deps;
    if (this.#purse?.spend() === true) return;
    if (streak !== undefined && (await this.#takeOneMore())) return;
    if (reason !== 'probe') this.#stopAtEnd();
    const isFree = this.#requests < this.#unpaced();
    if (isFree || streak === undefined || !maySaveFor(streak.known, budget))
      await pacer.take(isFree, this.#stop.signal);
    else if (streak.read === 0) await this.#saveUp(streak.expected);
    else await this.#resume();
  }

  /** The list may have grown: as many requests as were saved up for may follow them, if there is room. */
  async #takeOneMore(): Promise<boolean> {
    if (this.#more === 0 || !(await this.#deps.pacer.takeAtOnce())) return false;
    this.#more -= 1;
    return true;
  }

  /** Stops a sweep whose turn is over; the next wait for a credit then throws. */
  #stopAtEnd(): void {
    const isOver = this.#requests > this.#list.spent && this.#requests % turnOf(this.#deps.budget) === 0;
    if (isOver) this.#stop.abort(new MirrorError('STOPPED', TURN_OVER));
  }

  /** The requests of a first filling that need not wait for the pace. */
  #unpaced(): number {
    const { budget, wornFillings } = this.#deps;
    return this.#list.first ? scheduledCap(budget) / Math.max(1, wornFillings()) : 0;
  }

  /** A walk that was interrupted resumes with what it had saved. @throws StreakBroken if nothing is left */
  async #resume(): Promise<void> {
    if (this.#purse !== null) throw new StreakBroken();
    this.#purse = await this.#deps.pacer.resume(listId(this.#list.key));
    if (this.#purse?.spend() !== true) throw new StreakBroken();
    this.#more = this.#purse.left;
    this.#isResumed = true;
  }

  async #saveUp(pages: number): Promise<void> {
    const { pacer, isTest } = this.#deps;
    this.#purse?.close(false);
    this.#isResumed = false;
    const requests = (): number => (isTest() ? 1 : pages);
    this.#purse = await pacer.saveUp(listId(this.#list.key), requests, this.#stop.signal);
    this.#purse.spend();
    this.#more = this.#purse.left;
  }

  #count(): void {
    const { budget, log } = this.#deps;
    const { key, first } = this.#list;
    this.#requests += 1;
    if (first && this.#requests % scheduledCap(budget) === 0)
      log.error({ list: listId(key), requests: this.#requests }, NO_END);
  }
}
