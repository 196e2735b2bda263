import { type Budget, pagesFor } from '../../core/budget.ts';
import { SECOND } from '../../core/clock.ts';
import { thousands, duration, plural } from '../../core/humanize.ts';
import { describeList, listId, type ListKey } from '../../core/lists.ts';
import { asCell } from '../../session/terminal.ts';
import type { PassEvent } from '../../sync/events.ts';

interface ListState {
  readonly key: ListKey;
  pages: number;
  items: number;
  expected: number | null;
  state: 'waiting' | 'walking' | 'asking' | 'done';
}

/** The figures from which the display computes the budget used and the time left. */
export interface Pace {
  readonly budget: Pick<Budget, 'perSecond' | 'perDay' | 'pageSize'>;
  /** Requests in the last 24 hours before this pass. */
  readonly sentBefore: number;
}

/** In characters. */
const BAR_WIDTH = 24;
/** At most this many bars at a time. */
const MOST_BARS = 8;
/** At least this many characters of a line are drawn, even on a narrower terminal. */
const LEAST_WIDTH = 20;

/** Counts the progress of a pass and draws it: a bar for each list under way, and a line for the pass. */
export class Bars {
  readonly #lists = new Map<string, ListState>();
  readonly #pace: Pace;
  readonly #startedAt: number;
  #requests = 0;
  #rows = 0;
  #note = '';

  /** `now` in epoch ms. */
  constructor(pace: Pace, now: number) {
    this.#pace = pace;
    this.#startedAt = now;
  }

  apply(event: PassEvent): void {
    if (event.kind === 'list-known') {
      this.#list(event.key).expected = event.expectedItems;
    } else if (event.kind === 'list-begun') {
      Object.assign(this.#list(event.key), { state: 'walking', pages: event.resumedAtPage });
    } else if (event.kind === 'page') {
      const list = this.#list(event.key);
      // A command that follows an order sees several pages at once, or only pages of an earlier run.
      // A list that restarts has fewer pages than before.
      const read = event.pages - list.pages;
      this.#requests += read < 0 ? 1 : read;
      if (read !== 0) this.#rows += Math.max(0, event.items - list.items);
      Object.assign(list, { pages: event.pages, items: event.items });
    } else if (event.kind === 'asking') {
      this.#list(event.key).state = 'asking';
    } else if (event.kind === 'list-done') {
      this.#list(event.report.key).state = 'done';
    }
  }

  /** Sets the sentence under the bars, such as why the pass waits. Empty: none. */
  note(text: string): void {
    this.#note = asCell(text);
  }

  /** The display as lines of at most `width` characters. */
  render(now: number, width: number): string {
    const lists = [...this.#lists.values()];
    const active = lists.filter(({ state }) => state === 'walking' || state === 'asking').slice(0, MOST_BARS);
    const nameWidth = Math.max(0, ...active.map(({ key }) => describeList(key).length));
    const lines = active.map((list) => this.#bar(list, nameWidth));
    lines.push(this.#summary(lists, now));
    if (this.#note !== '') lines.push(this.#note);
    return lines.map((line) => line.slice(0, Math.max(LEAST_WIDTH, width - 1))).join('\n');
  }

  #list(key: ListKey): ListState {
    const id = listId(key);
    const known = this.#lists.get(id) ?? { key, pages: 0, items: 0, expected: null, state: 'waiting' };
    this.#lists.set(id, known);
    return known;
  }

  #bar({ key, pages, items, expected, state }: ListState, nameWidth: number): string {
    const share = expected === null || expected === 0 ? null : Math.min(1, items / expected);
    const filled = share === null ? 0 : Math.round(share * BAR_WIDTH);
    const bar = share === null ? '·'.repeat(BAR_WIDTH) : '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
    const name = describeList(key).padEnd(nameWidth);
    const of = expected === null ? '' : ` of about ${thousands(expected)}`;
    const asking = state === 'asking' ? ', requesting the missing rows' : '';
    return `${name} ${bar} ${plural(pages, 'page')}, ${thousands(items)}${of} rows${asking}`;
  }

  #summary(lists: readonly ListState[], now: number): string {
    const seconds = Math.max(0.001, (now - this.#startedAt) / SECOND);
    const done = lists.filter(({ state }) => state === 'done').length;
    const sent = this.#pace.sentBefore + this.#requests;
    const left = this.#requestsLeft(lists);
    const parts = [
      `${thousands(done)} of ${plural(lists.length, 'list')}`,
      `${thousands(Math.round(this.#rows / seconds))} rows/s`,
      `budget ${thousands(sent)} of ${thousands(this.#pace.budget.perDay)}`,
      left === null
        ? 'time left unknown'
        : `about ${duration((left / this.#pace.budget.perSecond) * SECOND)} left`,
    ];
    return parts.join(' · ');
  }

  /** Requests until the end of the pass; null while the size of any list is unknown. */
  #requestsLeft(lists: readonly ListState[]): number | null {
    let left = 0;
    for (const { state, expected, pages } of lists) {
      if (state === 'done') continue;
      if (expected === null) return null;
      left += Math.max(1, pagesFor(expected, this.#pace.budget) - pages);
    }
    return left;
  }
}
