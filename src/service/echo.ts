import { isExactNumber, parseExact } from '../core/json.ts';
import { holdsKey, LEAST_KEY, NO_KEY, withoutKey } from '../core/secrets.ts';
import { MOST_VALUES } from './flaws.ts';
import type { Answer } from './http.ts';

/**
 * Removes the key that a request carried from its answer: error messages quote it, some servers and proxies
 * echo the request, and a person may have pasted it into a name. Equal answers stay equal.
 */
export function withoutEcho(answer: Answer, key: string): Answer {
  const { body, location } = answer;
  return {
    ...answer,
    body: hasRows(answer) ? rowsWithoutKey(body, key) : withoutKey(body, key),
    location: location === undefined ? location : withoutKey(location, key),
  };
}

/** True if the answer is a page or an item, not an error or a redirect. */
export function hasRows({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

/**
 * JSON is decoded first, so that it stays JSON. A body without the key is returned as it came. A key of
 * digits may come as a number, also with a decimal point among them.
 */
function rowsWithoutKey(body: string, key: string): string {
  const searched = /^\d+$/.test(key) ? body.replaceAll('.', '') : body;
  if (key.length < LEAST_KEY || !holdsKey(searched, key)) return body;
  try {
    const parsed = parseExact(body.trim(), MOST_VALUES);
    return JSON.stringify(parsed, (_name, value: unknown) => partWithoutKey(value, key));
  } catch {
    return withoutKey(body, key);
  }
}

function partWithoutKey(value: unknown, key: string): unknown {
  if (typeof value === 'string') return withoutKey(value, key);
  if (typeof value === 'number' || isExactNumber(value)) {
    const digits = isExactNumber(value) ? value.rawJSON : String(value);
    return digits.replaceAll(/\D/g, '').includes(key) ? NO_KEY : value;
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [withoutKey(name, key), part]));
}
