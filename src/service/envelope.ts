import { MirrorError } from '../core/errors.ts';
import { plural } from '../core/humanize.ts';
import { isExactNumber, parseExact } from '../core/json.ts';

/** The rows and the next token of one list answer. */
export interface ListAnswer {
  readonly rows: readonly unknown[];
  readonly next: string | null;
}

/** A JSON answer could not be read at all (empty, cut short, not JSON): worth another try, unlike a wrong shape. */
export class BrokenBody extends Error {
  override readonly name = 'BrokenBody';
}

/** @throws BrokenBody where the body is empty or not JSON; its message tells the kind and the length, never the content. */
export function readBody(body: string): unknown {
  // Trimming also takes off a byte order mark.
  const text = body.trim();
  if (text === '') throw new BrokenBody('the body was empty');
  try {
    return parseExact(text);
  } catch {
    const kind = text.startsWith('<')
      ? 'a page of HTML or XML'
      : /^[{[]/.test(text)
        ? 'cut short or damaged JSON'
        : 'some text';
    throw new BrokenBody(`the body was not JSON but ${kind} (${plural(text.length, 'character')})`);
  }
}

/**
 * Reads `results` and `pagination.next_page`, at the top or inside `data` (spec §4.1, SERVICE-NOTES.md "List envelope").
 * @throws MirrorError `BAD_ANSWER` that names what came instead. A token that is neither text nor null is no end of a list.
 */
export function readList(body: unknown): ListAnswer {
  const outer = asObject(body);
  const holder = outer !== null && !('results' in outer) ? asObject(outer['data']) : outer;
  const pagination = asObject(holder?.['pagination']);
  const rows = holder?.['results'];
  if (!Array.isArray(rows) || pagination === null) {
    throw new MirrorError(
      'BAD_ANSWER',
      `expected {"results": […], "pagination": {…}}, at the top or inside "data", but got ${describeShape(body)}`,
    );
  }
  const next = pagination['next_page'];
  if (next !== null && (typeof next !== 'string' || next === '')) {
    throw new MirrorError(
      'BAD_ANSWER',
      `expected pagination.next_page to be a token or null, but got ${describeShape(next)}`,
    );
  }
  return { rows, next };
}

/**
 * Reads the one object in `data`; a one-element array is taken too (SERVICE-NOTES.md, "Get a conversation").
 * @throws MirrorError `BAD_ANSWER`
 */
export function readObject(body: unknown): unknown {
  const data = asObject(body)?.['data'];
  const value: unknown = Array.isArray(data) && data.length === 1 ? data[0] : data;
  if (asObject(value) === null)
    throw new MirrorError('BAD_ANSWER', `expected {"data": {…}}, but got ${describeShape(body)}`);
  return value;
}

/** The service's own words in an error body of form A or B (spec §7), or null. */
export function readErrorMessage(body: string): string | null {
  try {
    const object = asObject(parseExact(body));
    const errors = object?.['errors'];
    const messages = Array.isArray(errors)
      ? errors.map((error) => asObject(error)?.['message'])
      : [object?.['Message']];
    const said = messages.filter((message) => typeof message === 'string').join('; ');
    return said === '' ? null : said.slice(0, 300);
  } catch {
    return null;
  }
}

function asObject(value: unknown): Record<string, unknown> | null {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && !isExactNumber(value)
    ? (value as Record<string, unknown>)
    : null;
}

/** A value's shape in a few words: its keys, its type, never its content. */
function describeShape(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  const object = asObject(value);
  if (object === null)
    return value === '' ? 'an empty text' : `a ${isExactNumber(value) ? 'number' : typeof value}`;
  const keys = Object.keys(object);
  const inner = asObject(object['data']);
  const inside = inner === null ? '' : ` ("data" has ${listKeys(Object.keys(inner))})`;
  return `an object with ${listKeys(keys)}${inside}`;
}

function listKeys(keys: string[]): string {
  if (keys.length === 0) return 'no keys';
  return (
    keys
      .slice(0, 8)
      .map((key) => JSON.stringify(key.slice(0, 40)))
      .join(', ') + (keys.length > 8 ? ', …' : '')
  );
}
