import { SECOND } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import { isPostgres } from '../../database/open.ts';
import { type BoundedReader, type BoundedRows, openBounded } from './bounded.ts';
import { onlyReading, withoutPragma } from './guard.ts';

/** A question is at most this many characters long. */
const MOST_SQL = 8000;

/**
 * An answer is cut after this many characters, as `charactersOf` counts them: the process of the caller holds
 * it, beside the child process, and systemd's `MemoryMax` bounds both.
 */
export const MOST_CHARACTERS = 20 * 1024 * 1024;

/** The name of a column is at most this many characters long: a file of JSON repeats it in each row. */
const LONGEST_NAME = 200;

/** At most this many questions are answered at a time: each may use a core for 10 s. */
const MOST_AT_ONCE = 2;

/** A question takes at most this many ms. */
export const LONGEST_MS = 10 * SECOND;

/**
 * Answers the SQL of people who may not use the process for longer: it is read-only, ends in time, and does
 * not block.
 */
export interface Questions {
  /**
   * @param mostRows the answer is cut after this many rows, or after {@link MOST_CHARACTERS}; `complete` is
   *   then false
   * @param left aborted when the person leaves: the query then stops
   * @throws MirrorError `USAGE` if the SQL is wrong, writes, returns no rows, takes too long, needs too much
   *   memory or is refused (`guard.ts`), or if too many questions are under way
   */
  ask(sql: string, mostRows: number, left: AbortSignal): Promise<BoundedRows>;
  close(): Promise<void>;
}

/**
 * On PostgreSQL the session has the rights of the program's role: there a question is held to functions that
 * only compute, or it could lift its own limits and end other sessions.
 * @param url the mirror's
 */
export function openQuestions(url: string, longestMs = LONGEST_MS): Questions {
  const readers = Array.from({ length: MOST_AT_ONCE }, () => openBounded(url));
  const busy = new Set<BoundedReader>();
  return {
    async ask(sql, mostRows, left) {
      if (sql.length > MOST_SQL) throw tooLong(sql);
      const text = isPostgres(url) ? onlyReading(sql) : withoutPragma(sql);
      const reader = readers.find((one) => !busy.has(one));
      if (reader === undefined) throw tooMany();
      busy.add(reader);
      try {
        const bounds = { rows: mostRows, characters: MOST_CHARACTERS };
        const answer = await reader.visit(longestMs, (_read, ask) => ask(text, [], bounds), left);
        const long = answer.columns.find(({ name }) => name.length > LONGEST_NAME);
        if (long !== undefined) throw nameTooLong(long.name);
        return answer;
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

function nameTooLong(name: string): MirrorError {
  return new MirrorError(
    'USAGE',
    `A column has a name of ${name.length} characters, and here at most ${LONGEST_NAME} are allowed: ` +
      `${name.slice(0, 40)}…. Give it a shorter one with AS.`,
  );
}

function tooMany(): MirrorError {
  return new MirrorError(
    'USAGE',
    `${MOST_AT_ONCE} questions are being answered now. Ask again in some seconds.`,
  );
}
