import { type Budget, pagesFor } from '../../core/budget.ts';
import { SECOND } from '../../core/clock.ts';
import { cellsOf, cutToCells, duration, plural, thousands, wrapToCells } from '../../core/humanize.ts';
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

/** The inbox's name without control characters; null: unknown. */
type InboxName = (id: string) => string | null;

/** The widest and the narrowest bar, in characters. A bar without room for the narrowest is left out. */
const WIDEST_BAR = 24;
const NARROWEST_BAR = 5;
/** At most this many bars at a time. */
const MOST_BARS = 8;
/** At least this many columns of a line are drawn, even on a narrower terminal. */
const LEAST_WIDTH = 20;
/** A list's name keeps at least this many columns. */
const LEAST_NAME = 14;

/** Counts the progress of a pass and draws it: a bar for each list under way, and a line for the pass. */
export class Bars {
  readonly #lists = new Map<string, ListState>();
  readonly #pace: Pace;
  readonly #inboxName: InboxName;
  readonly #startedAt: number;
  #requests = 0;
  #rows = 0;
  #note: { readonly text: string; readonly until: Date | null } = { text: '', until: null };

  /** `now` in epoch ms. */
  constructor(pace: Pace, inboxName: InboxName, now: number) {
    this.#pace = pace;
    this.#inboxName = inboxName;
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

  /**
   * Sets the sentence under the bars, such as why the pass waits. Empty: none. With `until`, the end of the
   * wait, the time left follows it.
   */
  note(text: string, until: Date | null = null): void {
    this.#note = { text: asCell(text), until };
  }

  /** The display as lines that fit a terminal of `width` columns. */
  render(now: number, width: number): string {
    const room = Math.max(LEAST_WIDTH, width - 1);
    const lists = [...this.#lists.values()];
    const active = lists.filter(({ state }) => state === 'walking' || state === 'asking').slice(0, MOST_BARS);
    const lines = [...this.#bars(active, room), ...fitParts(this.#summary(lists, now), room)];
    const note = withTimeLeft(this.#note, now);
    if (note !== '') lines.push(...wrapToCells(note, room, true).split('\n'));
    return lines.join('\n');
  }

  #list(key: ListKey): ListState {
    const id = listId(key);
    const known = this.#lists.get(id) ?? { key, pages: 0, items: 0, expected: null, state: 'waiting' };
    this.#lists.set(id, known);
    return known;
  }

  /** A line for each list: its name, a bar as wide as the room allows, and its figures. */
  #bars(active: readonly ListState[], room: number): string[] {
    const figures = active.map(figuresOf);
    const widest = Math.max(0, ...figures.map((text) => cellsOf(text)));
    const mostName = Math.max(LEAST_NAME, room - widest - 1);
    const names = active.map(({ key }) => this.#nameOf(key, mostName));
    const nameWidth = Math.max(0, ...names.map((name) => cellsOf(name)));
    const barWidth = Math.min(WIDEST_BAR, room - nameWidth - widest - 2);
    return active.map((list, index) => {
      const name = names[index] ?? '';
      const bar = barWidth < NARROWEST_BAR ? '' : `${barOf(list, barWidth, this.#pace.budget)} `;
      const padded = name + ' '.repeat(nameWidth - cellsOf(name));
      return cutToCells(`${padded} ${bar}${figures[index]}`, room);
    });
  }

  /** The list's name, without the inbox's id if there is no room for it. */
  #nameOf({ list, inboxId }: ListKey, most: number): string {
    const inbox = inboxId === null ? null : this.#inboxName(inboxId);
    const whole = describeList({ list, inboxId }, inbox);
    if (cellsOf(whole) <= most || inbox === null) return cutToCells(whole, most);
    return cutToCells(`${list} of ${inbox}`, most);
  }

  #summary(lists: readonly ListState[], now: number): string[] {
    const seconds = Math.max(0.001, (now - this.#startedAt) / SECOND);
    const done = lists.filter(({ state }) => state === 'done').length;
    const sent = this.#pace.sentBefore + this.#requests;
    const left = this.#requestsLeft(lists);
    return [
      `${thousands(done)} of ${plural(lists.length, 'list')}`,
      `${thousands(Math.round(this.#rows / seconds))} rows/s`,
      `budget ${thousands(sent)} of ${thousands(this.#pace.budget.perDay)}`,
      left === null
        ? `${plural(this.#requests, 'page')}, ${plural(this.#rows, 'row')}, total unknown`
        : timeLeft((left / this.#pace.budget.perSecond) * SECOND),
    ];
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

function timeLeft(ms: number): string {
  return ms < SECOND ? 'less than 1 s left' : `about ${duration(ms)} left`;
}

function withTimeLeft({ text, until }: { text: string; until: Date | null }, now: number): string {
  if (until === null) return text;
  const ms = until.getTime() - now;
  return `${text} ${ms > 0 ? `The next request leaves in ${duration(ms)}.` : 'The next request leaves now.'}`;
}

function figuresOf({ pages, items, expected, state }: ListState): string {
  const of = expected === null || items > expected ? '' : ` of about ${thousands(expected)}`;
  const asking = state === 'asking' ? ', requesting the missing rows' : '';
  return `${plural(pages, 'page')}, ${thousands(items)}${of} rows${asking}`;
}

/** Dots for an unknown size, and for a list of one page, which is read at once: its bar would stay empty. */
function barOf({ items, expected }: ListState, width: number, budget: Pace['budget']): string {
  if (expected === null || pagesFor(expected, budget) <= 1) return '·'.repeat(width);
  const filled = Math.round(Math.min(1, items / expected) * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}

/** Parts of a sentence, separated by dots, on as many lines as they need. */
function fitParts(parts: readonly string[], room: number): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = `${lines.at(-1)} · ${part}`;
    if (lines.length > 0 && cellsOf(longer) <= room) lines[lines.length - 1] = longer;
    else lines.push(cutToCells(part, room));
  }
  return lines;
}
