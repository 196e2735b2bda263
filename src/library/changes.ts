import { type Clock, SECOND } from '../core/clock.ts';
import { MirrorError } from '../core/errors.ts';
import type { ChangeFilter, ChangeRecord } from '../mirror/history/read.ts';
import { type Cursor, cursorAfter, type Mirror, readCursor } from '../mirror/mirror.ts';
import { checkField, checkInbox, checkItem } from '../query/reads/filter-checks.ts';
import { CHANGES, refuseWrong } from './options.ts';

/** With `follow`, the mirror is read twice a second. */
const POLL_MS = SECOND / 2;

/** A difference between two sightings of one item (docs/history.md). */
export type Change = ChangeRecord;

/** Selects changes. Every given condition must hold. */
export interface ChangesOptions extends ChangeFilter {
  /**
   * Only changes after this one: its `cursor`, or its `id`, with which a restored backup can stay unnoticed.
   * `latest`: only changes that are new from now on.
   */
  readonly afterId?: number | string;
  /** Continues with new changes, until `signal` is aborted or the loop is left. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * The changes as an iterator, oldest first. An aborted signal ends it.
 * @param closing aborted when the mirror closes
 * @throws MirrorError `USAGE` for a wrong option, at the call, and at the first read for an unknown id; at a
 *   read `CURSOR_AHEAD` or `OTHER_EPOCH`
 */
export function changesOf(
  { history, names }: Pick<Mirror, 'history' | 'names'>,
  clock: Pick<Clock, 'sleep'>,
  options: ChangesOptions,
  closing: AbortSignal,
): AsyncGenerator<Change, void> {
  refuseWrong('changes', CHANGES, options);
  const { afterId = 0, follow = false, signal, ...filter } = options;
  if (filter.field !== undefined) checkField(filter.field, filter.list);
  const begin = cursorOf(afterId);
  const stop = signal === undefined ? closing : AbortSignal.any([signal, closing]);
  return iterate();

  /** Ends at an aborted signal, even if a read then fails because the mirror is closed. */
  async function* iterate(): AsyncGenerator<Change, void> {
    try {
      await checkIds(filter, names);
      for (let after = begin ?? (await history.newestCursor()); !stop.aborted;) {
        for await (const batch of history.batchesAfter(after, filter)) {
          for (const change of batch) {
            if (stop.aborted) return;
            yield change;
          }
          after = cursorAfter(batch) ?? after;
        }
        if (!follow) return;
        await clock.sleep(POLL_MS, stop).catch(() => undefined);
      }
    } catch (error) {
      if (!stop.aborted) throw error;
    }
  }
}

/** @throws MirrorError `USAGE` for an inbox or an item that the mirror has never had */
async function checkIds({ inboxId, itemId }: ChangeFilter, names: Mirror['names']): Promise<void> {
  if (inboxId !== undefined) checkInbox('changes: inboxId', inboxId, await names.inboxes());
  if (itemId !== undefined) await checkItem('changes: itemId', itemId, names);
}

/** The place that `afterId` names; null for the latest. */
function cursorOf(afterId: number | string): Cursor | null {
  const place = readCursor(String(afterId));
  if (place === null && afterId !== 'latest')
    throw new MirrorError(
      'USAGE',
      `changes: afterId: expected the cursor or the id of a change, 0 or \`latest\`, but got ${afterId}.`,
    );
  return place;
}
