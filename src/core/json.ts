/** JSON that loses no digit: ids run to int64, past what a JavaScript number holds exactly (SERVICE-NOTES.md, "Ids"). */

/** A JSON number whose exact text a JavaScript number would change; `JSON.stringify` writes that text back. */
export interface ExactNumber {
  readonly rawJSON: string;
}

// ES2025 "JSON.parse source text access"; TypeScript's library does not describe it yet.
interface ExactJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
}
const exact = JSON as unknown as ExactJson;

// Only numbers with many digits, a fraction or an exponent, and -0, can lose anything. A quick look spares most pages the slow reviver.
const MAY_LOSE_DIGITS = /(?:^|[:[,])\s*-?(?:\d{16}|\d+[.eE]|(?<=-)0)/;

// `JSON.stringify` escapes what is half of a pair, and never a whole one.
const MAY_BE_UNSTORABLE = /\\u(?:0000|d[89a-f])/i;
const UNSTORABLE = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][\da-f]{2})/g;
/** Longer ones, or with such an exponent, are more than any database takes for a number. */
const MOST_DIGITS = 1000;
const HUGE_EXPONENT = /e[-+]?\d{4}/i;

/**
 * Parses JSON; a number that JavaScript would round stays as an {@link ExactNumber}. What PostgreSQL cannot hold is made such that it can,
 * so that every mirror holds the same: see {@link storableJson}; a number without measure becomes text.
 * @throws SyntaxError as `JSON.parse` does.
 */
export function parseExact(text: string): unknown {
  const value = parseDigits(text);
  return MAY_BE_UNSTORABLE.test(text) ? parseDigits(storableJson(JSON.stringify(value))) : value;
}

/** JSON as `JSON.stringify` gives it, with U+FFFD for null characters and halves of surrogate pairs. */
export function storableJson(json: string): string {
  return json.replaceAll(UNSTORABLE, '$1\uFFFD');
}

function parseDigits(text: string): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text) as unknown;
  return exact.parse(text, (_key, value, { source }) => {
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
    return source.length > MOST_DIGITS || HUGE_EXPONENT.test(source) ? source : exact.rawJSON(source);
  });
}

/** True for a number that {@link parseExact} kept as text. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return exact.isRawJSON(value);
}

/** JSON text with the keys of every object in order, so that equal content gives equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part) && !isExactNumber(part)
      ? sortKeys(part)
      : part,
  );
}

function sortKeys(object: object): object {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
