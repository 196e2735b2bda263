import { MirrorError } from '../core/errors.ts';
import type { Inbox } from '../mirror/items/inboxes.ts';

/** At most this many inboxes are named in a message. */
const MOST_NAMED = 10;

type KnownInbox = Pick<Inbox, 'id' | 'name'>;

/**
 * The id of the inbox that `--inbox` names: by its id, or by its name in any case. An id that the mirror does
 * not know stays as it is: the service may have it.
 * @throws MirrorError `USAGE` for an unknown name, and for a name that several inboxes have
 */
export async function inboxIdOf(text: string, inboxes: readonly KnownInbox[]): Promise<string> {
  if (inboxes.some(({ id }) => id === text)) return text;
  const wanted = text.trim().toLowerCase();
  const fitting = inboxes.filter(({ name }) => name?.trim().toLowerCase() === wanted);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only.id;
  if (fitting.length > 1)
    throw new MirrorError(
      'USAGE',
      `--inbox: ${fitting.length} inboxes are named ${JSON.stringify(text)}: ` +
        `${fitting.map(({ id }) => id).join(', ')}. Give the id of one of them.`,
    );
  if (/^\d+$/.test(text)) return text;
  if (inboxes.length === 0)
    throw new MirrorError(
      'USAGE',
      `--inbox: the mirror knows no inbox yet, so none by the name ${JSON.stringify(text)}. ` +
        'Run `inbox-mirror sync inboxes` first, or give the id.',
    );
  throw await unknownInbox(text, inboxes);
}

/** The error for an inbox that the mirror does not have; it names those with a similar name, or all. */
export async function unknownInbox(text: string, inboxes: readonly KnownInbox[]): Promise<MirrorError> {
  const { nearest } = await import('../query/nearest.ts');
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
  return new MirrorError('USAGE', `--inbox: the mirror has no inbox ${JSON.stringify(text)}. ${advice}`);
}
