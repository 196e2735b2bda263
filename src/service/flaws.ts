import { isUtf8 } from 'node:buffer';
import { TOO_DEEP } from '../core/json.ts';

/** The characters of which one stands in place of bytes that are not UTF-8. Texts rarely have any of them. */
const MARKS = Array.from({ length: 30 }, (_, nth) => String.fromCharCode(0xfdd2 + nth));

/** U+FFFD, which a decoder also writes in place of wrong bytes: its JSON escape, and its bytes as Latin-1. */
const REPLACEMENT = { escape: '\\ufffd', bytes: Buffer.from('\uFFFD').toString('latin1') };

/**
 * An answer has at most this many values. 16 MB of tiny values would need more than 1 GB in memory. A page
 * has 100 rows (spec §4.2), each of which may have 2,500 values; one of 10,000 rows may have 25 in each.
 */
export const MOST_VALUES = 250_000;

/** The text of an answer. */
export interface Decoded {
  readonly body: string;
  /** The character that stands in place of bytes that are not UTF-8; null if all are. */
  readonly mark: string | null;
}

/**
 * Decodes the bytes of a JSON answer. Bytes that are not UTF-8 become a mark, which {@link flawOf} finds. The
 * answer has no such character of its own, unless it has all {@link MARKS}.
 */
export function decodeJson(bytes: Buffer): Decoded {
  if (isUtf8(bytes)) return { body: bytes.toString('utf8'), mark: null };
  const escaped = bytes.toString('latin1').replaceAll(REPLACEMENT.bytes, REPLACEMENT.escape);
  const text = Buffer.from(escaped, 'latin1').toString('utf8');
  const mark = MARKS.find((one) => !holds(text, one)) ?? MARKS[0]!;
  return { body: text.replaceAll('\uFFFD', mark), mark };
}

/** Whether a text has a character, as it is or as an escape of JSON. */
function holds(text: string, character: string): boolean {
  const escape = new RegExp(String.raw`\\u${character.charCodeAt(0).toString(16)}`, 'i');
  return text.includes(character) || escape.test(text);
}

/** Why the JSON of a row cannot be stored; null if it can. */
export function flawOf(json: string, mark: Decoded['mark']): string | null {
  if (mark !== null && json.includes(mark)) return 'the row has bytes that are not UTF-8';
  return json.includes(TOO_DEEP) ? `the row is ${TOO_DEEP.slice(1)}` : null;
}

/** The JSON of a row with a flaw, as far as it can be stored. */
export function storablePart(json: string, mark: Decoded['mark']): string {
  return (mark === null ? json : json.replaceAll(mark, '\uFFFD')).replaceAll(TOO_DEEP, TOO_DEEP.slice(1));
}
