import { listId } from '../../core/lists.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { Page } from '../../service/client.ts';
import type { SweepDeps } from '../deps.ts';
import type { PassEvent } from '../events.ts';

/**
 * Reports rows that single pages could not read, or that lack a field: once for each list and round. A page
 * is read again within minutes, and a service that has changed its rows has changed those of every page.
 */
export class OddRows {
  /** The round of each list, and the kinds and fields that were reported in it, by `listId`. */
  readonly #reported = new Map<string, { readonly round: number; readonly names: Set<string> }>();

  /** Reports the odd rows of a page, but only those of kinds that were not reported in its round yet. */
  report(
    { onEvent }: Pick<SweepDeps, 'onEvent'>,
    round: Sweep,
    { rejects, lacking }: Pick<Page, 'rejects' | 'lacking'>,
  ): void {
    const withoutId = rejects.filter(({ id }) => id === null).length;
    const events: PassEvent[] = [];
    if (rejects.length > 0) events.push({ kind: 'unreadable', key: round, rows: rejects.length });
    if (withoutId > 0) events.push({ kind: 'without-id', key: round, rows: withoutId });
    for (const [field, rows] of Object.entries(lacking))
      events.push({ kind: 'lacking', key: round, field, rows });
    if (events.length === 0) return;
    const names = this.#namesOf(round);
    for (const event of events) {
      const name = event.kind === 'lacking' ? `lacking ${event.field}` : event.kind;
      if (!names.has(name)) onEvent(event);
      names.add(name);
    }
  }

  #namesOf(round: Sweep): Set<string> {
    const known = this.#reported.get(listId(round));
    if (known?.round === round.id) return known.names;
    const names = new Set<string>();
    this.#reported.set(listId(round), { round: round.id, names });
    return names;
  }
}
