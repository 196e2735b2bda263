import type { FirstCopy } from '../../query/reads/ages.ts';
import { noteOf } from '../frame/first-copy.ts';
import type { Counted } from '../frame/desk.ts';
import { html, type Html } from '../frame/html.ts';
import { section } from '../frame/layout.ts';
import { ago, type Moment } from '../frame/words.ts';

/**
 * A section over time, with the age of its count.
 * @param history null: it is being counted @param remark a sentence after the age
 */
export function countedSection<Result>(
  heading: string,
  history: Counted<Result> | null,
  { moment, copy, remark }: { moment: Moment; copy: FirstCopy | null; remark?: string },
  body: (result: Result) => Html,
): Html {
  if (history === null) {
    const words = 'The history is being counted. This page shows it in a moment.';
    return section(heading, html`<p class="empty counting">${words}</p>`);
  }
  const counted = html`Counted ${ago(new Date(history.at), moment)}.${remark !== undefined && ` ${remark}`}`;
  return section(heading, body(history.result), { note: noteOf(copy, counted) });
}
