import { type ErrorCode, MirrorError } from '../../core/errors.ts';
import { duration, thousands } from '../../core/humanize.ts';
import { isPostgres } from '../../database/open.ts';
import { sqlitePath } from '../../database/sqlite/file.ts';
import { openReadOnly } from '../open.ts';
import { type Cell, charactersOf, type QueryResult, type ReadOnlyMirror } from '../result.ts';

/** The limits of one statement. */
export interface Bounds {
  /** At most this many rows are returned. */
  readonly rows: number;
  /** The rows end when their cells have about this many characters. */
  readonly characters: number;
}

/** The first rows of a statement. */
export interface BoundedRows {
  readonly columns: QueryResult['columns'];
  readonly rows: readonly Cell[][];
  /** False: there were more rows than the bounds allow. */
  readonly complete: boolean;
}

/** Reads from the mirror; `values` are those of the parameters `$1`, `$2`, … */
export type BoundedRead = (sql: string, values: readonly Cell[], bounds: Bounds) => Promise<BoundedRows>;

/** Reads with limits that no statement can pass. */
export interface BoundedReader {
  /**
   * Runs statements one after the other, as `work` asks for them.
   * @param limitMs real time for all of them; the database then stops, whatever it is doing
   * @throws MirrorError `DATABASE` after this time, or if a statement needs too much memory
   */
  visit<Result>(limitMs: number, work: (read: BoundedRead) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** A connection, and the way to end it in the middle of a statement. */
interface Connection {
  readonly read: BoundedRead;
  readonly close: () => Promise<void>;
  readonly cut: AbortController;
}

/**
 * Opens a reader. On SQLite, statements run in a child process, which can be killed; on PostgreSQL, in a
 * session of each visit, whose end stops the statement on the server.
 */
export function openBounded(url: string): BoundedReader {
  let last: Promise<unknown> = Promise.resolve();
  let kept: Connection | null = null;
  const release = async (): Promise<void> => {
    const connection = kept;
    kept = null;
    await connection?.close();
  };
  const run = async <Result>(
    limitMs: number,
    work: (read: BoundedRead) => Promise<Result>,
  ): Promise<Result> => {
    kept ??= await connect(url);
    const { read, cut } = kept;
    const timer = setTimeout(() => cut.abort(tooSlow(limitMs)), limitMs);
    try {
      const result = await work(read);
      if (isPostgres(url)) await release();
      return result;
    } catch (error) {
      if (cut.signal.aborted || isPostgres(url)) await release();
      throw cut.signal.aborted ? cut.signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    async visit(limitMs, work) {
      const turn = last.then(() => run(limitMs, work));
      last = turn.catch(() => undefined);
      return await turn;
    },
    async close() {
      kept?.cut.abort(new MirrorError('STOPPED', 'The reader was closed.'));
      await last;
      await release();
    },
  };
}

/** A connection that does not answer within this many ms is given up. A busy machine is slow to start one. */
const START_MS = 30_000;

/** Connects, and waits for the first answer: the limit of a visit does not count the start. */
async function connect(url: string): Promise<Connection> {
  const cut = new AbortController();
  const timer = setTimeout(() => cut.abort(tooSlow(START_MS)), START_MS);
  let connection: Connection | undefined;
  try {
    connection = { ...(await open(url, cut)), cut };
    await connection.read('SELECT 1', [], { rows: 1, characters: 1000 });
    return connection;
  } catch (error) {
    await connection?.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function open(url: string, cut: AbortController): Promise<Pick<Connection, 'read' | 'close'>> {
  if (!isPostgres(url)) return await (await import('./child.ts')).openInChild(sqlitePath(url), cut);
  const mirror = await openReadOnly(url, cut.signal);
  return {
    read: (sql, values, bounds) => readBounded(mirror, sql, values, bounds),
    close: () => mirror.close(),
  };
}

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
    characters += charactersOf(row);
    if (found.length === bounds.rows || characters > bounds.characters)
      return { columns, rows: found, complete: false };
    found.push(row);
  }
  return { columns, rows: found, complete: true };
}

/** The memory of the child process, SQLite's included, in bytes. */
export const MOST_BYTES = 512 * 1024 * 1024;

export function tooMuchMemory(): MirrorError {
  return new MirrorError(
    'DATABASE',
    `The query was stopped: it needed more than ${thousands(MOST_BYTES / 1024 / 1024)} MB of memory, or ` +
      'its process was ended. Ask for fewer or shorter values.',
  );
}

function tooSlow(limitMs: number): MirrorError {
  return new MirrorError(
    'DATABASE',
    `The query was stopped: it took longer than ${duration(limitMs)}. Ask for less: fewer rows, a shorter ` +
      'time, or a view in place of a table.',
  );
}

/** An error between processes, which lose its class. */
export interface SentFailure {
  readonly message: string;
  readonly code: ErrorCode | null;
}
