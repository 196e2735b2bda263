import { DAY, HOUR, MINUTE } from '../../../core/clock.ts';
import type { StoredRate } from '../../../mirror/bookmarks/rates.ts';
import { AGES, KINDS } from '../../../mirror/mirror.ts';

/** How deep in its list a page lies: among the newest 100 rows, the newest 5 %, or farther back. */
export type Depth = 'newest' | 'new' | 'old';

/** The weight of what was learned falls by a factor of e in this many ms. */
const MEMORY_MS = 21 * DAY;

/**
 * The expectation before anything is learned weighs as much as this many observed hours, or as the hours that
 * bring this many changes, if those are more.
 */
const PRIOR = { hours: 50, changes: 0.3 } as const;

/**
 * For each age, in the order of `AGE_EDGES`: changes a row and active hour of an open conversation, before
 * anything is learned, and the usual age in ms of such a row when its page is read.
 */
const BY_AGE = [
  { prior: 0.8, usualMs: 7 * MINUTE },
  { prior: 0.4, usualMs: 30 * MINUTE },
  { prior: 0.15, usualMs: 2 * HOUR },
  { prior: 0.05, usualMs: 12 * HOUR },
  { prior: 0.02, usualMs: 2 * DAY },
  { prior: 0.008, usualMs: 6 * DAY },
  { prior: 0.002, usualMs: 20 * DAY },
] as const;
/** The same changes for rows that were never seen to change. */
const PRIOR_NEVER: Record<Depth, number> = { newest: 0.03, new: 0.004, old: 0.0002 };
/** A closed conversation changes less often than an open one, by this factor. */
const CLOSED = 0.25;

/** New conversations an hour in an inbox of which nothing is known, as an observation. */
const ARRIVALS = { events: 1, hours: 4 };

interface Learned {
  events: number;
  hours: number;
  /** Epoch ms. */
  at: number;
}

/** The planner's knowledge: how often rows of each kind change, and how often new ones arrive. */
export class Rates {
  readonly #learned: Map<string, Learned>;
  #unsaved = new Set<string>();
  /** The rates of the kinds at each depth, as far as they were computed since something was last learned. */
  readonly #ofKinds: Record<Depth, number[]> = { newest: [], new: [], old: [] };

  constructor(stored: readonly StoredRate[] = []) {
    // Earlier versions stored negative hours after the clock was set back. These rates are learned again.
    const isSound = (value: number): boolean => value >= 0 && value <= Number.MAX_SAFE_INTEGER;
    const sound = stored.filter(({ events, hours }) => isSound(events) && isSound(hours));
    this.#learned = new Map(
      sound.map(({ name, events, hours, updatedAt: at }) => [name, { events, hours, at }]),
    );
  }

  /** Changes a row and active hour. */
  ofKind(kind: number, depth: Depth): number {
    const prior = priorOf(kind, depth);
    const hours = Math.max(PRIOR.hours, PRIOR.changes / prior);
    return (this.#ofKinds[depth][kind] ??= this.#rate(`kind/${kind}/${depth}`, {
      events: prior * hours,
      hours,
    }));
  }

  /** New conversations an active hour in an inbox. */
  arrivals(inboxId: string): number {
    return this.#rate(`arrivals/${inboxId}`, ARRIVALS);
  }

  learnKind(kind: number, depth: Depth, seen: { events: number; hours: number }, now: number): void {
    this.#learn(`kind/${kind}/${depth}`, seen, now);
    this.#ofKinds[depth] = [];
  }

  learnArrivals(inboxId: string, seen: { events: number; hours: number }, now: number): void {
    this.#learn(`arrivals/${inboxId}`, seen, now);
  }

  /** The rates learned since the last call. */
  unsaved(): StoredRate[] {
    const rows = [...this.#unsaved].map((name) => {
      const { events, hours, at } = this.#learned.get(name) ?? { events: 0, hours: 0, at: 0 };
      return { name, events, hours, updatedAt: at };
    });
    this.#unsaved = new Set();
    return rows;
  }

  #rate(name: string, prior: { events: number; hours: number }): number {
    const learned = this.#learned.get(name) ?? { events: 0, hours: 0 };
    return (learned.events + prior.events) / (learned.hours + prior.hours);
  }

  #learn(name: string, { events, hours }: { events: number; hours: number }, now: number): void {
    const before = this.#learned.get(name) ?? { events: 0, hours: 0, at: now };
    const kept = Math.exp(-Math.max(0, now - before.at) / MEMORY_MS);
    const learned = { events: before.events * kept + events, hours: before.hours * kept + hours, at: now };
    this.#learned.set(name, learned);
    this.#unsaved.add(name);
  }
}

function priorOf(kind: number, depth: Depth): number {
  const open = BY_AGE[kind % AGES]?.prior ?? PRIOR_NEVER[depth];
  return kind < AGES ? open * CLOSED : open;
}

/** A kind of row: its state's first kind, its index of age, and its usual age in ms when its page is read. */
export interface RowKind {
  readonly kind: number;
  readonly state: number;
  readonly age: number;
  readonly usualMs: number;
}

export const KIND_LIST: readonly RowKind[] = Array.from({ length: KINDS }, (_, kind) => {
  const age = kind % AGES;
  return { kind, state: kind - age, age, usualMs: BY_AGE[age]?.usualMs ?? 0 };
});
