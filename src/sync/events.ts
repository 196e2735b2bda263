import type { ListKey } from '../core/lists.ts';

/** An event of a running pass, for a progress display or a log. */
export type PassEvent =
  | { readonly kind: 'pass-begun'; readonly resumedFrom: Date | null }
  | { readonly kind: 'list-known'; readonly key: ListKey; readonly expectedItems: number | null }
  | { readonly kind: 'list-begun'; readonly key: ListKey; readonly resumedAtPage: number }
  | {
      readonly kind: 'page';
      readonly key: ListKey;
      readonly pages: number;
      readonly items: number;
      readonly changed: number;
      readonly last: boolean;
    }
  /** A page was read by its bookmark. */
  | { readonly kind: 'page-read'; readonly key: ListKey; readonly rows: number }
  | { readonly kind: 'rows'; readonly key: ListKey; readonly rows: RowCounts }
  /** Conversations name users or tags (`key.list`) that the mirror has never had. */
  | { readonly kind: 'unknown-ids'; readonly key: ListKey; readonly ids: readonly string[] }
  | { readonly kind: 'restarted'; readonly key: ListKey; readonly cause: string }
  /** Rows of a single page cannot be read; `without-id`: nor can their id. */
  | { readonly kind: 'unreadable' | 'without-id'; readonly key: ListKey; readonly rows: number }
  /** Rows of a list, or of a single page, lack a field that the specification promises. */
  | { readonly kind: 'lacking'; readonly key: ListKey; readonly field: string; readonly rows: number }
  /** The service is asked for suspects. */
  | { readonly kind: 'asking'; readonly key: ListKey; readonly suspects: number }
  | { readonly kind: 'asking-ended'; readonly key: ListKey; readonly cause: string }
  /** The service still has one of a sample of suspects, so that none of them is suspected any longer. */
  | { readonly kind: 'acquitted'; readonly key: ListKey; readonly suspects: number }
  /** The service's answer does not prove whether a suspect exists. */
  | { readonly kind: 'withheld'; readonly key: ListKey; readonly cause: string }
  /** An unknown error has ended the list's sweep. */
  | { readonly kind: 'fault'; readonly key: ListKey; readonly error: unknown }
  /** So many rows would be marked as deleted that a person must accept it. */
  | { readonly kind: 'held'; readonly key: ListKey; readonly rows: number }
  | { readonly kind: 'list-done'; readonly report: ListReport };

/** Rows by what a committed write did to them; each count covers that write alone. */
export interface RowCounts {
  readonly inserted?: number;
  readonly changed?: number;
  readonly deleted?: number;
  /** Rows that could not be read. */
  readonly rejected?: number;
}

/** How one list's sweep ended. */
export interface ListReport {
  readonly key: ListKey;
  /** `already`: this pass completed the list before it was interrupted. `skipped`: its inbox is a suspect. */
  readonly outcome: 'complete' | 'already' | 'skipped' | 'paused' | 'failed';
  readonly items: number;
  readonly inserted: number;
  readonly changed: number;
  readonly deleted: number;
  readonly rejected: number;
  /** Rejected rows without a readable id: while there are any, the list deletes nothing. */
  readonly withoutId: number;
  /** Rows that wait for their second witness. */
  readonly suspects: number;
  /** Rows that are not marked as deleted, because they are too many: they wait for a person. */
  readonly held: number;
  readonly error: unknown;
}

/** True if the pass, or an interrupted one that it resumed, has read the whole list. */
export function isComplete({ outcome }: Pick<ListReport, 'outcome'>): boolean {
  return outcome === 'complete' || outcome === 'already';
}

/** The figures of a list that this pass did not sweep to its end: skipped, already complete, or stopped. */
export const NO_FIGURES = {
  items: 0,
  inserted: 0,
  changed: 0,
  deleted: 0,
  rejected: 0,
  withoutId: 0,
  suspects: 0,
  held: 0,
  error: null,
};
