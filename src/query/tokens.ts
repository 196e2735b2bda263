/** A word, a quoted name, a number, a text or an operator of SQL, and its place (in UTF-16 units). */
export interface SqlToken {
  readonly text: string;
  readonly at: number;
}

const SPACE = String.raw`(?<space>\s+|--[^\n]*|/\*[^]*?(?:\*/|$))`;
const QUOTED = String.raw`'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|\x60[^\x60]*(?:\x60|$)|\[[^\]]*(?:\]|$)`;
const WORD = String.raw`[\p{L}_][\p{L}\p{M}\p{N}_$]*|\d[\w.]*`;
const OPERATOR = String.raw`->>|->|\|\||<=|>=|<>|!=|==|<<|>>|[^]`;
const TOKEN = new RegExp(`${SPACE}|${QUOTED}|${WORD}|${OPERATOR}`, 'gu');

/**
 * The tokens of an SQL text, without white space and comments. A character that is not SQL is one token; a
 * quote that is never closed extends to the end.
 */
export function tokensOf(sql: string): SqlToken[] {
  return [...sql.matchAll(TOKEN)]
    .filter(({ groups }) => groups?.['space'] === undefined)
    .map(({ 0: text, index }) => ({ text, at: index }));
}

/** The name that a token stands for: without quotes, in lower case. */
export function nameOf({ text }: SqlToken): string {
  return text.replaceAll(/^["'`[]|["'`\]]$/g, '').toLowerCase();
}
