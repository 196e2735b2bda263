import type { Budget } from '../../core/budget.ts';
import { type Clock, DAY, MINUTE, SECOND } from '../../core/clock.ts';
import { isMirrorError } from '../../core/errors.ts';
import type { ListKey } from '../../core/lists.ts';
import type { Writer } from '../../mirror/mirror.ts';
import type { Log } from '../../session/log.ts';
import type { AccountCheck } from '../../sync/account.ts';
import type { Client } from '../../sync/deps.ts';
import type { PassEvent } from '../../sync/events.ts';
import { type Reading, readBookmark } from '../../sync/pages/bookmark.ts';
import { type Cover, daysOfCover, PagePlan, type PlannedPage } from '../../sync/planning/pages/plan.ts';
import { Rates } from '../../sync/planning/pages/rates.ts';
import { learnFrom } from '../../sync/planning/pages/value.ts';
import { reachIn } from '../../sync/sweep.ts';
import { pacedClient, type Pacer } from './pacer.ts';

/** How single pages are read. */
export interface ReadPages {
  /** The schedule of conversations is the default: it may be stretched over several days. */
  readonly stretches: boolean;
}

export interface PageReadsDeps extends ReadPages {
  readonly client: Client;
  readonly mirror: Writer;
  readonly account: AccountCheck;
  readonly clock: Clock;
  readonly goneAfterMs: number;
  readonly log: Log;
  readonly budget: Budget;
  readonly pacer: Pick<Pacer, 'take' | 'timeline'>;
  readonly onEvent: (event: PassEvent) => void;
  /** The list is being swept, or rests. */
  readonly isBusy: (key: ListKey) => boolean;
  /** A page could not be read. */
  readonly onFailure: (key: ListKey, error: unknown, isFinal: boolean) => void;
  /** A list has lost its bookmarks. */
  readonly onLost: () => void;
  /** A page was read, so the next one may wait for its token. */
  readonly onRead: () => void;
}

/** Pages that wait for their token, or are being read, side by side. */
const SIDE_BY_SIDE = 2;

/** The bookmarks and the schedule are read again after this many ms. */
const RELOAD_MS = 30 * SECOND;

/** What was learned is written at most once in this many ms. */
const SAVE_EVERY_MS = MINUTE;

/** Reads single pages of conversations: a page for each token that the sweeps leave. */
export class PageReads {
  readonly #deps: PageReadsDeps;
  readonly #plan = new PagePlan();
  readonly #reads = new Set<PageRead>();
  #rates: Rates | null = null;
  #cover: Cover | null = null;
  /** The slot for which the list's round is complete, by inbox. */
  readonly #rounds = new Map<string, number>();
  #loadAt = 0;
  #savedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: PageReadsDeps) {
    this.#deps = deps;
  }

  /** Begins to wait for the tokens of the next pages, if any list has bookmarks. */
  async begin(): Promise<void> {
    await this.#load();
    if (this.#plan.size === 0) return;
    while (this.#reads.size < SIDE_BY_SIDE) this.#start();
  }

  /** Reads the bookmarks again before the next page. */
  reload(): void {
    this.#loadAt = 0;
  }

  isReading({ list, inboxId }: ListKey): boolean {
    return list === 'conversations' && [...this.#reads].some((read) => read.inboxId === inboxId);
  }

  /** Ends the reads that `which` selects, and waits until each has applied its page. */
  async stop(which: (key: ListKey) => boolean, why: Error): Promise<void> {
    const isWanted = ({ inboxId }: PageRead): boolean =>
      inboxId === null || which({ list: 'conversations', inboxId });
    const stopped = [...this.#reads].filter(isWanted);
    for (const { stop } of stopped) stop.abort(why);
    await Promise.all(stopped.map(({ ended }) => ended));
    // A minute of learning is no reason for a stop to fail.
    await this.#save().catch(() => undefined);
  }

  #start(): void {
    const stop = new AbortController();
    const read: PageRead = { inboxId: null, stop, ended: Promise.resolve() };
    this.#reads.add(read);
    read.ended = this.#finish(read);
  }

  async #finish(read: PageRead): Promise<void> {
    const isRead = await this.#read(read, read.stop.signal);
    this.#reads.delete(read);
    if (isRead) this.#deps.onRead();
  }

  /** @returns true if a page was read. Never rejects */
  async #read(read: PageRead, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#deps.pacer.take(false, signal);
      await this.#load();
    } catch (error) {
      if (!signal.aborted) this.#deps.onFailure({ list: 'conversations', inboxId: null }, error, false);
      return false;
    }
    const next = this.#next();
    if (next === null) return false;
    const { page } = next;
    read.inboxId = page.inboxId;
    try {
      await this.#readPage(page, signal);
      return true;
    } catch (error) {
      await this.#afterError(page, error, signal);
      return false;
    }
  }

  async #readPage(page: PlannedPage, signal: AbortSignal): Promise<void> {
    const { mirror, account, clock, goneAfterMs, onEvent, pacer } = this.#deps;
    // The page's own request has its token already; the account's and the suspects' take further ones.
    let paid = true;
    const client = pacedClient(this.#deps.client, async () => {
      if (!paid) await pacer.take(false, signal);
      paid = false;
    });
    const deps = { client, mirror, account, clock, goneAfterMs, onEvent, signal };
    const reading = await readBookmark(deps, page.bookmark);
    await this.#note(page, reading);
  }

  async #note(page: PlannedPage, reading: Reading): Promise<void> {
    const { mirror, clock, log, pacer, onLost } = this.#deps;
    const { inboxId, bookmark } = page;
    const now = clock.now();
    if (reading.page !== null)
      learnFrom(
        this.#learned(),
        {
          view: page,
          baselineAt: bookmark.baselineAt,
          before: reading.page.before,
          changedIds: reading.page.changedIds,
          inserted: reading.tally.inserted,
        },
        { timeline: pacer.timeline(), now },
      );
    this.#plan.replace(inboxId, (await mirror.bookmarks.all(inboxId)).get(inboxId) ?? []);
    if (reading.lost !== null) {
      log.warn({ list: `conversations/${inboxId}`, cause: reading.lost }, LOST[reading.lost]);
      onLost();
    }
    await this.#endRound(inboxId);
    if (now >= this.#savedAt + SAVE_EVERY_MS) await this.#save();
  }

  async #afterError({ inboxId, bookmark }: PlannedPage, error: unknown, signal: AbortSignal): Promise<void> {
    const { mirror, clock, onFailure, onLost } = this.#deps;
    const isFinal = reachIn(error, signal) === 'list';
    try {
      // What is wrong with the list, its next sweep finds and says.
      if (isFinal && isMirrorError(error)) {
        await mirror.bookmarks.lose(bookmark, 'doubt', clock.now());
        this.#plan.replace(inboxId, []);
        onLost();
      }
    } catch (failure) {
      onFailure({ list: 'conversations', inboxId }, failure, false);
      return;
    }
    onFailure({ list: 'conversations', inboxId }, error, isFinal);
  }

  #next() {
    const { budget, clock, pacer, isBusy } = this.#deps;
    const moment = { rates: this.#learned(), timeline: pacer.timeline(), now: clock.now() };
    return this.#plan.next(moment, this.#cover, budget, (inboxId) => {
      const key = { list: 'conversations', inboxId } as const;
      return this.isReading(key) || isBusy(key);
    });
  }

  async #load(): Promise<void> {
    const { mirror, clock, budget, stretches } = this.#deps;
    if (clock.monotonic() < this.#loadAt) return;
    this.#rates ??= new Rates(await mirror.rates());
    this.#plan.load(await mirror.bookmarks.all());
    const schedule = (await mirror.schedules.all()).find(({ list }) => list === 'conversations');
    const days = stretches ? daysOfCover(this.#plan.size, budget) : 1;
    this.#cover =
      schedule?.dueSince == null
        ? null
        : { since: schedule.dueSince.getTime() - (days - 1) * DAY, deadline: schedule.nextAt.getTime() };
    this.#loadAt = clock.monotonic() + RELOAD_MS;
  }

  /** Completes the list's round once all its pages have been read since the slot. */
  async #endRound(inboxId: string): Promise<void> {
    const slot = this.#cover?.since;
    if (slot === undefined || this.#rounds.get(inboxId) === slot) return;
    if (await this.#deps.mirror.bookmarks.completeRound(inboxId, new Date(slot)))
      this.#rounds.set(inboxId, slot);
  }

  async #save(): Promise<void> {
    const { mirror, clock } = this.#deps;
    this.#savedAt = clock.now();
    await mirror.saveRates(this.#learned().unsaved());
  }

  #learned(): Rates {
    return (this.#rates ??= new Rates());
  }
}

interface PageRead {
  /** Null while it waits for its token. */
  inboxId: string | null;
  readonly stop: AbortController;
  ended: Promise<void>;
}

const LOST: Record<NonNullable<Reading['lost']>, string> = {
  order: 'the ids of a list are not in order; it is read whole until they are',
  doubt: 'a page of a list is not as expected; the list is read whole once',
  positions: 'the page tokens of a list lead to other rows than before; it is read whole for a week',
  expiry: 'the page tokens of a list are refused after a time; it is read whole for a week',
};
