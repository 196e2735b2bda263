import { MirrorError } from '../core/errors.ts';
import type { KnownInbox } from '../query/reads/filter-checks.ts';

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
  throw (await import('../query/reads/filter-checks.ts')).inboxNotInMirror('--inbox', text, inboxes);
}
