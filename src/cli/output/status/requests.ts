import { type Output, paint } from '../../../session/terminal.ts';
import { sendingWords, type Standstill } from '../../../status/sending.ts';

/** Whether requests leave, for people. @param now epoch ms */
export function requestsWords(output: Output, standstill: Standstill | null, now: number): string {
  const words = sendingWords(standstill, now, 'UTC');
  if (standstill === null) return words;
  return `${paint(output, 'red', words)}${standstill.cause === '' ? '' : ` (${standstill.cause})`}`;
}
