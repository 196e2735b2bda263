import { DAY, HOUR, MINUTE } from '../../../core/clock.ts';
import type { StoredRate } from '../../../mirror/bookmarks/rates.ts';
import { AGES, KINDS, NEVER } from '../../../mirror/mirror.ts';

/** Where a page lies: among the newest 100 rows of its list, the newest 5 %, or farther back. */
export type Place = 'newest' | 'new' | 'old';
export const PLACES_OF_PAGES: readonly Place[] = ['newest', 'new', 'old'];

/** The weight of what was learned falls by a factor of e in this many ms. */
const MEMORY_MS = 21 * DAY;

/** A rate before anything is learned counts as this many observed hours. */
const PRIOR_HOURS = 50;

/**
 * Changes a row and active hour, by age, before anything is learned; the last is for rows never seen to
 * change.
 */
const PRIOR_OPEN: readonly number[] = [0.8, 0.4, 0.15, 0.05, 0.02, 0.008, 0.002, 0];
const PRIOR_NEVER: Record<Place, number> = { newest: 0.03, new: 0.004, old: 0.0002 };
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

/** What the planner has learned: how often rows of each kind change, and how often new ones arrive. */
export class Rates {
  readonly #learned: Map<string, Learned>;
  #unsaved = new Set<string>();
  /** The rates of the kinds in each place, as far as they were computed since the last that was learned. */
  readonly #ofKinds: Record<Place, number[]> = { newest: [], new: [], old: [] };

  constructor(stored: readonly StoredRate[] = []) {
    this.#learned = new Map(
      stored.map(({ name, events, hours, updatedAt: at }) => [name, { events, hours, at }]),
    );
  }

  /** Changes a row and active hour. */
  ofKind(kind: number, place: Place): number {
    return (this.#ofKinds[place][kind] ??= this.#rate(`kind/${kind}/${place}`, {
      events: priorOf(kind, place) * PRIOR_HOURS,
      hours: PRIOR_HOURS,
    }));
  }

  /** New conversations an active hour in an inbox. */
  arrivals(inboxId: string): number {
    return this.#rate(`arrivals/${inboxId}`, ARRIVALS);
  }

  learnKind(kind: number, place: Place, seen: { events: number; hours: number }, now: number): void {
    this.#learn(`kind/${kind}/${place}`, seen, now);
    this.#ofKinds[place] = [];
  }

  learnArrivals(inboxId: string, seen: { events: number; hours: number }, now: number): void {
    this.#learn(`arrivals/${inboxId}`, seen, now);
  }

  /** What was learned since the last call. */
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

function priorOf(kind: number, place: Place): number {
  const age = kind % AGES;
  const open = age === NEVER ? PRIOR_NEVER[place] : (PRIOR_OPEN[age] ?? 0);
  return kind < AGES ? open * CLOSED : open;
}

/** The usual age in ms of a row, by its kind, when its page is read. */
export const USUAL_AGES: readonly number[] = [
  7 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  12 * HOUR,
  2 * DAY,
  6 * DAY,
  20 * DAY,
];

/** Each kind: its state's first kind and its index of age. */
export const KIND_LIST: readonly { readonly kind: number; readonly state: number; readonly age: number }[] =
  Array.from({ length: KINDS }, (_, kind) => ({ kind, state: kind - (kind % AGES), age: kind % AGES }));
