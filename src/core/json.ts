// JSON that loses no digit: a JavaScript number cannot hold every int64 id exactly (docs/decisions/0009).

/** A JSON number that JavaScript would round. `JSON.stringify` writes its original text. */
export interface ExactNumber {
  readonly rawJSON: string;
}

declare global {
  // ES2025 "JSON.parse source text access"; TypeScript's library does not declare it yet.
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
    rawJSON(text: string): ExactNumber;
    isRawJSON(value: unknown): value is ExactNumber;
  }
}

// Only -0 and numbers with many digits, a fraction or an exponent can lose digits. This test spares most
// pages the slow reviver.
const MAY_LOSE_DIGITS = /(?:^|[:[,])\s*-?(?:\d{16}|\d+[.eE]|(?<=-)0)/;

// `JSON.stringify` escapes a lone half of a surrogate pair, and never a whole pair.
const MAY_BE_UNSTORABLE = /\\u(?:0000|d[89a-f])/i;
const UNSTORABLE = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][\da-f]{2})/g;
/** A number of more characters, or with so large an exponent, becomes text: databases limit their numbers. */
const MOST_CHARACTERS = 1000;
const HUGE_EXPONENT = /e[-+]?\d{4}/i;

/** Deeper values would overflow the stack of functions that call themselves, and the limits of databases. */
const MOST_LEVELS = 100;

/** Stands in place of each value that is nested too deep. No text holds its first character by chance. */
export const TOO_DEEP = `\uFDD1nested more than ${MOST_LEVELS} levels deep`;

/**
 * Parses JSON. A number that JavaScript would round becomes an {@link ExactNumber}; one that is too large for
 * a database becomes text. {@link TOO_DEEP} replaces each array or object below 100 levels. Characters that
 * PostgreSQL cannot store are replaced on every database, so that all mirrors store the same
 * ({@link storableJson}).
 * @param mostValues commas and opening brackets outside of texts, which count the values before any is made
 * @throws SyntaxError as `JSON.parse` does; RangeError if there are more values
 */
export function parseExact(json: string, mostValues = Infinity): unknown {
  const text = withoutDepth(json, mostValues);
  const value = parseDigits(text);
  return MAY_BE_UNSTORABLE.test(text) ? parseDigits(storableJson(JSON.stringify(value))) : value;
}

/** Output of `JSON.stringify` with U+FFFD in place of null characters and lone halves of surrogate pairs. */
export function storableJson(json: string): string {
  return json.replaceAll(UNSTORABLE, '$1\uFFFD');
}

// Character codes: this loop reads every page.
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/**
 * The JSON text with {@link TOO_DEEP} in place of each value below 100 levels.
 * @throws RangeError if it has more than `mostValues`
 */
function withoutDepth(json: string, mostValues: number): string {
  let kept = '';
  let keptTo = 0;
  let level = 0;
  let cutFrom = 0;
  let values = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfText(json, at);
    } else if (code === COMMA) {
      values += 1;
    } else if (OPENING.has(code)) {
      values += 1;
      level += 1;
      if (level === MOST_LEVELS + 1) cutFrom = at;
    } else if (CLOSING.has(code)) {
      if (level === MOST_LEVELS + 1) {
        kept += json.slice(keptTo, cutFrom) + JSON.stringify(TOO_DEEP);
        keptTo = at + 1;
      }
      level -= 1;
    }
    if (values > mostValues) throw new RangeError(`the JSON has more than ${mostValues} values`);
  }
  return keptTo === 0 ? json : kept + json.slice(keptTo);
}

/** The index of the quote that ends the text that begins at `start`; the length of the JSON if none does. */
function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return json.length;
}

function parseDigits(text: string): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text) as unknown;
  return JSON.parse(text, (_key, value, { source }) => {
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
    return source.length > MOST_CHARACTERS || HUGE_EXPONENT.test(source) ? source : JSON.rawJSON(source);
  });
}

/** JSON in which each number that JavaScript would round is a text with every digit, for `JSON.parse`. */
export function roundedAsText(json: string): string {
  return MAY_LOSE_DIGITS.test(json) ? JSON.stringify(parseDigits(json), numberAsText) : json;
}

function numberAsText(_key: string, value: unknown): unknown {
  return isExactNumber(value) ? value.rawJSON : value;
}

/** A number of digits as JSON writes it: an {@link ExactNumber} if JavaScript would round it. */
export function exactNumber(digits: string): number | ExactNumber {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(digits);
}

/** True for an object of JSON: not null, no array, and no {@link ExactNumber}. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

/** True for an {@link ExactNumber}; false for a number that JavaScript holds exactly. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return JSON.isRawJSON(value);
}

/** JSON text with the keys of every object sorted, so that equal content gives equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (isObject(part) ? sortKeys(part) : part));
}

function sortKeys(object: object): object {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Control characters, and invisible ones: a model reads them and a person does not. */
const HIDDEN = /[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu;

/** Those that stay: line breaks, the joiners of scripts and emoji, and the sign for a coloured emoji. */
const KEPT = '\n\u200C\u200D\uFE0F';

/**
 * JSON, or other text, with {@link HIDDEN} characters as the escapes of JSON: a terminal obeys none, and a
 * parser of JSON reads the same.
 */
export function escapeHidden(text: string): string {
  return text.replaceAll(HIDDEN, (hidden) =>
    KEPT.includes(hidden)
      ? hidden
      : Array.from({ length: hidden.length }, (_, at) => escapeOf(hidden.charCodeAt(at))).join(''),
  );
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
