import type { Sweep } from '../../sweeps/sweeps.ts';
import type { Suspect } from './suspects.ts';
import type { UnlistedTimes } from './unlisted.ts';

/** A row that the list leaves out, and that the service has returned when it was asked for it. */
export interface UnlistedRow extends Suspect, UnlistedTimes {}

/** The rows that a sweep with every page lacks. */
export interface ClosedWalk {
  /** The sweep with its start by the present clock, as the suspicions are: the clock may have been set. */
  readonly sweep: Sweep;
  readonly suspects: readonly Suspect[];
  /** Rows that are no suspects, because the service has returned them although the list left them out. */
  readonly unlisted: readonly UnlistedRow[];
  /** The list leaves out rows that the service has returned, the last one a day ago at most. */
  readonly isLacking: boolean;
  /** The suspects that the service has returned before, although the list left them out. */
  readonly returned: ReadonlyMap<string, unknown>;
  /** An earlier run of the sweep has deleted rows with a person's consent. */
  readonly hasAccepted: boolean;
}

/** Of a sweep that lacks a page. */
export const NO_SUSPECTS = {
  suspects: [],
  unlisted: [],
  isLacking: false,
  returned: new Map(),
  hasAccepted: false,
};
