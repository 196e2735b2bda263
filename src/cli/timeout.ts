import { MirrorError } from '../core/errors.ts';
import { parseLength } from './lengths.ts';

/** What is longer needs no limit; and a timer of Node's holds no more than 24 days. */
const LONGEST_MS = 24 * 3_600_000;

/** A length of time: `5`, `5s`, `0.5s`, `2m`, `1h`. @returns milliseconds @throws MirrorError `USAGE` */
export function parseTimeout(text: string): number {
  const ms = parseLength(/\d$/.test(text) ? `${text}s` : text);
  if (ms === null || ms < 1 || ms > LONGEST_MS)
    throw new MirrorError(
      'USAGE',
      `--timeout: expected seconds or a length of time of up to 24h, such as 5, 30s or 2m, but got ${JSON.stringify(text)}.`,
    );
  return ms;
}
