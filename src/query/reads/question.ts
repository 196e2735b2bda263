import { MirrorError } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import { isPostgres } from '../../database/open.ts';
import { sqlitePath } from '../../database/sqlite/file.ts';
import { openReadOnly } from '../open.ts';
import { type Cell, charactersOf, type QueryResult } from '../result.ts';

/** A question is at most this many characters long. */
const MOST_SQL = 8000;

/** An answer is cut after this many characters, so that the process of the caller can hold it. */
const MOST_CHARACTERS = 20 * 1024 * 1024;

export interface Answer {
  readonly columns: QueryResult['columns'];
  readonly rows: readonly Cell[][];
  /** True if there are more rows. */
  readonly isCut: boolean;
}

/**
 * Answers the SQL of a person who cannot be trusted with the process: it is read-only, ends in time, and does
 * not block. On SQLite it runs in a process of its own, because nothing else can stop a statement there.
 * @throws MirrorError `USAGE` if the SQL is wrong, writes, returns no rows or takes too long
 */
export async function answer(
  url: string,
  sql: string,
  { mostRows, longestMs, closed }: { mostRows: number; longestMs: number; closed: AbortSignal },
): Promise<Answer> {
  if (sql.length > MOST_SQL)
    throw new MirrorError(
      'USAGE',
      `The SQL has ${sql.length} characters, and here at most ${MOST_SQL} are allowed. ` +
        'Use `inbox-mirror query`.',
    );
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(tooLate(longestMs)), longestMs);
  const signal = AbortSignal.any([late.signal, closed]);
  try {
    const mirror = await open(url, signal);
    try {
      const { columns, rows } = await mirror.query(sql);
      return { columns, ...(await firstOf(rows, mostRows)) };
    } finally {
      await mirror.close();
    }
  } finally {
    clearTimeout(timer);
  }
}

async function open(url: string, signal: AbortSignal) {
  if (isPostgres(url)) return await openReadOnly(url, signal);
  return (await import('../sqlite/process.ts')).openSqliteInProcess(sqlitePath(url), signal);
}

async function firstOf(rows: QueryResult['rows'], most: number): Promise<Omit<Answer, 'columns'>> {
  const found: Cell[][] = [];
  let characters = 0;
  for await (const row of rows) {
    if (found.length === most || characters > MOST_CHARACTERS) return { rows: found, isCut: true };
    found.push(row);
    characters += charactersOf(row);
  }
  return { rows: found, isCut: false };
}

function tooLate(longestMs: number): MirrorError {
  return new MirrorError(
    'USAGE',
    `The query took longer than ${duration(longestMs)} and was stopped. Ask for less: fewer days, one ` +
      'inbox, one conversation. `inbox-mirror query` has no such limit.',
  );
}
