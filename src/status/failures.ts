import { fromNow, plural } from '../core/humanize.ts';
import type { JudgedList } from './judge.ts';

/** The cause of a failed sweep, as a part of a longer sentence. */
export function failureCause(failure: string): string {
  return failure.replace(/\.$/, '');
}

/**
 * `failed 3 times in a row (150 requests); a daemon tries again in 4 h`; null if no walk failed.
 * @param now epoch ms
 */
export function failureWords(
  { failures, restsUntil }: Pick<JudgedList, 'failures' | 'restsUntil'>,
  now: number,
): string | null {
  if (failures === null) return null;
  const next = restsUntil === null ? '' : `; a daemon tries again ${fromNow(restsUntil, now)}`;
  const times = failures.sweeps === 1 ? 'once' : `${failures.sweeps} times in a row`;
  return `failed ${times} (${plural(failures.requests, 'request')})${next}`;
}
