/** Answers seen before the round trips are trusted to tell how they spread. */
const TRUSTED_AFTER = 10;
/** Round trips that count as "lately". */
const REMEMBERED = 50;
/** By so much, over the number of round trips seen, the spread is taken for wider than it was seen: simulated, one early arrival in a million. */
const UNSEEN = 20;
const MARGIN_MS = { least: 20, most: 500 };
const LONGEST_UNKNOWN_MS = 5000;

/** Milliseconds to keep away from the start of a request whose arrival is unknown: five gaps, at most 5 s. */
export function unansweredMs(gapMs: number): number {
  return Math.max(gapMs, Math.min(5 * gapMs, LONGEST_UNKNOWN_MS));
}

/** When the next request may start, so that two never ARRIVE at the service closer than a gap (DESIGN.md, "The gate"). */
export interface Spacing {
  /** Monotonic milliseconds; infinite while the answer to the last request must be awaited. */
  earliest(): number;
  started(at: number): void;
  answered(start: number, at: number): void;
  /** The request timed out or broke: it may have arrived, or may arrive yet. */
  lost(start: number): void;
}

/**
 * Spaces requests by arrival. An answer proves that its request has arrived, so until ten answers are in, the next one waits
 * for the answer and a gap. After that it may start before `answer + gap` by what a round trip surely takes, the fastest seen less some
 * slack; and while no answer is in, a gap, the spread seen and the slack after the last one's start. The slack is for the spread not seen yet: the
 * fewer round trips, the more. Without it 2 % of the requests arrive early at steady jitter, and nearly half of all runs of 20 draw a 429.
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
      const surely = Math.max(0, fastest - within(slack, MARGIN_MS));
      return Math.max(
        Math.min(lastStart + gapMs + within(spread + slack, MARGIN_MS), answer - surely + gapMs),
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

function within(value: number, { least, most }: { least: number; most: number }): number {
  return Math.min(Math.max(value, least), most);
}
