/** The states of a sweep (docs/tables.md, `sweeps`). */
export type SweepState = 'running' | 'paused' | 'reading' | 'complete' | 'failed' | 'abandoned';

/** A SQL list: the states of an open sweep. The next pass resumes it. */
export const OPEN_SWEEP = `('running', 'paused')`;

/** A SQL list: every state. A condition that names all can use the index of list, inbox and state. */
export const ANY_SWEEP = `('complete', 'running', 'paused', 'reading', 'failed', 'abandoned')`;

export function isOpenSweep({ state }: { readonly state: SweepState }): boolean {
  return state === 'running' || state === 'paused';
}
