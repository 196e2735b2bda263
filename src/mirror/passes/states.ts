/** The states of a pass (docs/tables.md, `sync_requests`). An order is `open` until a daemon begins it. */
export type PassState = 'open' | 'running' | 'done' | 'failed' | 'abandoned';

/** A SQL list: the states of a pass that has not ended. */
export const OPEN_PASS = `('open', 'running')`;

export function isOpenPass({ state }: { readonly state: PassState }): boolean {
  return state === 'open' || state === 'running';
}
