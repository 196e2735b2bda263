import { plural } from '../core/humanize.ts';
import { acceptCommand, describeList, type ListKey } from '../core/lists.ts';

/** Deletions that wait for a person. */
export interface HeldDeletions<List> {
  /** One list, or all lists of a kind. */
  readonly lists: readonly [List, ...List[]];
  readonly rows: number;
  /** With this command a person accepts them, and no other deletion. */
  readonly command: string;
}

/**
 * The held deletions of `lists`, which are all of the mirror: those of a kind together if each of its lists
 * holds some, else list by list. One command for all would also read, and accept deletions of, lists that
 * hold none.
 */
export function heldDeletions<List extends ListKey & { readonly held: number }>(
  lists: readonly List[],
): HeldDeletions<List>[] {
  const kinds = [...Map.groupBy(lists, ({ list }) => list).values()];
  return kinds.flatMap((ofKind): HeldDeletions<List>[] => {
    const held = ofKind.filter((list) => list.held > 0);
    const [first, ...others] = held;
    if (first === undefined) return [];
    if (others.length > 0 && held.length === ofKind.length) {
      const rows = held.reduce((sum, list) => sum + list.held, 0);
      return [{ lists: [first, ...others], rows, command: acceptCommand({ ...first, inboxId: null }) }];
    }
    return held.map((list) => ({ lists: [list], rows: list.held, command: acceptCommand(list) }));
  });
}

/** The lists in words. @param inbox the name of the first one's inbox; null: it has none, or it is unknown */
export function heldLists(
  { lists: [list, ...others] }: HeldDeletions<ListKey>,
  inbox: string | null,
): string {
  return others.length === 0
    ? describeList(list, inbox)
    : `${list.list} of ${plural(others.length + 1, 'inbox')}`;
}

/** The condition under which a person accepts them. */
export function ifGone({ rows }: HeldDeletions<ListKey>): string {
  return rows === 1 ? 'If it is gone' : 'If they are gone';
}

/** Says that the rows are missing at the service and still count. */
export function heldWords({ rows }: HeldDeletions<ListKey>): string {
  return rows === 1
    ? '1 row is missing at the service and still counts'
    : `${plural(rows, 'row')} are missing at the service and still count`;
}
