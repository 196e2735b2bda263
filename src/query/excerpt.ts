import stringWidth from 'string-width';

/** So much of a line is shown: what fits a narrow terminal beside its indentation. */
const MOST_CELLS = 72;

/**
 * The place `at` (in UTF-16 units) of an SQL text for a person: its line and column (in characters, from 1), the line, and a caret
 * under the place. A long line is cut around it.
 */
export function excerptOf(sql: string, at: number): string {
  const before = sql.slice(0, at);
  const start = before.lastIndexOf('\n') + 1;
  const [line = ''] = sql.slice(start).split(/\r?\n/, 1);
  // What moves the cursor would move the caret's line apart from the one above it.
  const characters = Array.from(line, (character) => (/\p{Cc}/u.test(character) ? ' ' : character));
  const column = Array.from(sql.slice(start, at)).length;
  let from = column;
  let to = column;
  for (let left = MOST_CELLS; left > 0 && (from > 0 || to < characters.length);) {
    // As much on either side, and what one side does not need for the other.
    if (from > 0) left -= stringWidth(characters[--from] ?? '');
    if (to < characters.length) left -= stringWidth(characters[to++] ?? '');
  }
  const lead = (from > 0 ? '…' : '') + characters.slice(from, column).join('');
  const rest = characters.slice(column, to).join('') + (to < characters.length ? '…' : '');
  const indent = ' '.repeat(stringWidth(lead));
  const number = before.split('\n').length;
  return `  line ${number}, column ${column + 1}:\n  ${lead}${rest}\n  ${indent}^`;
}
