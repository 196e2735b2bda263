import { isUtf8 } from 'node:buffer';
import { TOO_DEEP } from '../core/json.ts';

/** Stands in place of bytes that are not UTF-8. No text holds this character by chance. */
const NOT_UTF8 = '\uFDD0';

/** U+FFFD, which a decoder also writes in place of wrong bytes: its JSON escape, and its bytes as Latin-1. */
const REPLACEMENT = { escape: '\\ufffd', bytes: Buffer.from('\uFFFD').toString('latin1') };

/**
 * An answer has at most this many values. 16 MB of tiny values would need more than 1 GB in memory. A page
 * has 100 rows (spec §4.2), each of which may have 2,500 values; one of 10,000 rows may have 25 in each.
 */
export const MOST_VALUES = 250_000;

/** Decodes the bytes of a JSON answer. Bytes that are not UTF-8 become a mark, which {@link flawOf} finds. */
export function decodeJson(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const escaped = bytes.toString('latin1').replaceAll(REPLACEMENT.bytes, REPLACEMENT.escape);
  return Buffer.from(escaped, 'latin1').toString('utf8').replaceAll('\uFFFD', NOT_UTF8);
}

/** Why the JSON of a row cannot be stored; null if it can. */
export function flawOf(json: string): string | null {
  if (json.includes(NOT_UTF8)) return 'the row has bytes that are not UTF-8';
  return json.includes(TOO_DEEP) ? `the row is ${TOO_DEEP.slice(1)}` : null;
}

/** The JSON of a row with a flaw, as far as it can be stored. */
export function storablePart(json: string): string {
  return json.replaceAll(NOT_UTF8, '\uFFFD').replaceAll(TOO_DEEP, TOO_DEEP.slice(1));
}
