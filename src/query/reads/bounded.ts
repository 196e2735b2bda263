import { type ErrorCode, MirrorError } from '../../core/errors.ts';
import { duration, thousands } from '../../core/humanize.ts';
import { isPostgres } from '../../database/open.ts';
import { sqlitePath } from '../../database/sqlite/file.ts';
import { rowTooLong } from '../faults.ts';
import { openReadOnly } from '../open.ts';
import { type Cell, charactersOf, type QueryResult, type ReadOnlyMirror } from '../result.ts';
import { refuseCalledFields } from './fields.ts';
import { Visits } from './visits.ts';

/** The limits of one statement. */
export interface Bounds {
  /** At most this many rows are returned. */
  readonly rows: number;
  /** The rows end when their cells have about this many characters. A longer first row gets shorter cells. */
  readonly characters: number;
}

/** The first rows of a statement. */
export interface BoundedRows {
  readonly columns: QueryResult['columns'];
  readonly rows: Cell[][];
  /** False: there were more rows, or a longer first one, than the bounds allow. */
  readonly complete: boolean;
  /** True: the first row alone is longer than the bounds allow. Its long cells are cut, and end in `…`. */
  readonly isCut: boolean;
}

/** Reads from the mirror; `values` are those of the parameters `$1`, `$2`, … */
export type BoundedRead = (sql: string, values: readonly Cell[], bounds: Bounds) => Promise<BoundedRows>;

/** Reads with limits that no statement can pass. */
export interface BoundedReader {
  /**
   * Runs statements one after the other, as `work` asks for them: its own with `read`, and those of other
   * people with `ask`, which refuses functions of the server in the notation of a field.
   * @param limitMs real time for all of them; the database then stops, whatever it is doing
   * @param left aborted when the caller no longer wants the answer: the database then stops, too
   * @throws MirrorError `USAGE` after this time, or if a statement needs too much memory
   */
  visit<Result>(
    limitMs: number,
    work: (read: BoundedRead, ask: BoundedRead) => Promise<Result>,
    left?: AbortSignal,
  ): Promise<Result>;
  close(): Promise<void>;
}

/** A connection that reads with bounds. */
export interface BoundedConnection {
  readonly read: BoundedRead;
  readonly close: () => Promise<void>;
}

/**
 * Opens a reader. On SQLite, statements run in a child process, which can be killed; on PostgreSQL, in a
 * session of each visit, which is ended on the server with its statement.
 */
export function openBounded(url: string): BoundedReader {
  const visits = new Visits({
    url,
    connect: (cut, limitMs) => open(url, cut, limitMs),
    firstRead: ({ read }) => read('SELECT 1', [], { rows: 1, characters: 1000 }),
    tooSlow,
  });
  return {
    visit: (limitMs, work, left) => visits.visit(limitMs, ({ read }) => work(read, asker(url, read)), left),
    close: () => visits.close(),
  };
}

/** Only PostgreSQL calls functions by the notation of a field. */
function asker(url: string, read: BoundedRead): BoundedRead {
  if (!isPostgres(url)) return read;
  return async (sql, values, bounds) => {
    await refuseCalledFields(read, sql);
    return await read(sql, values, bounds);
  };
}

async function open(url: string, cut: AbortController, limitMs: number): Promise<BoundedConnection> {
  if (!isPostgres(url)) return await (await import('./child.ts')).openInChild(sqlitePath(url), cut);
  const mirror = await openReadOnly(url, cut.signal, { ms: limitMs, charactersOfRow: MOST_IN_ROW });
  return {
    read: (sql, values, bounds) => readBounded(mirror, sql, values, bounds),
    close: () => mirror.close(),
  };
}

/** A row with more characters than this is an error: it would fill the memory of the process that gets it. */
export const MOST_IN_ROW = 4_000_000;

/** Reads the rows of a statement until one of the bounds is reached. */
export async function readBounded(
  mirror: ReadOnlyMirror,
  sql: string,
  values: readonly Cell[],
  bounds: Bounds,
): Promise<BoundedRows> {
  const { columns, rows } = await mirror.query(sql, values);
  const found: Cell[][] = [];
  let characters = 0;
  for await (const row of rows) {
    const length = charactersOf(row);
    if (length > MOST_IN_ROW) throw rowTooLong(length, MOST_IN_ROW);
    characters += length;
    if (found.length > 0 && (found.length === bounds.rows || characters > bounds.characters))
      return { columns, rows: found, complete: false, isCut: false };
    // Without a row, an answer would not name the place after which to read on.
    if (characters > bounds.characters) {
      const most = Math.floor(bounds.characters / row.length);
      const cut = row.map((cell, index) => cutCell(cell, most, columns[index]?.isJson ?? false));
      return { columns, rows: [cut], complete: false, isCut: true };
    }
    found.push(row);
  }
  return { columns, rows: found, complete: true, isCut: false };
}

/** A cell of at most `most` characters. JSON that is cut becomes a JSON text. */
function cutCell(cell: Cell, most: number, isJson: boolean): Cell {
  if (cell instanceof Uint8Array) return cell.subarray(0, most);
  if (typeof cell !== 'string' || cell.length <= most) return cell;
  const text = `${cell.slice(0, most).toWellFormed()}…`;
  return isJson ? JSON.stringify(text) : text;
}

/** The memory of the child process, SQLite's included, in bytes. */
export const MOST_BYTES = 512 * 1024 * 1024;

export function tooMuchMemory(): MirrorError {
  return new MirrorError(
    'USAGE',
    `The query was stopped: it needed more than ${thousands(MOST_BYTES / 1024 / 1024)} MB of memory, or ` +
      'its process was ended. Ask for fewer or shorter values.',
  );
}

function tooSlow(limitMs: number): MirrorError {
  return new MirrorError(
    'USAGE',
    `The query took longer than ${duration(limitMs)} and was stopped. Ask for less: fewer rows, a shorter ` +
      'time, or a view in place of a table.',
  );
}

/** An error between processes, which lose its class. */
export interface SentFailure {
  readonly message: string;
  readonly code: ErrorCode | null;
}
