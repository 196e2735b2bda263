import { SECOND } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import { type Answer, answer } from '../../query/reads/question.ts';

/** At most this many questions are answered at a time: each may use a core for 10 s. */
const MOST_AT_ONCE = 2;

/** A question takes at most this many ms. */
const LONGEST_MS = 10 * SECOND;

/**
 * Answers a person's SQL.
 * @param closed aborted when the person leaves: the query then stops
 * @throws MirrorError `USAGE` if the SQL is wrong or takes too long, or if too many questions are under way
 */
export type Ask = (sql: string, mostRows: number, closed: AbortSignal) => Promise<Answer>;

export function createAsk(databaseUrl: string, longestMs = LONGEST_MS): Ask {
  let underWay = 0;
  return async (sql, mostRows, closed) => {
    if (underWay >= MOST_AT_ONCE)
      throw new MirrorError(
        'USAGE',
        `${MOST_AT_ONCE} questions are being answered now. Ask again in some seconds.`,
      );
    underWay += 1;
    try {
      return await answer(databaseUrl, sql, { mostRows, longestMs, closed });
    } finally {
      underWay -= 1;
    }
  };
}
