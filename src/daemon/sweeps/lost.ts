import type { Reading } from '../../sync/pages/bookmark.ts';

/** For each cause, the log's message about a list that has lost its bookmarks. */
export const LOST: Record<NonNullable<Reading['lost']>, string> = {
  order: 'the ids of a list are not in order; it is read whole until they are',
  doubt: 'a page of a list is not as expected; the list is read whole once',
  positions: 'the page tokens of a list lead to other rows than before; it is read whole for a week',
  expiry: 'the page tokens of a list are refused after a time; it is read whole for a week',
};
