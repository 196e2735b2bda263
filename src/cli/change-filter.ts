import { MirrorError } from '../core/errors.ts';
import type { ListName } from '../core/lists.ts';
import type { ChangeFilter } from '../mirror/history/read.ts';
import type { Names } from '../mirror/items/names.ts';
import { parseSince } from './arguments.ts';
import { inboxIdOf } from './inbox.ts';

/** The options of `changes` that select changes. */
export interface FilterOptions {
  readonly since?: string;
  readonly until?: string;
  readonly list?: ListName;
  readonly inbox?: string;
  readonly item?: string;
  readonly field?: string;
}

/** Reads what needs no mirror. @throws MirrorError `USAGE` for a wrong time or field */
export async function parseFilter(options: FilterOptions, now: number): Promise<ChangeFilter> {
  const { since, until, list, inbox, item, field } = options;
  if (field !== undefined) (await import('../query/reads/filter-checks.ts')).checkField(field, list);
  const from = since === undefined ? undefined : parseSince(since, now);
  const to = until === undefined ? undefined : parseSince(until, now, '--until');
  if (from !== undefined && to !== undefined && from > to)
    throw new MirrorError(
      'USAGE',
      `--until: ${to.toISOString()} is before --since, ${from.toISOString()}. Exchange the two.`,
    );
  return { list, inboxId: inbox, itemId: item, field, since: from, until: to };
}

/**
 * Replaces the inbox's name by its id, and refuses an inbox or an item that the mirror has never had.
 * @throws MirrorError `USAGE`
 */
export async function checkFilter(
  filter: ChangeFilter,
  names: Pick<Names, 'inboxes' | 'hasItem'>,
): Promise<ChangeFilter> {
  const { inboxId, itemId } = filter;
  if (inboxId === undefined && itemId === undefined) return filter;
  const { checkInbox, checkItem } = await import('../query/reads/filter-checks.ts');
  const inboxes = inboxId === undefined ? [] : await names.inboxes();
  const id = inboxId === undefined ? undefined : await inboxIdOf(inboxId, inboxes);
  if (id !== undefined) checkInbox('--inbox', id, inboxes);
  if (itemId !== undefined) await checkItem('--item', itemId, names);
  return { ...filter, inboxId: id };
}
