import type { Budget } from '../../core/budget.ts';
import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { isMirrorError, messageOf, messageWithoutAdvice, MirrorError } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import { conversationsOf, listId, type ListKey } from '../../core/lists.ts';
import type { Writer } from '../../mirror/mirror.ts';
import type { Log } from '../../session/log.ts';
import type { AccountCheck } from '../../sync/account/account.ts';
import { SCHEDULED, type SweepClient } from '../../sync/deps.ts';
import { type ListReport, NO_FIGURES, type PassEvent } from '../../sync/events.ts';
import { type DueList, readAgenda } from '../../sync/planning/agenda.ts';
import { mayBegin, type PlaceClaim, PLACES } from '../../sync/planning/planner.ts';
import { reachIn, sweepList } from '../../sync/sweep.ts';
import { isOwnFault, pauseEndAfter429 } from './rests/faults.ts';
import { ListRests } from './rests/list-rests.ts';
import { listsForTest } from './outage-test.ts';
import { clientAround } from './client-around.ts';
import { PageReads, type PageReadsDeps, type SinglePages } from './pages.ts';
import { RunningSweeps } from './running.ts';
import { Turn, type TurnDeps } from './turn.ts';
import { WantedLists } from './wanted.ts';

export interface ScheduledSweepsDeps {
  readonly client: SweepClient;
  readonly mirror: Writer;
  readonly account: AccountCheck;
  readonly clock: Clock;
  readonly goneAfterMs: number;
  readonly log: Log;
  readonly budget: Budget;
  readonly pacer: PageReadsDeps['pacer'] & TurnDeps['pacer'];
  /** Single pages are read as well; null: only whole lists are. */
  readonly readPages: SinglePages | null;
  readonly onEvent: (event: PassEvent) => void;
  /** An order sweeps this list. */
  readonly isOrdered: (key: ListKey) => boolean;
  readonly isOutage: () => boolean;
  /** The last test found another account. */
  readonly isOtherAccount: () => boolean;
  /** A sweep has failed for a reason that concerns more than its list. */
  readonly onError: (error: unknown) => void;
  /** A sweep has ended. */
  readonly onEnd: () => void;
  /** A page was read by its bookmark. */
  readonly onRead: () => void;
}

/** While lists are due, the agenda is read again after this many ms. */
const REPLAN_MS = 30 * SECOND;

/** While no list is due, after this many ms: a list whose walk failed becomes due without a slot. */
const IDLE_REPLAN_MS = 5 * MINUTE;

/** The scheduled sweeps: the next ones, those under way, and the lists that cannot be read now. */
export class ScheduledSweeps {
  readonly #deps: ScheduledSweepsDeps;
  readonly #running = new RunningSweeps();
  readonly #rests = new ListRests();
  readonly #wanted = new WantedLists();
  readonly #pages: PageReads | null;
  /** Lists that tested the service in this outage, and whose answer was no page. */
  #failedTests: ListKey[] = [];
  #queue: DueList[] = [];
  /** When the agenda is read next, monotonic ms. */
  #planAt = 0;
  #planNotBefore = 0;
  /** First fillings that have used up a turn. They share the requests that need not wait for the pace. */
  #wornFillings = 0;

  constructor(deps: ScheduledSweepsDeps) {
    this.#deps = deps;
    this.#pages =
      deps.readPages === null
        ? null
        : new PageReads({
            ...deps,
            ...deps.readPages,
            mayNotRead: (key) => this.#isSwept(key) || this.#rests.has(key, deps.clock.monotonic()),
            onLost: () => this.replan(),
            on429: (key, error) => this.#afterFailure(key, error, false),
            onRead: (inboxId) => {
              this.#rests.end(conversationsOf(inboxId));
              deps.onRead();
            },
          });
  }

  /** Begins sweeps of lists that are due, as many as have a place. */
  async beginDue(): Promise<void> {
    const { clock } = this.#deps;
    const mustTest = this.#mustTest();
    const places = mustTest ? 1 : PLACES;
    if (!mustTest) await this.#pages?.begin();
    const hasPlace = (list: PlaceClaim): boolean => mayBegin(list, this.#running.lists(), places);
    if (!hasPlace({ small: true }) && !hasPlace({ small: false, worn: true })) return;
    if (clock.monotonic() >= Math.max(this.#planAt, this.#planNotBefore)) await this.#plan();
    for (;;) {
      const list = this.#queue.find(hasPlace);
      if (list === undefined) return;
      this.#queue.splice(this.#queue.indexOf(list), 1);
      if (!this.#isBeingRead(list.key)) this.#running.start(list, (stop) => this.#sweep(list, stop));
    }
  }

  /** Reads the agenda again at the next tick. */
  replan(): void {
    this.#planAt = 0;
    this.#pages?.reload();
  }

  /** Makes a list due, because conversations name items of it that the mirror has never had. */
  want(key: ListKey, ids: readonly string[]): void {
    const { clock, log } = this.#deps;
    if (!this.#wanted.add(key, ids, clock.monotonic())) return;
    log.debug(
      { list: listId(key), items: ids.length },
      'conversations name items that are not known; reading their list',
    );
    this.#planAt = 0;
  }

  /** An order has ended: it may have read lists that wait for a place. */
  orderEnded(): void {
    this.#queue = [];
    this.replan();
  }

  /** Lets other lists go first after a pause that a 429 for this list has begun. */
  giveWay(key: ListKey, error: unknown): void {
    const pauseEnds = pauseEndAfter429(error, this.#deps.clock);
    if (pauseEnds !== null) this.#rests.giveWay(key, pauseEnds);
  }

  /** The service answers again after an outage. */
  serviceIsBack(): void {
    this.#rests.serviceIsBack();
    for (const key of this.#failedTests) this.#wanted.again(key, this.#deps.clock.monotonic());
    this.#failedTests = [];
    this.replan();
  }

  /**
   * A sweep has ended, so another list may begin. With an empty queue the agenda is read again at
   * the next tick. Otherwise the queue fills the place, and the agenda is read within `REPLAN_MS`.
   */
  replanSoon(): void {
    const wait = this.#queue.length > 0 ? REPLAN_MS : 0;
    this.#planAt = Math.min(this.#planAt, this.#deps.clock.monotonic() + wait);
    this.#pages?.reload();
  }

  /** Stops the sweeps that `which` selects, and waits until each has applied its current page. */
  async stop(which: (key: ListKey) => boolean, why: string): Promise<void> {
    const error = new MirrorError('STOPPED', why);
    await Promise.all([this.#running.stop(which, error), this.#pages?.stop(which, error)]);
  }

  async #plan(): Promise<void> {
    const { clock, mirror, budget } = this.#deps;
    const mustTest = this.#mustTest();
    const { due, behind } = await readAgenda(mirror, {
      budget,
      readsPages: this.#pages !== null,
      isBeingRead: (key) => this.#isBeingRead(key),
      wantedSince: (key) => this.#wantedSince(key),
      isResting: (key) => this.#rests.has(key, clock.monotonic()),
      pagesNeedMost: this.#pages?.needMost() === true,
      now: clock.now(),
    });
    this.#pages?.leaveToWalks(behind);
    const now = clock.monotonic();
    this.#queue = this.#rests.withoutResting(due, this.#running.lists(), now);
    const wornFilling = ({ first, worn }: DueList): boolean => first && worn;
    this.#wornFillings = [...this.#queue, ...this.#running.lists()].filter(wornFilling).length;
    if (mustTest) {
      const deps = { mirror, rests: this.#rests, isSwept: (key: ListKey) => this.#isSwept(key) };
      this.#queue = await listsForTest(deps, this.#queue);
    }
    // While nothing is due, a slot, trouble, or the end of a sweep or order changes that; each replans.
    // A list that waits because the service asked to is due all the same.
    // While pages are read, a list without bookmarks becomes due by its age.
    const isIdle = due.length === 0 && !mustTest && this.#pages === null;
    this.#planAt = clock.monotonic() + (isIdle ? IDLE_REPLAN_MS : REPLAN_MS);
  }

  /**
   * See `WantedLists.since`; by the wall clock as it is now, because stored instants move with it. After a
   * sleep of the machine, such a list is read once more.
   */
  #wantedSince(key: ListKey): Date | null {
    const { clock } = this.#deps;
    const now = clock.monotonic();
    const since = this.#wanted.since(key, now);
    return since === null ? null : new Date(clock.now() - (now - since));
  }

  /** True for a list that is swept, or of which a single page is being read. */
  #isBeingRead(key: ListKey): boolean {
    return this.#isSwept(key) || this.#pages?.isReading(key) === true;
  }

  /**
   * One list is enough to see whether the service answers again after an outage, or shows the mirror's
   * account again.
   */
  #mustTest(): boolean {
    return this.#deps.isOutage() || this.#deps.isOtherAccount();
  }

  async #sweep(list: DueList, stop: AbortController): Promise<void> {
    const { mirror, account, clock, goneAfterMs, onEvent } = this.#deps;
    const { key } = list;
    const { signal } = stop;
    const facts = { wornFillings: () => this.#wornFillings, isTest: () => this.#mustTest() };
    const turn = new Turn({ ...this.#deps, ...facts }, list, stop);
    const client = clientAround(this.#deps.client, (send, call) => turn.send(send, call));
    const done = (report: ListReport): void => onEvent({ kind: 'list-done', report });
    let isDone = false;
    try {
      const deps = { client, mirror, account, clock, goneAfterMs, signal, onEvent };
      done(await sweepList(deps, key, SCHEDULED));
      isDone = true;
      this.#rests.end(key);
    } catch (error) {
      const isFinal = reachIn(error, signal) === 'list';
      done({ key, outcome: isFinal ? 'failed' : 'paused', ...NO_FIGURES, error });
      this.#afterFailure(key, error, isFinal);
    } finally {
      turn.end(isDone);
      this.#deps.onEnd();
    }
  }

  #afterFailure(key: ListKey, error: unknown, isFinal: boolean): void {
    const { clock, log, onError } = this.#deps;
    const isListFault = this.#isListFault(key, error);
    const pauseEnds = pauseEndAfter429(error, clock);
    if (pauseEnds !== null) this.#rests.giveWay(key, pauseEnds);
    if (isListFault || isMirrorError(error, 'SERVICE_DOWN')) {
      const askedMs = (error.resumeAt?.getTime() ?? 0) - clock.now();
      const now = pauseEnds ?? clock.monotonic();
      // A sweep has stored how long this list must wait (`retry_at`), and a person may end that wait.
      const leastMs = isListFault ? 0 : askedMs;
      const lasts = this.#rests.begin(key, { now, inOutage: !isListFault, leastMs });
      if (isListFault)
        log.warn(
          { list: listId(key), cause: messageWithoutAdvice(error) },
          `a list cannot be read; retrying in ${duration(Math.max(lasts, askedMs))}`,
        );
    }
    // A bug or a refusing database that this list meets rests it, however often its slots come.
    if (isFinal && isOwnFault(error)) this.#rests.begin(key, { now: clock.monotonic(), inOutage: false });
    if (isFinal && !isOwnFault(error) && this.#mustTest()) this.#afterFailedTest(key, messageOf(error));
    // Should the ledger and the agenda ever disagree, this limits the attempts to two a minute.
    if (isMirrorError(error, 'BUDGET_SPENT')) this.#planNotBefore = clock.monotonic() + REPLAN_MS;
    if (!isFinal && !isListFault) onError(error);
  }

  /**
   * A refusal or a wrong answer ends no outage: the next test waits as after no answer, and asks for another
   * list. This one is due again when the outage is over.
   */
  #afterFailedTest(key: ListKey, cause: string): void {
    this.#rests.begin(key, { now: this.#deps.clock.monotonic(), inOutage: true });
    this.#failedTests.push(key);
    this.#deps.onError(new MirrorError('SERVICE_DOWN', cause));
  }

  /** True if the list is at fault, not the service: others are answered, or only this list failed before. */
  #isListFault(key: ListKey, error: unknown): error is MirrorError {
    if (isMirrorError(error, 'ANSWER_FAILED')) return true;
    const failedBefore = this.#rests.hasFailed(key);
    return isMirrorError(error, 'SERVICE_DOWN') && !this.#deps.isOutage() && failedBefore;
  }

  /** True for a list that a schedule or an order sweeps. */
  #isSwept(key: ListKey): boolean {
    return this.#running.has(key) || this.#deps.isOrdered(key);
  }
}
