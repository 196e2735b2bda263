/** A word, a name in quotes, a number, a text or an operator of SQL, and where it begins (in UTF-16 units, as JavaScript counts). */
export interface SqlToken {
  readonly text: string;
  readonly at: number;
}

const SPACE = String.raw`(?<space>\s+|--[^\n]*|/\*[^]*?(?:\*/|$))`;
const QUOTED = String.raw`'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|\x60[^\x60]*(?:\x60|$)|\[[^\]]*(?:\]|$)`;
const WORD = String.raw`[\p{L}_][\p{L}\p{M}\p{N}_$]*|\d[\w.]*`;
const OPERATOR = String.raw`->>|->|\|\||<=|>=|<>|!=|==|<<|>>|[^]`;
const TOKEN = new RegExp(`${SPACE}|${QUOTED}|${WORD}|${OPERATOR}`, 'gu');

/** The tokens of an SQL text, without white space and comments. What is no SQL at all comes character by character; a text that does not end, to the end. */
export function tokensOf(sql: string): SqlToken[] {
  return [...sql.matchAll(TOKEN)]
    .filter(({ groups }) => groups?.['space'] === undefined)
    .map(({ 0: text, index }) => ({ text, at: index }));
}

/** A token as the name that it stands for: without quotes, in lower case. */
export function nameOf({ text }: SqlToken): string {
  return text.replaceAll(/^["'`[]|["'`\]]$/g, '').toLowerCase();
}
