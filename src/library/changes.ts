import { type Clock, SECOND } from '../core/clock.ts';
import type { ChangeFilter, ChangeRecord, History } from '../mirror/history/read.ts';

/** With `follow`, the mirror is read twice a second. */
const POLL_MS = SECOND / 2;

/** A difference between two sightings of one item (docs/history.md). */
export type Change = ChangeRecord;

/** Selects changes. Every given condition must hold. */
export interface ChangesOptions extends ChangeFilter {
  /** Only changes after the one with this id. */
  readonly afterId?: number;
  /** Continues with new changes, until `signal` is aborted or the loop is left. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** The changes as an iterator, oldest first. An aborted signal ends it. */
export async function* changesOf(
  history: History,
  clock: Pick<Clock, 'sleep'>,
  { afterId = 0, follow = false, signal, ...filter }: ChangesOptions,
): AsyncGenerator<Change, void> {
  for (let after = afterId; ;) {
    for await (const batch of history.batchesAfter(after, filter)) {
      for (const change of batch) {
        if (signal?.aborted) return;
        after = change.id;
        yield change;
      }
    }
    if (!follow) return;
    await clock.sleep(POLL_MS, signal).catch(() => undefined);
    if (signal?.aborted) return;
  }
}
