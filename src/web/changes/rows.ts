import { ITEM_WORDS } from '../../core/lists.ts';
import type { ChangeRow } from '../../query/figures/changes.ts';
import { html, type Html } from '../frame/html.ts';
import { changeWords } from '../frame/items.ts';
import { conversationPath, inboxPath } from '../frame/links.ts';
import { dateTime, lengthOf, type Moment, named } from '../frame/words.ts';

/** A row of the feed: when, where, what. */
export function feedRow(change: ChangeRow, moment: Moment): Html {
  const { inbox_id: inboxId, inbox, list, item_id: itemId } = change;
  const place = inboxId === null ? null : html`<a href="${inboxPath(inboxId)}">${named(inbox, inboxId)}</a>`;
  const item =
    list === 'conversations' && inboxId !== null
      ? html`<a href="${conversationPath(inboxId, itemId)}">${itemId}</a>`
      : html`${ITEM_WORDS[list]} ${named(change.item, itemId)}`;
  return html`<tr>
    <td>${dateTime(change.observed_at, moment)}</td>
    <td>${place}</td>
    <td>${item}</td>
    <td>${changeWords(change)}</td>
    <td>${within(change)}</td>
  </tr>`;
}

/** The time between the two sightings of a change, in which it happened. */
function within({ observed_at: seen, previously_seen_at: before }: ChangeRow): string {
  return before === null ? '' : lengthOf(Date.parse(seen) - Date.parse(before));
}
