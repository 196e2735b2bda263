import type { ListKey } from '../core/lists.ts';

/** What a pass tells of itself as it goes, for a progress display or a log. */
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
  | { readonly kind: 'rows'; readonly key: ListKey; readonly rows: RowCounts }
  | { readonly kind: 'restarted'; readonly key: ListKey; readonly cause: string }
  | { readonly kind: 'lacking'; readonly key: ListKey; readonly field: string; readonly rows: number }
  | { readonly kind: 'asking'; readonly key: ListKey; readonly suspects: number }
  | { readonly kind: 'asking-ended'; readonly key: ListKey; readonly cause: string }
  | { readonly kind: 'list-done'; readonly report: ListReport };

/** What has just become of rows, as it stands in the mirror from now on. */
export interface RowCounts {
  readonly inserted?: number;
  readonly changed?: number;
  readonly tombstoned?: number;
  /** Could not be read. */
  readonly rejected?: number;
}

/** How one list's sweep ended. */
export interface ListReport {
  readonly key: ListKey;
  /** `already`: this pass had completed it before it was interrupted. `skipped`: its inbox is itself suspected to be gone. */
  readonly outcome: 'complete' | 'already' | 'skipped' | 'paused' | 'failed';
  readonly items: number;
  readonly inserted: number;
  readonly changed: number;
  readonly deleted: number;
  readonly rejected: number;
  /** Rows that wait for their second witness. */
  readonly suspects: number;
  readonly error: unknown;
}
