import type { Sweep } from '../../sweeps/sweeps.ts';
import type { Suspect } from './suspects.ts';
import type { UnlistedTimes } from './unlisted.ts';

/** A live row that its list or page lacks. */
export interface AbsentRow {
  readonly id: string;
  /** The e-mail address or name for the service's search; null if the id is enough or the row has none. */
  readonly askBy: string | null;
  /** Since when it is a suspect; null: it is not marked as one yet. */
  readonly missingSince: Date | null;
}

/** A row that the list leaves out, and that the service has returned when it was asked for it. */
export interface UnlistedRow extends AbsentRow, UnlistedTimes {}

/** The rows that a sweep with every page lacks. */
export interface ClosedWalk {
  /** The sweep with its start by the present clock, as the suspicions are: the clock may have been set. */
  readonly sweep: Sweep;
  readonly suspects: readonly Suspect[];
  /** Rows that are no suspects, because the service has returned them although the list left them out. */
  readonly unlisted: readonly UnlistedRow[];
  /** The list leaves out rows that are no suspects yet, or that the service has returned in the last day. */
  readonly isLacking: boolean;
  /** By id: rows that the list leaves out and that the service has returned, suspects among them. */
  readonly returned: ReadonlyMap<string, UnlistedTimes>;
  /** An earlier run of the sweep has deleted rows with a person's consent. */
  readonly hasAccepted: boolean;
}

/** The walk of a sweep with a row whose id cannot be read. It may be any row, so that none is a suspect. */
export const NO_SUSPECTS: Omit<ClosedWalk, 'sweep'> = {
  suspects: [],
  unlisted: [],
  isLacking: false,
  returned: new Map(),
  hasAccepted: false,
};
