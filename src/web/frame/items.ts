import type { ChangeRow } from '../../query/figures/changes.ts';
import type { TagRow } from '../../query/figures/conversation.ts';
import { html, type Html } from './html.ts';
import { named } from './words.ts';

/** A tag with its colour. */
export function tagChip({ id, name, color_code: colour }: TagRow): Html {
  // The colour is a text of the service: nothing but a colour may be an attribute of a picture.
  const isColour = colour !== null && /^#[0-9a-f]{3,8}$/i.test(colour);
  const dot =
    isColour &&
    html`<svg viewBox="0 0 8 8" aria-hidden="true"><circle cx="4" cy="4" r="4" fill="${colour}" /></svg>`;
  return html`<span class="tag">${dot}${named(name, id, 'unknown tag')}</span>`;
}

/** The statuses that the style sheet knows; closed has two spellings in the service. */
const COLOURED: ReadonlyMap<string, string> = new Map([
  ['open', 'open'],
  ['pending', 'pending'],
  ['closed', 'closed'],
  ['close', 'closed'],
]);

/** A status with its colour. */
export function statusWord(status: string | null): Html {
  if (status === null) return html`<span class="absent">no status</span>`;
  const colour = COLOURED.get(status) ?? 'other';
  return html`<span class="status status-${colour}"><bdi>${status}</bdi></span>`;
}

/** A person, or nobody. */
export function personName(name: string | null, id: string | null): Html {
  return id === null ? html`<span class="absent">unassigned</span>` : named(name, id, 'unknown user');
}

/** The longest value of a change that is shown, in characters. */
const MOST_CHARACTERS = 200;

/** The fields of a conversation in words. */
const FIELDS: Readonly<Record<string, string>> = {
  assignee_id: 'assignee',
  assignee_type: 'kind of assignee',
  tags: 'tag',
};

/** A change in words: `status from open to closed`. */
export function changeWords(change: ChangeRow): Html {
  const { list, field, old_value: from, new_value: to, old_name: fromName, new_name: toName } = change;
  if (field === 'presence') return to === 'present' ? sightWords(change) : html`is gone from the service`;
  if (list === 'conversations' && field === 'tags')
    return to === null ? html`lost the tag ${named(fromName, from)}` : html`got the tag ${named(toName, to)}`;
  if (list === 'conversations' && field === 'assignee_id')
    return html`assignee from ${personName(fromName, from)} to ${personName(toName, to)}`;
  if (list === 'conversations' && field === 'status')
    return html`status from ${statusWord(from)} to ${statusWord(to)}`;
  return html`${FIELDS[field] ?? field} from ${valueText(from)} to ${valueText(to)}`;
}

/** The first sight of an item that appeared or returned: `first seen: open, assigned to Elif Okafor`. */
function sightWords(change: ChangeRow): Html {
  const { list, seen_status: status, seen_assignee: name, seen_assignee_id: id } = change;
  const event = change.previously_seen_at === null ? 'first seen' : 'is back';
  if (list !== 'conversations' || status === null) return html`${event}`;
  return html`${event}: ${statusWord(status)}, ${id !== null && 'assigned to '}${personName(name, id)}`;
}

function valueText(value: string | null): Html {
  if (value === null) return html`<span class="absent">nothing</span>`;
  const text = value.length > MOST_CHARACTERS ? `${value.slice(0, MOST_CHARACTERS)}…` : value;
  return html`<bdi class="value">${text}</bdi>`;
}
