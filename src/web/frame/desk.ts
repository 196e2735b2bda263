import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Lane, Read } from '../../query/figures/lane.ts';
import type { ReadOnlyMirror } from '../../query/result.ts';
import type { Log } from '../../session/log.ts';

/** Clients share one answer to the same question for this many ms. */
const SHARED_MS = SECOND;

/** A statement for one page takes at most this many ms. */
const QUICK_MS = 5 * SECOND;

/**
 * History is counted again when it is older than this many ms, or than this many times what counting took;
 * until then pages show the earlier count.
 */
const HISTORY_FRESH_MS = MINUTE;
const HISTORY_FRESH_TIMES = 20;
const HISTORY_KEPT_MS = 15 * MINUTE;

/** Counting the history takes at most this many ms. */
const HISTORY_MS = 30 * SECOND;

/** A page waits at most this many ms for a count that has not been made, or took less than that last time. */
const HISTORY_PATIENCE_MS = 100;

/** At most this many answers are kept. */
const MOST_KEPT = 200;

/** An answer and when it was read, epoch ms. */
export interface Counted<Result> {
  readonly result: Result;
  readonly at: number;
}

/** Reads figures over a connection that cannot write. */
export type Work<Result> = (read: Read, mirror: ReadOnlyMirror) => Promise<Result>;

/** Where the pages get their figures. Equal questions share one read. */
export interface Desk {
  /** Figures of now. @param key names the question and its values */
  quick<Result>(key: string, work: Work<Result>): Promise<Result>;
  /** Forgets an answer of `quick`: something has changed what it says. */
  forget(key: string): void;
  /** Figures over time, up to some minutes old; null while they are being counted. */
  history<Result>(key: string, work: Work<Result>): Promise<Counted<Result> | null>;
}

interface Entry {
  /** How long the latest read took, in ms. */
  tookMs: number;
  pending: Promise<Counted<unknown>> | null;
  latest: Counted<unknown> | null;
}

export interface DeskOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** History has a lane of its own, so that no page waits behind it. */
  readonly lanes: { readonly quick: Lane; readonly history: Lane };
}

export function openDesk({ clock, log, lanes }: DeskOptions): Desk {
  const entries = new Map<string, Entry>();

  function entryOf(key: string): Entry {
    const entry = entries.get(key) ?? { tookMs: 0, pending: null, latest: null };
    entries.delete(key);
    entries.set(key, entry);
    const [oldest = key] = entries.keys();
    if (entries.size > MOST_KEPT) entries.delete(oldest);
    return entry;
  }

  function start(entry: Entry, work: () => Promise<unknown>): Promise<Counted<unknown>> {
    const since = performance.now();
    entry.pending ??= work()
      .then((result) => {
        entry.tookMs = performance.now() - since;
        return (entry.latest = { result, at: clock.now() });
      })
      .finally(() => (entry.pending = null));
    return entry.pending;
  }

  const ageOf = ({ latest }: Entry): number =>
    latest === null ? Number.POSITIVE_INFINITY : Math.abs(clock.now() - latest.at);

  return {
    async quick<Result>(key: string, work: Work<Result>) {
      const entry = entryOf(`quick ${key}`);
      if (ageOf(entry) >= SHARED_MS) await start(entry, () => lanes.quick.visit(QUICK_MS, work));
      return entry.latest?.result as Result;
    },
    forget(key) {
      entries.delete(`quick ${key}`);
    },
    async history<Result>(key: string, work: Work<Result>) {
      const entry = entryOf(`history ${key}`);
      if (ageOf(entry) >= Math.max(HISTORY_FRESH_MS, HISTORY_FRESH_TIMES * entry.tookMs)) {
        const isUnderWay = entry.pending !== null;
        const counted = start(entry, () => lanes.history.visit(HISTORY_MS, work)).catch((error: unknown) => {
          log.warn({ cause: messageOf(error) }, 'a page could not count the history');
          return null;
        });
        // Only the visit that begins a count waits for it.
        const isWorthIt = ageOf(entry) >= HISTORY_KEPT_MS || entry.tookMs < HISTORY_PATIENCE_MS;
        if (isWorthIt && !isUnderWay) await Promise.race([counted, patience()]);
      }
      return ageOf(entry) < HISTORY_KEPT_MS ? (entry.latest as Counted<Result>) : null;
    },
  };
}

async function patience(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, HISTORY_PATIENCE_MS).unref());
}
