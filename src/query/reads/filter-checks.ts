import { changedFields } from '../../core/diff.ts';
import { MirrorError } from '../../core/errors.ts';
import type { ListName } from '../../core/lists.ts';
import { nearest } from '../nearest.ts';

/** At most this many inboxes are named in a message. */
const MOST_NAMED = 10;

/**
 * Refuses a field that no change can have: the answer would be empty, which looks like silence.
 * @param list only its fields; undefined: those of all lists
 * @throws MirrorError `USAGE`, which names the nearest field and all others
 */
export function checkField(field: string, list?: ListName): void {
  const fields = changedFields(list);
  if (fields.includes(field)) return;
  const [near] = nearest(field, fields).map((name) => ` Perhaps you meant "${name}".`);
  const of = list === undefined ? '' : ` of ${list}`;
  throw new MirrorError(
    'USAGE',
    `There is no field ${JSON.stringify(field)}${of}.${near ?? ''} The fields are: ${fields.join(', ')}.`,
  );
}

export interface KnownInbox {
  readonly id: string;
  readonly name: string | null;
}

/**
 * Refuses an inbox that the mirror has never had: the answer would be empty, which looks like silence.
 * @param option the option that has the id, for the message
 * @throws MirrorError `USAGE`
 */
export function checkInbox(option: string, id: string, inboxes: readonly KnownInbox[]): void {
  if (!inboxes.some((inbox) => inbox.id === id)) throw inboxNotInMirror(option, id, inboxes);
}

/** The error for an inbox that the mirror does not have; it names those with a similar name, or all. */
export function inboxNotInMirror(option: string, text: string, inboxes: readonly KnownInbox[]): MirrorError {
  const names = inboxes.flatMap(({ id, name }) => (name === null ? [id] : [id, name]));
  const near = nearest(text, names);
  const named = near.map((word) => inboxes.find(({ id, name }) => id === word || name === word));
  const shown = new Set(near.length === 0 ? inboxes.slice(0, MOST_NAMED) : named);
  const list = [...shown].flatMap((inbox) =>
    inbox === undefined ? [] : [`${inbox.name ?? 'no name'} (${inbox.id})`],
  );
  const rest = near.length === 0 && inboxes.length > MOST_NAMED ? ', …' : '';
  const advice =
    near.length === 0 ? `It has: ${list.join(', ') || 'none'}${rest}.` : `Perhaps: ${list.join(', ')}.`;
  return new MirrorError('USAGE', `${option}: the mirror has no inbox ${JSON.stringify(text)}. ${advice}`);
}

/**
 * Refuses a conversation, tag, user or inbox that the mirror has never had, as {@link checkInbox}.
 * @throws MirrorError `USAGE`
 */
export async function checkItem(
  option: string,
  id: string,
  names: { hasItem(itemId: string): Promise<boolean> },
): Promise<void> {
  if (await names.hasItem(id)) return;
  throw new MirrorError(
    'USAGE',
    `${option}: the mirror has no conversation, tag, user or inbox with the id ${JSON.stringify(id)}. ` +
      'The ids are in the tables conversations, inbox_tags, inbox_users and inboxes.',
  );
}
