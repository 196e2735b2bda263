import { nameOf, type SqlToken, tokensOf } from '../tokens.ts';

/** Prepares an SQL text. @returns SQLite's error message, or null */
export type Prepare = (sql: string) => string | null;

/** At most 200 occurrences of a word are tried: each costs one `prepare`. */
const MOST_TRIED = 200;

/**
 * Finds the position of an error in an SQL text, by trial: SQLite's driver does not report it.
 * @param message SQLite's error message
 * @returns UTF-16 units from the start; null if the position is uncertain
 */
export function positionOf(sql: string, message: string, prepare: Prepare): number | null {
  const tokens = tokensOf(sql);
  const last = tokens.at(-1);
  if (message === 'incomplete input') return last === undefined ? null : last.at + last.text.length;
  const unknown = /^unrecognized token: "(.*)"$/s.exec(message)?.[1];
  if (unknown !== undefined)
    return tokens.find(({ text }) => unknown.startsWith(text) || text.startsWith(unknown))?.at ?? null;
  const near = /^near "(.*)": syntax error$/s.exec(message)?.[1];
  if (near !== undefined) return positionOfSyntaxError(sql, tokens, near, prepare);
  const named =
    /^(no such (?:column|table|function)|ambiguous column name): (.*?)(?: - should this be .*)?$/s.exec(
      message,
    );
  if (named !== null) return positionOfName(sql, tokens, named[1] ?? '', named[2] ?? '', prepare);
  return null;
}

/**
 * A parser reads from the left. The error is at the first `near` token at which the text can be cut and still
 * fails with the same message.
 */
function positionOfSyntaxError(
  sql: string,
  tokens: readonly SqlToken[],
  near: string,
  prepare: Prepare,
): number | null {
  const candidates = tokens.filter(({ text }) => text === near).slice(0, MOST_TRIED);
  const message = `near "${near}": syntax error`;
  const first = candidates.find(({ at, text }) => prepare(sql.slice(0, at + text.length)) === message);
  return first?.at ?? (candidates.length === 1 ? candidates[0]!.at : null);
}

/** @returns the positions where `name` (`a.b` is three tokens) may stand for what the error calls `kind` */
function positionsOfName(
  tokens: readonly SqlToken[],
  kind: string,
  name: string,
): { readonly from: number; readonly to: number }[] {
  const parts = tokensOf(name).map((token) => nameOf(token));
  return tokens.flatMap((token, index) => {
    const inText = tokens.slice(index, index + parts.length);
    if (!parts.every((part, offset) => inText[offset] !== undefined && nameOf(inText[offset]) === part))
      return [];
    const [before, after] = [
      tokens[index - 1]?.text.toLowerCase() ?? '',
      tokens[index + parts.length]?.text ?? '',
    ];
    if (before === '.' || token.text.startsWith("'")) return [];
    const fits =
      kind === 'no such function'
        ? after === '('
        : kind === 'no such table'
          ? /^(?:from|join|,|\(|in)$/.test(before) && after !== '.'
          : after !== '.';
    const end = inText.at(-1) ?? token;
    return fits ? [{ from: token.at, to: end.at + end.text.length }] : [];
  });
}

/**
 * A missing table or function fails at its first position. A column may exist in one part of the text and
 * not in another: from the end on, its positions are replaced by NULL until the message about it disappears.
 * The last one replaced is the first fault.
 */
function positionOfName(
  sql: string,
  tokens: readonly SqlToken[],
  kind: string,
  name: string,
  prepare: Prepare,
): number | null {
  const positions = positionsOfName(tokens, kind, name).slice(0, MOST_TRIED);
  if (!kind.includes('column') || positions.length < 2) return positions[0]?.from ?? null;
  let text = sql;
  for (const { from, to } of positions.toReversed()) {
    const without = `${text.slice(0, from)}NULL${text.slice(to)}`;
    const message = prepare(without) ?? '';
    // No value may stand here: the name is an alias, for example.
    if (message.endsWith('syntax error')) continue;
    if (!message.startsWith(`${kind}: ${name}`)) return from;
    text = without;
  }
  return null;
}
