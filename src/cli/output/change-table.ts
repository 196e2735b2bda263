import { cellsOf, cutToCells, wrapToCells } from '../../core/humanize.ts';
import { changedFields, PRESENCE, PRESENT } from '../../core/diff.ts';
import { ITEM_WORDS } from '../../core/lists.ts';
import type { NamedChange } from '../../mirror/items/names.ts';
import { asCell, linked, type Output, paint, wrapped } from '../../session/terminal.ts';

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

/** The index of the columns that a layout treats apart. */
const AT = { id: 0, inbox: 2, change: 5 } as const;

/**
 * Prints changes as aligned columns. On a terminal, what a change shares with the one above is left blank,
 * and a change that is wider than its column is wrapped there. Where the room is short, an inbox is named
 * without its id. If the columns do not fit even so, changes of one item that were seen together stand
 * below a line that names them; so does a later change that is wider than the columns. The layout and the
 * widths of the first changes hold for all later ones. Elsewhere later changes may widen a column.
 */
export class ChangeTable {
  readonly #output: Output;
  #widths: number[] | null = null;
  #isNarrow = false;
  /** Inboxes are named without their ids. */
  #isShort = false;
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
    const short = Math.max(5, ...inboxes.map(({ id, name }) => cellsOf(asCell(name ?? id))));
    const field = Math.max(...changedFields().map((name) => name.length));
    this.#layOut([LEAST.id, LEAST.seen, inbox, LEAST.item, field, LEAST.change], short);
  }

  /** The titles, then the changes below those of earlier calls. Each line ends with a line break. */
  render(changes: readonly NamedChange[], { titled }: { titled: boolean }): string {
    const rows = changes.map(rowOf);
    if (this.#widths === null)
      this.#layOut(
        TITLES.map((title, index) =>
          Math.max(title.length, ...rows.map(({ cells }) => cellsOf(cells[index] ?? ''))),
        ),
        Math.max(TITLES[AT.inbox].length, ...rows.map(({ shortInbox }) => cellsOf(shortInbox))),
      );
    const head = this.#lines({ cells: TITLES, shortInbox: 'inbox', permalink: null }, true);
    return [...(titled ? [head] : []), ...rows.map((row) => this.#lines(row, false))]
      .map((text) => `${text}\n`)
      .join('');
  }

  /** @param short the width of the inboxes without their ids */
  #layOut(widths: number[], short: number): void {
    this.#widths = widths;
    if (this.#output.isTTY !== true) return;
    const least = Math.min(LEAST.change, widths[AT.change] ?? 0);
    if (this.#roomForChange() >= least) return;
    this.#isShort = true;
    const whole = widths[AT.inbox] ?? 0;
    widths[AT.inbox] = short;
    this.#isNarrow = this.#roomForChange() < least;
    if (this.#isNarrow) widths[AT.inbox] = whole;
  }

  /** The cells of a line that the other columns leave free. */
  #roomForChange(): number {
    const others = (this.#widths ?? []).slice(0, AT.change);
    return (this.#output.columns ?? 0) - others.reduce((sum, cells) => sum + cells + GAP.length, 0);
  }

  /** False for a row that would widen a column of a terminal's layout: only the ids may. */
  #fits({ cells }: Row): boolean {
    const isInside = (cell: string, index: number): boolean =>
      index === AT.id || index === AT.change || cellsOf(cell) <= (this.#widths?.[index] ?? 0);
    return !this.#isNarrow && (this.#output.isTTY !== true || cells.every(isInside));
  }

  #lines(given: Row, isHead: boolean): string {
    const output = this.#output;
    const [id0, seen0, inbox0, ...rest] = given.cells;
    const cells: Cells = [id0, seen0, this.#isShort && !this.#isNarrow ? given.shortInbox : inbox0, ...rest];
    const row = { ...given, cells };
    const isTable = this.#fits(row);
    const bold = (text: string): string => (isHead ? paint(output, 'bold', text) : text);
    const padded = (cell: string, index: number): string =>
      isTable || this.#isNarrow ? this.#pad(cell, index) : cell;
    const [, seen, inbox, , field, change] = cells.map(padded);
    const id = this.#pad(cells[AT.id], AT.id);
    const item = linked(output, cells[3], row.permalink) + padded(cells[3], 3).slice(cells[3].length);
    const above = this.#above?.cells;
    const isSameTime = above?.[1] === row.cells[1];
    const isSameItem = isSameTime && above?.[2] === row.cells[2] && above[3] === row.cells[3];
    if (output.isTTY === true) this.#above = row;
    if (isTable) {
      const blank = (cell: string, isSame: boolean): string => (isSame ? ' '.repeat(cellsOf(cell)) : cell);
      const [at, where] = [blank(seen ?? '', isSameTime), blank(inbox ?? '', isSameItem)];
      const what = isSameItem ? this.#pad('', 3) : item;
      const room = this.#roomForChange();
      const [first = '', ...more] =
        output.isTTY === true ? wrapToCells(cells[AT.change], room, true).split('\n') : [change];
      const below = more.map((text) => `\n${' '.repeat((output.columns ?? 0) - room)}${text}`).join('');
      return bold([id, at, where, what, field, first].join(GAP).trimEnd() + below);
    }
    const labelled = `${GAP}${id}${GAP}`;
    const below = wrapped(output, `${labelled}${row.cells[4]}${GAP}${row.cells[5]}`, cellsOf(labelled));
    if (isSameItem) return below;
    const before = `${seen}${GAP}`;
    const room = (output.columns ?? 0) - cellsOf(before) - GAP.length - cellsOf(row.cells[3]);
    const shown = cellsOf(row.cells[2]) <= room ? row.cells[2] : row.shortInbox;
    const fitted = shown === '' || room < 1 ? '' : `${cutToCells(shown, room)}${GAP}`;
    const dim = isHead ? before : paint(output, 'dim', before);
    return bold(`${dim}${fitted}${item.trimEnd()}\n${below}`);
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
      `${ITEM_WORDS[list]} ${list === 'conversations' ? asCell(itemId) : named(item, itemId)}`,
      asCell(field),
      seenWords(change) ??
        `${valueOf(change.oldName, change.oldValue)} → ${valueOf(change.newName, change.newValue)}`,
    ],
    shortInbox: asCell(inbox ?? inboxId ?? ''),
    permalink: change.permalink,
  };
}

/**
 * The words for an item that appeared, returned or is gone, which are those of the web page of changes:
 * `first seen: open, unassigned, tags Refund, VIP`, or a person's address. Null for any other change.
 */
function seenWords({
  field,
  list,
  newValue,
  itemValues,
  itemNames,
  previouslySeenAt,
}: NamedChange): string | null {
  if (field !== PRESENCE) return null;
  if (newValue !== PRESENT) return 'is gone from the service';
  const event = previouslySeenAt === null ? 'first seen' : 'is back';
  if (itemValues === null) return event;
  const { status, assignee_id: assignee, tags, email } = itemValues;
  const person = itemNames?.assignee_id ?? assignee ?? null;
  const words = [
    ...(list === 'conversations'
      ? [status ?? 'no status', person === null ? 'unassigned' : `assigned to ${String(person)}`]
      : []),
    ...(typeof email === 'string' ? [email] : []),
  ];
  const tagged = Array.isArray(tags) ? tags.map((id, nth) => itemNames?.tags[nth] ?? id) : [];
  if (tagged.length > 0) words.push(`${tagged.length === 1 ? 'tag' : 'tags'} ${tagged.join(', ')}`);
  return words.length === 0 ? event : `${event}: ${asCell(words.join(', '))}`;
}

function valueOf(name: string | null, value: string | null): string {
  return value === null ? '(none)' : named(name, value);
}

/** `Support (20117)`, or the id alone. */
function named(name: string | null, id: string): string {
  return name === null ? asCell(id) : `${asCell(name)} (${asCell(id)})`;
}
