import { fromNow, plural } from '../core/humanize.ts';
import type { JudgedList } from './judge.ts';

/** The cause of a failed sweep, as a part of a longer sentence. */
export function failureCause(failure: string): string {
  return failure.replace(/\.$/, '');
}

/**
 * `3 walks failed in a row and cost 150 requests, next try in 4 h`; null if none failed.
 * @param now epoch ms
 */
export function failureWords(
  { failures, restsUntil }: Pick<JudgedList, 'failures' | 'restsUntil'>,
  now: number,
): string | null {
  if (failures === null) return null;
  const next = restsUntil === null ? '' : `, next try ${fromNow(restsUntil, now)}`;
  const walks = plural(failures.sweeps, 'walk');
  return `${walks} failed in a row and cost ${plural(failures.requests, 'request')}${next}`;
}
