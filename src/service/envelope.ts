import { MirrorError } from '../core/errors.ts';
import { onOneLine, plural, thousands } from '../core/humanize.ts';
import { isExactNumber, isObject, parseExact } from '../core/json.ts';
import { NO_KEY } from '../core/secrets.ts';
import { MOST_VALUES } from './flaws.ts';

/** The rows of one list answer. */
export interface ListAnswer {
  readonly rows: readonly unknown[];
  /** The token of the next page; null on the last page; undefined if the page may be the last or not. */
  readonly next: string | null | undefined;
}

/** A body that is not JSON: empty, cut short or other text. A retry may help, unlike for a wrong shape. */
export class BrokenBody extends Error {
  override readonly name = 'BrokenBody';
}

/**
 * @throws BrokenBody if the body is empty or not JSON; its message gives kind and length, no content
 * @throws MirrorError `BAD_ANSWER` if the body has more than {@link MOST_VALUES}
 */
export function readBody(body: string): unknown {
  // `trim` also removes a byte order mark.
  const text = body.trim();
  if (text === '') throw new BrokenBody('the body was empty');
  try {
    return parseExact(text, MOST_VALUES);
  } catch (error) {
    if (error instanceof RangeError)
      throw new MirrorError(
        'BAD_ANSWER',
        `the answer has more than ${thousands(MOST_VALUES)} values, and was not read`,
      );
    const kind = text.startsWith('<')
      ? 'a page of HTML or XML'
      : /^[{[]/.test(text)
        ? 'cut short or damaged JSON'
        : 'some text';
    throw new BrokenBody(`the body was not JSON but ${kind} (${plural(text.length, 'character')})`);
  }
}

/** The request of a page: at most `limit` rows, and whether it is the first page, which needs no token. */
export interface PageRequest {
  readonly limit: number;
  readonly isFirst: boolean;
}

/**
 * A page token has at most this many characters. A sweep keeps the tokens of all its pages, and servers
 * accept no address that is much longer.
 */
const LONGEST_TOKEN = 8192;

/** A page has at most this many rows, or ten times as many as requested: some services ignore `limit`. */
const MOST_ROWS = 10_000;

/**
 * Reads `results` and `pagination.next_page`, at the top or inside `data` (spec §4.1, docs/service.md).
 * A missing or empty `next_page` is the end of a list on a page with fewer rows than requested, and on every
 * page after the first, because the page before had a token. On a full first page it says nothing: the
 * service may name its token otherwise.
 * @throws MirrorError `BAD_ANSWER` that describes the shape received; an invalid token must not look like the
 *   end of the list
 */
export function readList(body: unknown, { limit, isFirst }: PageRequest): ListAnswer {
  const outer = asObject(body);
  const holder = outer !== null && !('results' in outer) ? asObject(outer['data']) : outer;
  const pagination = asObject(holder?.['pagination']);
  const rows = holder?.['results'];
  if (!Array.isArray(rows) || pagination === null) {
    throw new MirrorError(
      'BAD_ANSWER',
      'expected {"results": […], "pagination": {…}}, at the top or inside "data", ' +
        `but got ${describeShape(body)}`,
    );
  }
  const mostRows = Math.max(MOST_ROWS, 10 * limit);
  if (rows.length > mostRows)
    throw new MirrorError(
      'BAD_ANSWER',
      `the page has ${thousands(rows.length)} rows, and at most ${thousands(mostRows)} are read`,
    );
  const next = pagination['next_page'];
  if (next === null) return { rows, next };
  if (next === undefined || next === '')
    return { rows, next: !isFirst || rows.length < limit ? null : undefined };
  if (typeof next !== 'string') {
    const got = describeShape(next);
    throw new MirrorError(
      'BAD_ANSWER',
      `expected pagination.next_page to be a token or null, but got ${got}`,
    );
  }
  if (next.length > LONGEST_TOKEN)
    throw new MirrorError(
      'BAD_ANSWER',
      `pagination.next_page has ${thousands(next.length)} characters, ` +
        `and a page token has ${thousands(LONGEST_TOKEN)} at most`,
    );
  if (next.includes(NO_KEY))
    throw new MirrorError('BAD_ANSWER', 'pagination.next_page contains the API key, which is never stored');
  return { rows, next };
}

/**
 * Reads the object in `data`, or in a one-element array there (docs/service.md).
 * @throws MirrorError `BAD_ANSWER`
 */
export function readObject(body: unknown): unknown {
  const data = asObject(body)?.['data'];
  const value: unknown = Array.isArray(data) && data.length === 1 ? data[0] : data;
  if (asObject(value) === null)
    throw new MirrorError('BAD_ANSWER', `expected {"data": {…}}, but got ${describeShape(body)}`);
  return value;
}

/** At most this many characters of the service's own words in a message. */
const MOST_WORDS = 200;

/** At most this many characters of an error body are searched for the service's words. */
const LONGEST_HEAD = 65_536;

/**
 * The service's own words in an error body: the message of form A or B (spec §7), a plain text, or the title
 * of a page. On one line, without a final full stop. Null if there are none, and for JSON of more than 65,536
 * characters.
 */
export function readErrorMessage(body: string): string | null {
  const words = onOneLine(wordsOf(body.slice(0, LONGEST_HEAD).trim()), MOST_WORDS).replace(/\.$/, '');
  return words === '' ? null : words;
}

function wordsOf(text: string): string {
  if (text.startsWith('<')) return /<title[^<>]*>([^<]*)/i.exec(text)?.[1] ?? '';
  try {
    const object = asObject(parseExact(text));
    const errors = object?.['errors'];
    const messages = Array.isArray(errors)
      ? errors.map((error) => asObject(error)?.['message'])
      : [object?.['Message'] ?? object?.['message']];
    return messages.filter((message) => typeof message === 'string').join('; ');
  } catch {
    return /^[{[]/.test(text) ? '' : text;
  }
}

function asObject(value: unknown): Record<string, unknown> | null {
  return isObject(value) ? value : null;
}

/** Describes a value by its keys or its type, never by its content. */
function describeShape(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  const object = asObject(value);
  if (object === null)
    return value === '' ? 'an empty string' : `a ${isExactNumber(value) ? 'number' : typeof value}`;
  const keys = Object.keys(object);
  const inner = asObject(object['data']);
  const inside = inner === null ? '' : ` ("data" has ${listKeys(Object.keys(inner))})`;
  return `an object with ${listKeys(keys)}${inside}`;
}

/** Longer names of an answer's fields are not shown. */
const MOST_NAME = 40;

function listKeys(keys: string[]): string {
  if (keys.length === 0) return 'no keys';
  return (
    keys
      .slice(0, 8)
      // Not a part of it: a part of the API key could not be recognised and masked.
      .map((key) => (key.length > MOST_NAME ? `a name of ${key.length} characters` : JSON.stringify(key)))
      .join(', ') + (keys.length > 8 ? ', …' : '')
  );
}
