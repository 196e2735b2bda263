import { type Budget, scheduledCap } from '../../core/budget.ts';
import { MirrorError } from '../../core/errors.ts';
import { listId } from '../../core/lists.ts';
import type { Log } from '../../session/log.ts';
import type { CallOptions } from '../../sync/deps.ts';
import type { DueList } from '../../sync/planning/agenda.ts';
import { RowBroken } from '../../sync/pages/row.ts';
import { turnOf } from '../../sync/planning/planner.ts';
import { mostInARow, type Pacer } from './pacer.ts';

const NO_END =
  "the first filling of a list has cost more than a day's requests and has not ended; " +
  'it takes its turn among the others';

const TURN_OVER = 'its turn is over; other lists go first';

export interface TurnDeps {
  readonly pacer: Pick<Pacer, 'take' | 'takeAtOnce' | 'save' | 'endPrepaid' | 'giveBack'>;
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
  /** Requests that have their tokens already. */
  #prepaid = 0;
  /** Requests that may follow the prepaid ones at once, if there is room: the list may have grown. */
  #more = 0;

  constructor(deps: TurnDeps, list: DueList, stop: AbortController) {
    this.#deps = deps;
    this.#list = list;
    this.#stop = stop;
    this.#requests = list.spent;
  }

  /**
   * Waits until a request may go to the gate. Stops the sweep at the end of its turn, before a page:
   * questions about rows come to an end by themselves, and would begin again. A first filling need not wait
   * for the pace until it has cost a day's requests. A walk that must not pause saves the tokens of its pages
   * first.
   * @throws the signal's reason, or RowBroken if a walk that must not pause would wait amid its pages
   */
  async take({ reason, inARow }: CallOptions): Promise<void> {
    const { pacer, log, budget } = this.#deps;
    const { key, first, spent } = this.#list;
    const { signal } = this.#stop;
    const aDay = scheduledCap(budget);
    if (this.#prepaid > 0) this.#usePrepaid();
    else if (inARow !== undefined && this.#more > 0 && (await pacer.takeAtOnce())) this.#more -= 1;
    else {
      const aTurn = turnOf(budget);
      if (reason !== 'probe' && this.#requests > spent && this.#requests % aTurn === 0)
        this.#stop.abort(new MirrorError('STOPPED', TURN_OVER));
      const unpaced = first ? aDay / Math.max(1, this.#deps.wornFillings()) : 0;
      const isFree = this.#requests < unpaced;
      if (isFree || inARow === undefined || inARow.known >= mostInARow(budget))
        await pacer.take(isFree, signal);
      else if (inARow.read > 0) throw new RowBroken();
      else {
        const requests = (): number => (this.#deps.isTest() ? 1 : inARow.expected);
        this.#prepaid = await pacer.save(listId(key), requests, signal);
        this.#usePrepaid();
        this.#more = this.#prepaid;
      }
    }
    this.#requests += 1;
    if (first && this.#requests % aDay === 0)
      log.error({ list: listId(key), requests: this.#requests }, NO_END);
  }

  #usePrepaid(): void {
    this.#prepaid -= 1;
    this.#deps.pacer.endPrepaid(1);
  }

  /** The sweep has ended. */
  end(): void {
    const { pacer } = this.#deps;
    pacer.endPrepaid(this.#prepaid);
    pacer.giveBack(this.#prepaid);
    this.#prepaid = 0;
  }
}
