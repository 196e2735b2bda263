/** Until 10 answers are in, every request waits for the last answer. Then measured round trips count. */
const TRUSTED_AFTER = 10;
/** The last 50 round trips count. */
const REMEMBERED = 50;
/** The slack is 20 spreads divided by the measured round trips. Simulated: one early arrival in a million. */
const UNSEEN = 20;
/** The smallest and the largest margin for uncertain round trips, in milliseconds. */
const MARGIN_MS = { least: 20, most: 500 };
/** At most 5 s of distance from a request whose arrival is unknown. */
const LONGEST_UNKNOWN_MS = 5000;

/** Milliseconds to wait after a start whose arrival is unknown: five gaps, up to 5 s, but at least a gap. */
export function unansweredMs(gapMs: number): number {
  return Math.max(gapMs, Math.min(5 * gapMs, LONGEST_UNKNOWN_MS));
}

/** Keeps any two ARRIVALS at the service at least a gap apart (docs/decisions/0011). */
export interface Spacing {
  /** When the next request may start, in monotonic ms; infinite while it must wait for the last answer. */
  earliest(): number;
  started(at: number): void;
  answered(start: number, at: number): void;
  /** The request timed out or broke: it may have arrived, or may still arrive. */
  lost(start: number): void;
}

/**
 * Spaces requests by arrival. An answer proves that its request has arrived. Until ten answers are in, the
 * next request starts a gap after the last answer. From then on it starts at the earlier of two times:
 *
 * - a gap after the last answer, less a sure round trip (the fastest one seen minus the slack);
 * - a gap, the spread seen and the slack after the last start.
 *
 * The slack allows for spread not seen yet: the fewer round trips, the larger it is. Without it, 2 % of the
 * requests arrive early at steady jitter, and nearly half of all runs of 20 requests draw a 429.
 */
export function spaceByArrival(gapMs: number): Spacing {
  const roundTrips: number[] = [];
  let answers = 0;
  let lastStart = Number.NEGATIVE_INFINITY;
  let lastAnswer: number | null = Number.NEGATIVE_INFINITY;
  let unknownUntil = Number.NEGATIVE_INFINITY;

  return {
    earliest() {
      const answer = lastAnswer ?? Number.POSITIVE_INFINITY;
      if (answers < TRUSTED_AFTER) return Math.max(answer + gapMs, unknownUntil);
      const fastest = Math.min(...roundTrips);
      const spread = Math.max(...roundTrips) - fastest;
      const slack = (spread * UNSEEN) / roundTrips.length;
      const sureTrip = Math.max(0, fastest - clamp(slack, MARGIN_MS));
      return Math.max(
        Math.min(lastStart + gapMs + clamp(spread + slack, MARGIN_MS), answer - sureTrip + gapMs),
        unknownUntil,
      );
    },
    started(at) {
      lastStart = at;
      lastAnswer = null;
    },
    answered(start, at) {
      answers += 1;
      roundTrips.push(at - start);
      if (roundTrips.length > REMEMBERED) roundTrips.shift();
      if (start === lastStart) lastAnswer = at;
    },
    lost(start) {
      unknownUntil = Math.max(unknownUntil, start + unansweredMs(gapMs));
      if (start === lastStart) lastAnswer = Number.NEGATIVE_INFINITY;
    },
  };
}

function clamp(value: number, { least, most }: { least: number; most: number }): number {
  return Math.min(Math.max(value, least), most);
}
