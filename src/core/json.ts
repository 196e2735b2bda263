/** JSON that loses no digit: ids run to int64, past what a JavaScript number holds exactly (SERVICE-NOTES.md, "Ids"). */

/** A JSON number whose exact text a JavaScript number would change; `JSON.stringify` writes that text back. */
export interface ExactNumber {
  readonly rawJSON: string;
}

// ES2025 "JSON.parse source text access"; TypeScript's library does not describe it yet.
interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
}
const exact = JSON as unknown as ExactJson;

// Only numbers with many digits, a fraction or an exponent, and -0, can lose anything. A quick look spares most pages the slow reviver.
const MAY_LOSE_DIGITS = /(?:^|[:[,])\s*-?(?:\d{16}|\d+[.eE]|(?<=-)0)/;

/**
 * Parses JSON; a number that JavaScript would round stays as an {@link ExactNumber}.
 * @throws SyntaxError as `JSON.parse` does.
 */
export function parseExact(text: string): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text) as unknown;
  return exact.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? exact.rawJSON(source) : value,
  );
}

/** True for a number that {@link parseExact} kept as text. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return exact.isRawJSON(value);
}

/** JSON text with the keys of every object in order, so that equal content gives equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part) && !isExactNumber(part) ? sortKeys(part) : part,
  );
}

function sortKeys(object: object): object {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
