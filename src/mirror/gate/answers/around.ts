import { MINUTE } from '../../../core/clock.ts';

/** An answer proves that the service is up 10 minutes before and after it: outages can come each night. */
const NEAR_MS = 10 * MINUTE;

/** A SQL condition: a request was served. An answer with status 200 can be a web page, or half a body. */
export const IS_SERVED = '(status < 300 AND error IS NULL)';

/** A request, and when the last one before it and the first one after it that was served was sent. */
export interface RequestAround {
  readonly id: number;
  readonly sent_at: Date;
  /** Text on SQLite. */
  readonly before: string | Date | null;
  readonly after: string | Date | null;
}

/**
 * SQL for a table of the requests since `$1`, with the columns of {@link RequestAround} and their own. The
 * database looks for the answers, because the ledger of some days can have hundreds of thousands of rows.
 * @param ofThem a condition on the answers to look for
 */
export function requestsAround(ofThem = 'TRUE'): string {
  const servedAt = `CASE WHEN ${IS_SERVED} AND ${ofThem} THEN sent_at END`;
  return `(SELECT requests.*,
    max(${servedAt}) OVER (ORDER BY sent_at, id) AS before,
    min(${servedAt}) OVER (ORDER BY sent_at DESC, id DESC) AS after
    FROM requests WHERE sent_at > $1) AS around`;
}

/** True if another request was served between two failures, minutes after the one or before the other. */
export function isAnswerBetween(one: RequestAround, next: RequestAround): boolean {
  const [from, until] = [one.sent_at.getTime(), next.sent_at.getTime()];
  const isProof = (served: string | Date | null, near: number): boolean => {
    const at = new Date(served ?? Number.NaN).getTime();
    return at >= from && at <= until && Math.abs(at - near) <= NEAR_MS;
  };
  return isProof(one.after, from) || isProof(next.before, until);
}
