import { type Clock, SECOND } from '../core/clock.ts';
import { MirrorError } from '../core/errors.ts';
import { LIST_NAMES } from '../core/lists.ts';
import type { ChangeFilter, ChangeRecord, History } from '../mirror/history/read.ts';

/** With `follow`, the mirror is read twice a second. */
const POLL_MS = SECOND / 2;

/** A difference between two sightings of one item (docs/history.md). */
export type Change = ChangeRecord;

/** Selects changes. Every given condition must hold. */
export interface ChangesOptions extends ChangeFilter {
  /** Only changes after the one with this id. `latest`: only changes that are new from now on. */
  readonly afterId?: number | 'latest';
  /** Continues with new changes, until `signal` is aborted or the loop is left. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * The changes as an iterator, oldest first. An aborted signal ends it.
 * @param closing aborted when the mirror closes
 * @throws MirrorError `USAGE` for a wrong option, at the call
 */
export function changesOf(
  history: History,
  clock: Pick<Clock, 'sleep'>,
  { afterId = 0, follow = false, signal, ...filter }: ChangesOptions,
  closing: AbortSignal,
): AsyncGenerator<Change, void> {
  refuseWrong(afterId, filter);
  const stop = signal === undefined ? closing : AbortSignal.any([signal, closing]);
  async function* iterate(): AsyncGenerator<Change, void> {
    for (let after = afterId === 'latest' ? await history.lastId() : afterId; !stop.aborted;) {
      for await (const batch of untilStopped(history.batchesAfter(after, filter), stop)) {
        for (const change of batch) {
          if (stop.aborted) return;
          after = change.id;
          yield change;
        }
      }
      if (!follow) return;
      await clock.sleep(POLL_MS, stop).catch(() => undefined);
    }
  }
  return iterate();
}

/** Ends at an aborted signal, even if a read then fails because the mirror is closed. */
async function* untilStopped<Item>(
  items: AsyncIterable<Item>,
  stop: AbortSignal,
): AsyncGenerator<Item, void> {
  try {
    for await (const item of items) {
      if (stop.aborted) return;
      yield item;
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  }
}

function refuseWrong(afterId: number | 'latest', { list, since }: ChangeFilter): void {
  const isId = afterId === 'latest' || (Number.isSafeInteger(afterId) && afterId >= 0);
  if (!isId) throw wrong('afterId', 'the id of a change, 0 or `latest`', afterId);
  if (list !== undefined && !LIST_NAMES.includes(list)) throw wrong('list', LIST_NAMES.join(', '), list);
  if (since !== undefined && Number.isNaN(since.getTime())) throw wrong('since', 'a valid Date', since);
}

function wrong(name: string, expected: string, got: unknown): MirrorError {
  return new MirrorError('USAGE', `changes: ${name}: expected ${expected}, but got ${String(got)}.`);
}
