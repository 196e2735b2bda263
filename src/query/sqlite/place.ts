import { nameOf, type SqlToken, tokensOf } from '../tokens.ts';

/** Prepares an SQL text. @returns what SQLite says against it, or null */
export type Objection = (sql: string) => string | null;

/** More of them than anybody writes: each is tried. */
const MOST_TRIED = 200;

/**
 * Where in an SQL text the fault is that SQLite names but does not place: its driver does not hand the place out.
 * @param said SQLite's words for the fault
 * @returns UTF-16 units from the start; null where it cannot be told for sure
 */
export function placeOf(sql: string, said: string, objection: Objection): number | null {
  const tokens = tokensOf(sql);
  const last = tokens.at(-1);
  if (said === 'incomplete input') return last === undefined ? null : last.at + last.text.length;
  const unknown = /^unrecognized token: "(.*)"$/s.exec(said)?.[1];
  if (unknown !== undefined)
    return tokens.find(({ text }) => unknown.startsWith(text) || text.startsWith(unknown))?.at ?? null;
  const near = /^near "(.*)": syntax error$/s.exec(said)?.[1];
  if (near !== undefined) return placeOfSyntaxError(sql, tokens, near, objection);
  const named =
    /^(no such column|ambiguous column name|no such table|no such function): (.*?)(?: - should this be .*)?$/s.exec(
      said,
    );
  if (named !== null) return placeOfName(sql, tokens, named[1] ?? '', named[2] ?? '', objection);
  return null;
}

/** A parser reads from the left: the fault is at the first such token up to which the text is refused with the same words. */
function placeOfSyntaxError(
  sql: string,
  tokens: readonly SqlToken[],
  near: string,
  objection: Objection,
): number | null {
  const candidates = tokens.filter(({ text }) => text === near).slice(0, MOST_TRIED);
  const words = `near "${near}": syntax error`;
  const first = candidates.find(({ at, text }) => objection(sql.slice(0, at + text.length)) === words);
  return first?.at ?? (candidates.length === 1 ? candidates[0]!.at : null);
}

/** `a.b` is three tokens. @returns the places of the name that fit what it names */
function placesOfName(
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
 * A table or a function that is not there is so at its first place. A column may be there in one part of the text and not in
 * another: from the end on, its places are replaced by NULL until the complaint about it ceases; the last replaced is the first at fault.
 */
function placeOfName(
  sql: string,
  tokens: readonly SqlToken[],
  kind: string,
  name: string,
  objection: Objection,
): number | null {
  const places = placesOfName(tokens, kind, name).slice(0, MOST_TRIED);
  if (!kind.includes('column') || places.length < 2) return places[0]?.from ?? null;
  let text = sql;
  for (const { from, to } of places.toReversed()) {
    const without = `${text.slice(0, from)}NULL${text.slice(to)}`;
    const words = objection(without) ?? '';
    // Not the place of a value, such as that of an alias.
    if (words.endsWith('syntax error')) continue;
    if (!words.startsWith(`${kind}: ${name}`)) return from;
    text = without;
  }
  return null;
}
