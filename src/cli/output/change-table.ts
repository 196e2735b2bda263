import { cellsOf, cutToCells } from '../../core/humanize.ts';
import { changedFields, PRESENCE } from '../../core/diff.ts';
import type { NamedChange } from '../../mirror/items/names.ts';
import { asCell, linked, type Output, paint } from '../../session/terminal.ts';

const TITLES = ['id', 'seen (UTC)', 'inbox', 'item', 'field', 'change'] as const;

/** While following, room for an id of 6 digits, a conversation's id of 16, and two words of a status. */
const LEAST = { id: 6, seen: 19, item: 29, change: 24 } as const;

/** Columns between two cells. */
const GAP = '  ';

/** The cells in the order of {@link TITLES}. */
type Cells = readonly [string, string, string, string, string, string];

interface Row {
  readonly cells: Cells;
  /** The inbox's name without its id, for a narrow terminal. */
  readonly shortInbox: string;
  readonly permalink: string | null;
}

const LIST_WORDS = { inboxes: 'inbox', users: 'user', tags: 'tag', conversations: 'conversation' } as const;

/**
 * Prints changes as aligned columns. On a terminal, what a change shares with the one above is left blank. If
 * the terminal is too narrow for the columns, changes of one item that were seen together stand below a line
 * that names them. The layout and the widths of the first changes hold for all later ones, which can only
 * widen a column.
 */
export class ChangeTable {
  readonly #output: Output;
  #widths: number[] | null = null;
  #isNarrow = false;
  /** The change above, on a terminal. */
  #above: Row | null = null;

  /**
   * @param inboxes the inboxes of a mirror that is followed: the titles come before the first change, so that
   *   the widths cannot depend on it; null: it is not followed
   */
  constructor(output: Output, inboxes: readonly { id: string; name: string | null }[] | null) {
    this.#output = output;
    if (inboxes === null) return;
    const inbox = Math.max(5, ...inboxes.map(({ id, name }) => cellsOf(named(name, id))));
    const field = Math.max(...changedFields().map((name) => name.length));
    this.#layOut([LEAST.id, LEAST.seen, inbox, LEAST.item, field, LEAST.change]);
  }

  /** The titles, then the changes below those of earlier calls. Each line ends with a line break. */
  render(changes: readonly NamedChange[], { titled }: { titled: boolean }): string {
    const rows = changes.map(rowOf);
    if (this.#widths === null)
      this.#layOut(
        TITLES.map((title, index) =>
          Math.max(title.length, ...rows.map(({ cells }) => cellsOf(cells[index] ?? ''))),
        ),
      );
    const head = this.#lines({ cells: TITLES, shortInbox: 'inbox', permalink: null }, true);
    return [...(titled ? [head] : []), ...rows.map((row) => this.#lines(row, false))]
      .map((text) => `${text}\n`)
      .join('');
  }

  #layOut(widths: number[]): void {
    this.#widths = widths;
    const width = widths.reduce((sum, cells) => sum + cells, GAP.length * (TITLES.length - 1));
    this.#isNarrow = this.#output.isTTY === true && width > (this.#output.columns ?? 0);
  }

  #lines(row: Row, isHead: boolean): string {
    const output = this.#output;
    const bold = (text: string): string => (isHead ? paint(output, 'bold', text) : text);
    const [id, seen, inbox, , field, change] = row.cells.map((cell, index) => this.#pad(cell, index));
    const item = this.#item(row);
    const above = this.#above?.cells;
    const isSameTime = above?.[1] === row.cells[1];
    const isSameItem = isSameTime && above?.[2] === row.cells[2] && above[3] === row.cells[3];
    if (output.isTTY === true) this.#above = row;
    if (!this.#isNarrow) {
      const blank = (cell: string, isSame: boolean): string => (isSame ? ' '.repeat(cellsOf(cell)) : cell);
      const [at, where] = [blank(seen ?? '', isSameTime), blank(inbox ?? '', isSameItem)];
      const what = isSameItem ? this.#pad('', 3) : item;
      return bold([id, at, where, what, field, change].join(GAP).trimEnd());
    }
    const below = `${GAP}${id}${GAP}${row.cells[4]}${GAP}${row.cells[5]}`;
    if (isSameItem) return below;
    const before = `${seen}${GAP}`;
    const room = (output.columns ?? 0) - cellsOf(before) - GAP.length - cellsOf(row.cells[3]);
    const shown = cellsOf(row.cells[2]) <= room ? row.cells[2] : row.shortInbox;
    const fitted = shown === '' || room < 1 ? '' : `${cutToCells(shown, room)}${GAP}`;
    const dim = isHead ? before : paint(output, 'dim', before);
    return bold(`${dim}${fitted}${item.trimEnd()}\n${below}`);
  }

  /** The item, which leads to its page at the service. */
  #item({ cells, permalink }: Row): string {
    const padding = this.#pad(cells[3], 3).slice(cells[3].length);
    return linked(this.#output, cells[3], permalink) + padding;
  }

  /** Fills a cell up to its column's width, which it may widen. Ids are at the right. */
  #pad(cell: string, index: number): string {
    const widths = this.#widths ?? [];
    widths[index] = Math.max(widths[index] ?? 0, cellsOf(cell));
    const space = ' '.repeat((widths[index] ?? 0) - cellsOf(cell));
    return index === 0 ? space + cell : cell + space;
  }
}

function rowOf(change: NamedChange): Row {
  const { id, observedAt, inboxId, inbox, list, itemId, item, field } = change;
  const isOfInbox = inboxId !== null;
  return {
    cells: [
      String(id),
      observedAt.toISOString().slice(0, 19).replace('T', ' '),
      isOfInbox ? named(inbox, inboxId) : '',
      `${LIST_WORDS[list]} ${list === 'conversations' ? asCell(itemId) : named(item, itemId)}`,
      asCell(field),
      seenWords(change) ??
        `${valueOf(change.oldName, change.oldValue)} → ${valueOf(change.newName, change.newValue)}`,
    ],
    shortInbox: asCell(inbox ?? inboxId ?? ''),
    permalink: change.permalink,
  };
}

/**
 * The words for an item that appeared or returned: `new: open, nobody, tags Refund, VIP`, or a person's
 * address. Null for any other change.
 */
function seenWords({ field, list, itemValues, itemNames, previouslySeenAt }: NamedChange): string | null {
  if (field !== PRESENCE || itemValues === null) return null;
  const { status, assignee_id: assignee, tags, email } = itemValues;
  const words = [
    ...(list === 'conversations'
      ? [status ?? 'no status', itemNames?.assignee_id ?? assignee ?? 'nobody']
      : []),
    ...(typeof email === 'string' ? [email] : []),
  ];
  const tagged = Array.isArray(tags) ? tags.map((id, nth) => itemNames?.tags[nth] ?? id) : [];
  if (tagged.length > 0) words.push(`${tagged.length === 1 ? 'tag' : 'tags'} ${tagged.join(', ')}`);
  const event = previouslySeenAt === null ? 'new' : 'returned';
  return words.length === 0 ? event : `${event}: ${asCell(words.join(', '))}`;
}

function valueOf(name: string | null, value: string | null): string {
  return value === null ? '(none)' : named(name, value);
}

/** `Support (20117)`, or the id alone. */
function named(name: string | null, id: string): string {
  return name === null ? asCell(id) : `${asCell(name)} (${asCell(id)})`;
}
