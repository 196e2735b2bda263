import type { Budget } from '../../core/budget.ts';
import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { isMirrorError, messageOf, messageWithoutAdvice } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import { conversationsOf, listId, type ListKey } from '../../core/lists.ts';
import type { Writer } from '../../mirror/mirror.ts';
import type { Log } from '../../session/log.ts';
import type { AccountCheck } from '../../sync/account/account.ts';
import type { SweepClient } from '../../sync/deps.ts';
import type { PassEvent } from '../../sync/events.ts';
import { type Reading, readBookmark } from '../../sync/pages/bookmark.ts';
import { OddRows } from '../../sync/pages/odd.ts';
import { type Cover, coverOf, PagePlan, type PlannedPage } from '../../sync/planning/pages/plan.ts';
import { Rates } from '../../sync/planning/pages/rates.ts';
import { learnFrom } from '../../sync/planning/pages/value.ts';
import { reachIn } from '../../sync/sweep.ts';
import { Backoff } from './rests/backoff.ts';
import { isOwnFault, pauseEndAfter429 } from './rests/faults.ts';
import { LOST } from './lost.ts';
import { FAULTY_REST, PageRests } from './rests/page-rests.ts';
import { pacedClient } from './client-around.ts';
import type { Pacer } from './pacer.ts';

/** How single pages are read. */
export interface SinglePages {
  /** The schedule of conversations is the default: it may be stretched over several days. */
  readonly stretches: boolean;
}

export interface PageReadsDeps extends SinglePages {
  readonly client: SweepClient;
  readonly mirror: Writer;
  readonly account: AccountCheck;
  readonly clock: Clock;
  readonly goneAfterMs: number;
  readonly log: Log;
  readonly budget: Budget;
  readonly pacer: Pick<Pacer, 'take' | 'takeAhead' | 'giveBack' | 'hours'>;
  readonly onEvent: (event: PassEvent) => void;
  /** The list is swept or ordered, or rests. */
  readonly mayNotRead: (key: ListKey) => boolean;
  /** A page drew a 429: its list gives way to others. */
  readonly on429: (key: ListKey, error: unknown) => void;
  /** A page could not be read for a reason that concerns more than this page. */
  readonly onError: (error: unknown) => void;
  /** A list has lost its bookmarks. */
  readonly onLost: () => void;
  /** A page of this inbox was read, so the next one may wait for its credit. */
  readonly onRead: (inboxId: string) => void;
}

/** Pages that wait for their credit, or are being read, at a time. */
const PAGES_AT_ONCE = 2;

/**
 * The bookmarks and the schedule are read again after this many ms, and after each sweep, order or slot. This
 * process alone writes them, so the time only limits the effect of a mistake.
 */
const RELOAD_MS = 5 * MINUTE;

/** After a spent budget or in a pause no page is tried for this many ms. */
const REST_MS = 30 * SECOND;

/** The learned rates are written at most once in this many ms. */
const SAVE_EVERY_MS = MINUTE;

/** Reads single pages of conversations: a page for each credit that the sweeps leave. */
export class PageReads {
  readonly #deps: PageReadsDeps;
  readonly #plan = new PagePlan();
  readonly #requestsUntil = (at: number): number => this.#deps.pacer.hours.requestsUntil(at);
  readonly #reads = new Set<PageRead>();
  /** Null until the stored rates are read. */
  #rates: Rates | null = null;
  #cover: Cover | null = null;
  /** The days that were recorded last; null: none by this process. */
  #days: number | null = null;
  /** The slot for which the list's round is complete, by inbox. */
  readonly #rounds = new Map<string, number>();
  readonly #rests = new PageRests();
  readonly #oddRows = new OddRows();
  /** Lists whose last page was refused, wrong or cut. If the next one is as well, the list is read whole. */
  readonly #faulty = new Backoff(FAULTY_REST);
  readonly #mayNotRead = ({ inboxId, bookmark }: PlannedPage): boolean => {
    const restsUntil = Math.max(this.#rests.until(bookmark), this.#faulty.until(inboxId));
    return restsUntil > this.#deps.clock.monotonic() || this.#deps.mayNotRead(conversationsOf(inboxId));
  };
  #notBefore = 0;
  #loadAt = 0;
  /** When the rates were last written, monotonic ms. */
  #savedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: PageReadsDeps) {
    this.#deps = deps;
  }

  /** Begins to wait for the credits of the next pages, if any list has bookmarks. */
  async begin(): Promise<void> {
    if (this.#deps.clock.monotonic() < this.#notBefore) return;
    await this.#load();
    if (this.#plan.size === 0) return;
    while (this.#reads.size < PAGES_AT_ONCE) {
      const read: PageRead = { inboxId: null, stop: new AbortController(), ended: Promise.resolve() };
      this.#reads.add(read);
      read.ended = this.#run(read);
    }
  }

  /** True while spare walks wait, so that the schedule's pages are read in time. */
  needMost(): boolean {
    return this.#plan.needsMost(this.#cover, this.#requestsUntil, this.#mayNotRead);
  }

  /** See `PagePlan.leaveToWalks`. */
  leaveToWalks(requests: number): void {
    this.#plan.leaveToWalks(requests);
  }

  /** Reads the bookmarks again before the next page. */
  reload(): void {
    this.#loadAt = 0;
  }

  isReading({ list, inboxId }: ListKey): boolean {
    return list === 'conversations' && [...this.#reads].some((read) => read.inboxId === inboxId);
  }

  /** Ends the reads that `which` selects, and waits until their pages are applied. */
  async stop(which: (key: ListKey) => boolean, why: Error): Promise<void> {
    // A read without a list yet keeps its place among those that wait for a credit, if a list is left to it.
    const isAll = this.#plan.all().every(({ inboxId }) => which(conversationsOf(inboxId)));
    const stopped = [...this.#reads].filter(({ inboxId }) =>
      inboxId === null ? isAll : which(conversationsOf(inboxId)),
    );
    for (const { stop } of stopped) stop.abort(why);
    await Promise.all(stopped.map(({ ended }) => ended));
    // The rates of the last minute are a small loss: a stop does not fail for them.
    await this.#save().catch(() => undefined);
  }

  async #run(read: PageRead): Promise<void> {
    const inboxId = await this.#read(read);
    this.#reads.delete(read);
    if (inboxId !== null) this.#deps.onRead(inboxId);
  }

  /** @returns the inbox of which a page was read; null if none was. Never rejects */
  async #read(read: PageRead): Promise<string | null> {
    const { signal } = read.stop;
    try {
      await this.#deps.pacer.take(false, signal);
      await this.#load();
    } catch (error) {
      if (!signal.aborted) this.#deps.onError(error);
      return null;
    }
    const page = this.#next();
    if (page === null) {
      // With one list, the other read has it. Or the credit is for a walk.
      this.#deps.pacer.giveBack(1);
      return null;
    }
    read.inboxId = page.inboxId;
    try {
      await this.#readPage(page, signal);
      return page.inboxId;
    } catch (error) {
      await this.#afterError(page, error, signal);
      return null;
    }
  }

  async #readPage(page: PlannedPage, signal: AbortSignal): Promise<void> {
    const { mirror, account, clock, goneAfterMs, onEvent, pacer } = this.#deps;
    // The page's own request has its credit already; the account's and the suspects' take further ones. A
    // second page tells why a page token was refused: a restart while it waits would lose the refusal.
    let isPaid = true;
    const client = pacedClient(this.#deps.client, async ({ reason }) => {
      if (!isPaid) await (reason === 'page' ? pacer.takeAhead(signal) : pacer.take(false, signal));
      isPaid = false;
    });
    const deps = { client, mirror, account, clock, goneAfterMs, onEvent, signal };
    const tries = this.#rests.getsOneTry(page.inboxId) ? 1 : undefined;
    const how = { tries, isSecondFault: this.#faulty.has(page.inboxId), oddRows: this.#oddRows };
    const reading = await readBookmark(deps, page.bookmark, how);
    this.#rests.end(page.bookmark);
    if (reading.cut === null) this.#faulty.end(page.inboxId);
    await this.#note(page, reading);
    if (reading.cut !== null) await this.#doubt(page, reading.cut);
  }

  async #note(page: PlannedPage, reading: Reading): Promise<void> {
    const { mirror, clock, log, onLost } = this.#deps;
    const { inboxId } = page;
    this.#learn(page, reading);
    this.#plan.replace(inboxId, (await mirror.bookmarks.all(inboxId)).get(inboxId) ?? []);
    if (reading.lost !== null) {
      log.warn({ list: listId(conversationsOf(inboxId)), cause: reading.lost }, LOST[reading.lost]);
      onLost();
    }
    await this.#endRound(inboxId);
    if (clock.monotonic() >= this.#savedAt + SAVE_EVERY_MS) await this.#save();
  }

  #learn(view: PlannedPage, { page, tally }: Reading): void {
    const { clock, pacer } = this.#deps;
    if (page === null || this.#rates === null) return;
    const { baselineAt } = view.bookmark;
    const observed = { ...page, view, baselineAt, inserted: tally.inserted };
    learnFrom(this.#rates, observed, { timeline: pacer.hours.timeline(), now: clock.now() });
  }

  async #afterError(page: PlannedPage, error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, onEvent, onError } = this.#deps;
    const key = conversationsOf(page.inboxId);
    if (pauseEndAfter429(error, clock) !== null) return this.#deps.on429(key, error);
    const isFinal = reachIn(error, signal) === 'list';
    // A gone inbox has no bookmarks, and an older copy of the mirror may have others.
    if (isMirrorError(error, 'SWEEP_ENDED')) return this.reload();
    if (isFinal && !isOwnFault(error)) return await this.#doubt(page, messageOf(error));
    if (isFinal && !isMirrorError(error)) onEvent({ kind: 'fault', key, error });
    if (isMirrorError(error, 'BUDGET_SPENT', 'GATE_PAUSED')) this.#notBefore = clock.monotonic() + REST_MS;
    if (isFinal || isMirrorError(error, 'ANSWER_FAILED', 'SERVICE_DOWN')) {
      const resumeAt = isMirrorError(error, 'ANSWER_FAILED') ? error.resumeAt : undefined;
      const leastMs = resumeAt === undefined ? 0 : Math.max(1, resumeAt.getTime() - clock.now());
      const lasts = this.#rests.begin(page.bookmark, clock.monotonic(), leastMs);
      this.#warnOfRest(key, messageWithoutAdvice(error), lasts);
    }
    if (!isFinal && !isMirrorError(error, 'ANSWER_FAILED')) onError(error);
  }

  /** Lets a list rest. The second time it is left to a sweep, which finds and says what is wrong with it. */
  async #doubt({ inboxId, bookmark }: PlannedPage, cause: string): Promise<void> {
    const { mirror, clock, log, onLost, onError } = this.#deps;
    const key = conversationsOf(inboxId);
    if (!this.#faulty.has(inboxId))
      return this.#warnOfRest(key, cause, this.#faulty.begin(inboxId, clock.monotonic()));
    log.warn({ list: listId(key), cause }, 'pages of a list still cannot be read; it is read whole');
    this.#faulty.end(inboxId);
    try {
      await mirror.bookmarks.lose(bookmark, 'doubt', clock.now());
      this.#plan.replace(inboxId, []);
      onLost();
    } catch (error) {
      onError(error);
    }
  }

  #warnOfRest(key: ListKey, cause: string, lasts: number): void {
    const retry = `a page of a list cannot be read; retrying in ${duration(lasts)}`;
    this.#deps.log.warn({ list: listId(key), cause }, retry);
  }

  #next(): PlannedPage | null {
    const { clock, pacer } = this.#deps;
    if (this.#rates === null) return null;
    const moment = { rates: this.#rates, timeline: pacer.hours.timeline(), now: clock.now() };
    const isExcluded = (page: PlannedPage): boolean =>
      this.#mayNotRead(page) || this.isReading(conversationsOf(page.inboxId));
    return this.#plan.next(moment, this.#cover, this.#requestsUntil, isExcluded)?.page ?? null;
  }

  async #load(): Promise<void> {
    const { mirror, clock, budget, stretches } = this.#deps;
    if (clock.monotonic() < this.#loadAt) return;
    this.#rates ??= new Rates(await mirror.rates());
    this.#plan.load(await mirror.bookmarks.all());
    const options = { budget, stretches, now: clock.now() };
    const { cover, days } = coverOf(await mirror.schedules.all(), this.#plan.size, options);
    this.#cover = cover;
    // The budget of 1 of a day that other mirrors have used up is no measure of what the lists can have.
    if (days !== this.#days && budget.isUsedUp !== true) {
      await mirror.saveCoverDays(days);
      this.#days = days;
    }
    this.#loadAt = clock.monotonic() + RELOAD_MS;
  }

  /** Completes the list's round once all its pages have been read since the slot. */
  async #endRound(inboxId: string): Promise<void> {
    const slot = this.#cover?.[0].since;
    if (slot === undefined || this.#rounds.get(inboxId) === slot) return;
    if (await this.#deps.mirror.bookmarks.completeRound(inboxId, new Date(slot)))
      this.#rounds.set(inboxId, slot);
  }

  async #save(): Promise<void> {
    const { mirror, clock } = this.#deps;
    if (this.#rates === null) return;
    this.#savedAt = clock.monotonic();
    await mirror.saveRates(this.#rates.unsaved());
  }
}

interface PageRead {
  /** Null while it waits for its credit. */
  inboxId: string | null;
  readonly stop: AbortController;
  ended: Promise<void>;
}
