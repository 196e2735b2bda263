import { MINUTE, SECOND } from '../../core/clock.ts';

/** At most this many changes in one delivery. */
export const MAX_CHANGES = 100;

/** After this many full deliveries in a row that were accepted, a delivery may have twice as many changes. */
const ACCEPTED_TO_GROW = 100;

/** Milliseconds between two single changes in a row at first, and at most. */
export const FIRST_GAP_MS = SECOND;
export const LONGEST_GAP_MS = MINUTE;

/** This process's findings about the receiver. */
export interface Learned {
  /** Changes in one delivery. It shrinks if several are too much for the receiver, and grows again. */
  size: number;
  /** Full deliveries of this size that were accepted. */
  accepted: number;
  /** The change that was refused alone last. */
  alone: RefusedAlone | null;
  /** A change that was accepted although an earlier one is refused. */
  ahead: number;
  /** Milliseconds between two single changes in a row: a receiver may be too busy for the second one. */
  gapMs: number;
  /**
   * True if the log last reported that deliveries fail. Null before the first answer: the stored failures of
   * an earlier process then decide.
   */
  isFailing: boolean | null;
}

export interface RefusedAlone {
  readonly id: number;
  /** How often it was refused. */
  readonly times: number;
  /** The last of the changes after it that were refused as well; itself if there is none. */
  readonly refusedTo: number;
  /** The later change that was accepted. */
  readonly acceptedId: number | null;
}

export function nothingLearned(): Learned {
  return { size: MAX_CHANGES, accepted: 0, alone: null, ahead: 0, gapMs: FIRST_GAP_MS, isFailing: null };
}

export function setSize(learned: Learned, size: number): void {
  learned.size = size;
  learned.accepted = 0;
}

/** A receiver that refused everything for a while, as with a wrong secret, gets whole deliveries again. */
export function grow(learned: Learned): void {
  learned.accepted += 1;
  if (learned.accepted >= ACCEPTED_TO_GROW) setSize(learned, Math.min(MAX_CHANGES, 2 * learned.size));
}
