import { cellsOf } from '../core/humanize.ts';

/** At most 72 terminal cells of a line are shown: with the indentation, they fit a narrow terminal. */
const MOST_CELLS = 72;

/**
 * Shows a place in an SQL text: its line and column (in characters, from 1), the line, and a caret under the
 * place. A long line is cut around the place.
 * @param at the place, in UTF-16 units
 */
export function excerptOf(sql: string, at: number): string {
  const before = sql.slice(0, at);
  const start = before.lastIndexOf('\n') + 1;
  const [line = ''] = sql.slice(start).split(/\r?\n/, 1);
  // A control character would move the cursor and shift the caret.
  const characters = Array.from(line, (character) => (/\p{Cc}/u.test(character) ? ' ' : character));
  const column = Array.from(sql.slice(start, at)).length;
  let from = column;
  let to = column;
  for (let left = MOST_CELLS; left > 0 && (from > 0 || to < characters.length);) {
    // Both sides get the same share; one side gets the cells that the other does not need.
    if (from > 0) left -= cellsOf(characters[--from] ?? '');
    if (to < characters.length) left -= cellsOf(characters[to++] ?? '');
  }
  const lead = (from > 0 ? '…' : '') + characters.slice(from, column).join('');
  const rest = characters.slice(column, to).join('') + (to < characters.length ? '…' : '');
  const indent = ' '.repeat(cellsOf(lead));
  const number = before.split('\n').length;
  return `  line ${number}, column ${column + 1}:\n  ${lead}${rest}\n  ${indent}^`;
}
