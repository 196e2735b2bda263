import { SECOND } from '../../core/clock.ts';

/** Until 10 answers are in, every request waits for the last answer. Then measured round trips count. */
const TRUSTED_AFTER = 10;
/** The last 500 round trips count: a delay that has come once will come again. */
const REMEMBERED = 500;
/** The slack is 20 spreads divided by the measured round trips. Simulated: one early arrival in a million. */
const UNSEEN = 20;
/** The smallest and the largest margin for uncertain round trips, in milliseconds. */
const MARGIN_MS = { least: 20, most: 500 };
/** The longest distance from a request whose arrival is unknown, in ms, unless two gaps are longer. */
const LONGEST_UNKNOWN_MS = 5 * SECOND;

/** Milliseconds to wait after a start whose arrival is unknown: five gaps, up to 5 s, at least two gaps. */
export function unansweredMs(gapMs: number): number {
  return Math.max(2 * gapMs, Math.min(5 * gapMs, LONGEST_UNKNOWN_MS));
}

/** A request may always leave within this many ms of its instant in the ledger: a grant takes some time. */
const LEAST_LATEST_MS = SECOND;

/**
 * A granted request leaves within this many ms of its instant in the ledger, or not at all. After
 * {@link unansweredMs} another process may send, and a gap must lie between the arrivals: half of the rest is
 * for the grant, half for the way to the service.
 */
export function latestStartMs(gapMs: number): number {
  return Math.max(LEAST_LATEST_MS, (unansweredMs(gapMs) - gapMs) / 2);
}

/**
 * Bottleneck's start of a request, which leaves once its hold is over. The next launch comes at least a gap
 * and `holdMs` later.
 */
export interface Launch {
  /** Monotonic ms. */
  readonly at: number;
  /** The time for which the request is expected to be held after its launch, in ms. */
  readonly holdMs: number;
}

/**
 * Computes what the network adds to the gap, so that any two ARRIVALS at the service are at least a gap apart
 * (docs/decisions/0011). All instants are monotonic ms.
 */
export interface Spacing {
  /** True while the next launch must wait for the last answer. */
  waitsForAnswer(): boolean;
  /** For how long a request launched as soon as possible is likely to be held, in ms. */
  expectedHold(now: number): number;
  /** Until when a launched request is held; infinite while it must wait for the last answer. */
  heldUntil(launch: Launch): number;
  departed(launch: Launch, at: number): void;
  answered(start: number, at: number): void;
  /** The request timed out or broke: it may have arrived, or may still arrive. */
  lost(start: number): void;
}

/**
 * Spaces requests by arrival. An answer proves that its request has arrived. Until ten answers are in, the
 * gap begins at the last answer. From then on it begins:
 *
 * - after an answer that took no longer than the fastest one and the margin: at the earlier of the last
 *   start plus the margin, and the answer less a sure round trip (the fastest one seen minus the slack). The
 *   margin is the spread seen and the slack, up to half a second;
 * - after a later answer, whose request can have been late on its way: at the answer less a sure round trip;
 * - without an answer: as if the arrival were unknown.
 *
 * If most answers take longer than a gap, it begins at the last start plus the margin.
 *
 * The slack allows for spread not seen yet: the fewer round trips, the larger it is. Without it, 2 % of the
 * requests arrive early at steady jitter, and nearly half of all runs of 20 requests draw a 429.
 */
export function spaceByArrival(gapMs: number): Spacing {
  const roundTrips: number[] = [];
  let network = measure([0]);
  let answers = 0;
  let last: Launch = { at: 0, holdMs: 0 };
  let lastStart = Number.NEGATIVE_INFINITY;
  let lastAnswer: number | null = Number.NEGATIVE_INFINITY;
  let unknownUntil = Number.NEGATIVE_INFINITY;

  /** When the gap after the last request begins. */
  const gapBegins = (): number => {
    const answer = lastAnswer ?? Number.POSITIVE_INFINITY;
    const unknown = unknownUntil - gapMs;
    if (answers < TRUSTED_AFTER) return Math.max(answer, unknown);
    const { fastest, median, margin, sureTrip } = network;
    // To wait for the answers of a slow service would cost much of the rate.
    const isSlow = median > gapMs;
    if (lastAnswer === null)
      return Math.max(lastStart + (isSlow ? margin : Math.max(margin, unansweredMs(gapMs) - gapMs)), unknown);
    const isUsual = isSlow || answer - lastStart <= fastest + margin;
    return Math.max(isUsual ? Math.min(lastStart + margin, answer - sureTrip) : answer - sureTrip, unknown);
  };

  return {
    waitsForAnswer: () => gapBegins() === Number.POSITIVE_INFINITY,
    expectedHold(now) {
      const usually = answers < TRUSTED_AFTER ? Number.POSITIVE_INFINITY : lastStart + network.usual;
      const launch = Math.max(now, last.at + gapMs + last.holdMs);
      return Math.max(0, Math.min(gapBegins(), usually) + gapMs - launch);
    },
    // The launch has kept a gap by bottleneck's clock, but the process may have stalled at the launch before.
    heldUntil: ({ at }) => Math.max(at, gapBegins() + gapMs),
    departed(launch, at) {
      last = launch;
      lastStart = at;
      lastAnswer = null;
    },
    answered(start, at) {
      answers += 1;
      roundTrips.push(at - start);
      if (roundTrips.length > REMEMBERED) roundTrips.shift();
      network = measure(roundTrips);
      if (start === lastStart) lastAnswer = at;
    },
    lost(start) {
      unknownUntil = Math.max(unknownUntil, start + unansweredMs(gapMs));
      if (start === lastStart) lastAnswer = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Figures about the network, from its round trips, in ms. */
function measure(roundTrips: readonly number[]) {
  const sorted = roundTrips.toSorted((one, other) => one - other);
  const [fastest = 0] = sorted;
  const median = sorted[sorted.length >> 1] ?? 0;
  const spread = (sorted.at(-1) ?? 0) - fastest;
  const slack = (spread * UNSEEN) / roundTrips.length;
  const margin = clamp(spread + slack, MARGIN_MS);
  const sureTrip = Math.max(0, fastest - clamp(slack, MARGIN_MS));
  const mean = roundTrips.reduce((sum, trip) => sum + trip, 0) / roundTrips.length;
  // `usual`: how long after its start a request is usually known to have arrived.
  return { fastest, median, margin, sureTrip, usual: Math.min(margin, mean - sureTrip) };
}

function clamp(value: number, { least, most }: { least: number; most: number }): number {
  return Math.min(Math.max(value, least), most);
}

/**
 * The ledger keeps other processes away for up to this many ms longer than this process computes: it uses the
 * wall clock and rounds to whole milliseconds.
 */
const LEDGER_MARGIN_MS = 50;

/**
 * This process's recent ledger ids, with the monotonic time until which the ledger keeps other processes'
 * requests away from them.
 */
export class OwnRequests {
  readonly #spacedUntil = new Map<number, number>();

  left(id: number): void {
    this.#spacedUntil.set(id, Number.POSITIVE_INFINITY);
  }

  ended(id: number, spacedUntil: number): void {
    this.#spacedUntil.set(id, spacedUntil + LEDGER_MARGIN_MS);
  }

  /** The ids from which other processes still keep away at `now` (monotonic ms). */
  ids(now: number): number[] {
    for (const [id, until] of this.#spacedUntil) if (until < now) this.#spacedUntil.delete(id);
    return [...this.#spacedUntil.keys()];
  }
}
