import { type FirstCopy, firstCopyOf, progressOf } from '../../query/reads/ages.ts';
import type { ListFreshness } from '../../query/figures/freshness.ts';
import { html, type Html } from './html.ts';

/** The first copy of all lists, or of an inbox's; null if it is done. */
export function copyOf(lists: readonly ListFreshness[], inboxId: string | null = null): FirstCopy | null {
  return firstCopyOf(inboxId === null ? lists : lists.filter(({ inbox_id: id }) => id === inboxId));
}

/** The note of a figure: during a first copy also that it counts only a part. */
export function noteOf(copy: FirstCopy | null, note?: Html | string): Html | string | undefined {
  if (copy === null) return note;
  const words = html`<span class="late">Counts only what has been copied so far: ${progressOf(copy)}.</span>`;
  return note === undefined ? words : html`${note} ${words}`;
}

/** The sentence in place of no rows. During a first copy their absence says nothing. */
export function emptyOf(copy: FirstCopy | null, sentence: string): string {
  return copy === null ? sentence : 'Nothing of this has been copied so far.';
}

/** Above the figures that have no note of their own. */
export function copyNotice(copy: FirstCopy | null): Html | null {
  if (copy === null) return null;
  return html`<p class="verdict late">
    The first copy is not complete: ${progressOf(copy)}. Every figure counts only what has been copied so far.
  </p>`;
}
