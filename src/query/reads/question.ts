import { SECOND } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import { type BoundedReader, type BoundedRows, openBounded } from './bounded.ts';

/** A question is at most this many characters long. */
const MOST_SQL = 8000;

/** An answer is cut after this many characters, so that the process of the caller can hold it. */
const MOST_CHARACTERS = 20 * 1024 * 1024;

/** At most this many questions are answered at a time: each may use a core for 10 s. */
const MOST_AT_ONCE = 2;

/** A question takes at most this many ms. */
const LONGEST_MS = 10 * SECOND;

/**
 * Answers the SQL of people who may not use the process for longer: it is read-only, ends in time, and does
 * not block.
 */
export interface Questions {
  /**
   * @param mostRows the answer is cut after this many rows
   * @param left aborted when the person leaves: the query then stops
   * @throws MirrorError `USAGE` if the SQL is wrong, writes, returns no rows, takes too long or needs too
   *   much memory, or if too many questions are under way
   */
  ask(sql: string, mostRows: number, left: AbortSignal): Promise<BoundedRows>;
  close(): Promise<void>;
}

/** @param url the mirror's */
export function openQuestions(url: string, longestMs = LONGEST_MS): Questions {
  const readers = Array.from({ length: MOST_AT_ONCE }, () => openBounded(url));
  const busy = new Set<BoundedReader>();
  return {
    async ask(sql, mostRows, left) {
      if (sql.length > MOST_SQL) throw tooLong(sql);
      const reader = readers.find((one) => !busy.has(one));
      if (reader === undefined) throw tooMany();
      busy.add(reader);
      try {
        const bounds = { rows: mostRows, characters: MOST_CHARACTERS };
        return await reader.visit(longestMs, (read) => read(sql, [], bounds), left);
      } finally {
        busy.delete(reader);
      }
    },
    async close() {
      await Promise.all(readers.map((reader) => reader.close()));
    },
  };
}

function tooLong(sql: string): MirrorError {
  return new MirrorError(
    'USAGE',
    `The SQL has ${sql.length} characters, and here at most ${MOST_SQL} are allowed. ` +
      'Use `inbox-mirror query`.',
  );
}

function tooMany(): MirrorError {
  return new MirrorError(
    'USAGE',
    `${MOST_AT_ONCE} questions are being answered now. Ask again in some seconds.`,
  );
}
