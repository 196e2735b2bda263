const WIDE =
  /^(?:[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}|[\u{20000}-\u{3FFFD}])$/u;
const NO_CELL = /^[\p{M}\p{Cf}]$/u;

/** How many cells of a terminal a text takes: Chinese signs and emoji two each, an accent on the letter before it none. */
export function cellsOf(text: string): number {
  // Most text is plain.
  if (/^[ -~]*$/.test(text)) return text.length;
  let cells = 0;
  for (const character of text) cells += NO_CELL.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return cells;
}

/** The text in at most so many cells; where it is cut it ends in `…`. */
export function cutToCells(text: string, most: number): string {
  if (cellsOf(text) <= most) return text;
  let kept = '';
  let left = most - 1;
  for (const character of text) {
    left -= cellsOf(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}…`;
}
