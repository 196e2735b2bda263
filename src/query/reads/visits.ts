import { isMirrorError, MirrorError } from '../../core/errors.ts';
import { isPostgres } from '../../database/open.ts';
import { identity, sqlitePath } from '../../database/sqlite/file.ts';

/** A connection without a visit ends after this many ms. */
const IDLE_MS = 60_000;

/** A connection that does not answer within this many ms is given up. A busy machine is slow to start one. */
const START_MS = 30_000;

export interface VisitsOptions<Connection> {
  /** The mirror's. SQLite keeps its connection for a minute, because the start takes longer than a read. */
  readonly url: string;
  /**
   * Opens a connection. An abort of `cut` ends it, whatever it is doing.
   * @param limitMs of the visit; a server that has not heard of the end then stops the statement itself
   */
  readonly connect: (cut: AbortController, limitMs: number) => Promise<Connection>;
  /** Waits for the first answer, so that the limit of a visit does not count the start. */
  readonly firstRead: (connection: Connection) => Promise<unknown>;
  readonly tooSlow: (limitMs: number) => MirrorError;
}

/** Runs visits to one connection, one after the other. */
export class Visits<Connection extends { close(): Promise<void> }> {
  readonly #options: VisitsOptions<Connection>;
  #last: Promise<unknown> = Promise.resolve();
  #kept: Connection | null = null;
  /** The file that the connection reads; null on PostgreSQL. */
  #file: string | null = null;
  /** Ends the connection. */
  #cut = new AbortController();
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: VisitsOptions<Connection>) {
    this.#options = options;
  }

  /**
   * @param limitMs real time for `work`, the start of the connection and earlier visits aside
   * @param left aborts the visit at any moment with its reason
   * @throws the error of `tooSlow` after `limitMs`
   */
  async visit<Result>(
    limitMs: number,
    work: (connection: Connection) => Promise<Result>,
    left?: AbortSignal,
  ): Promise<Result> {
    const turn = this.#last.then(() => this.#run(limitMs, work, left));
    this.#last = turn.catch(() => undefined);
    return await turn;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cut.abort(closed());
    await this.#last;
    await this.#release();
  }

  async #run<Result>(
    limitMs: number,
    work: (connection: Connection) => Promise<Result>,
    left: AbortSignal | undefined,
  ): Promise<Result> {
    left?.throwIfAborted();
    if (this.#isClosed) throw closed();
    clearTimeout(this.#idle);
    const { url, tooSlow } = this.#options;
    const file = fileOf(url);
    // Between two visits a process can end, and a backup can replace the file.
    if (this.#cut.signal.aborted || file !== this.#file) await this.#release();
    this.#file = file;
    if (this.#kept === null) this.#cut = new AbortController();
    const cut = this.#cut;
    const leave = (): void => cut.abort(left?.reason);
    left?.addEventListener('abort', leave);
    let timer = setTimeout(() => cut.abort(tooSlow(START_MS)), START_MS);
    let isUsable = false;
    try {
      const connection = this.#kept ?? (await this.#start(cut, limitMs));
      clearTimeout(timer);
      timer = setTimeout(() => cut.abort(tooSlow(limitMs)), limitMs);
      const result = await work(connection);
      isUsable = true;
      return result;
    } catch (error) {
      // After wrong SQL the connection still answers.
      isUsable = isMirrorError(error, 'USAGE');
      throw cut.signal.aborted ? cut.signal.reason : error;
    } finally {
      clearTimeout(timer);
      left?.removeEventListener('abort', leave);
      // On a server a kept transaction would hold back its housekeeping and show one moment for ever.
      if (!isUsable || isPostgres(url) || cut.signal.aborted) await this.#release();
      else this.#idle = setTimeout(() => void this.#release(), IDLE_MS).unref();
    }
  }

  async #start(cut: AbortController, limitMs: number): Promise<Connection> {
    const connection = await this.#options.connect(cut, limitMs);
    this.#kept = connection;
    await this.#options.firstRead(connection);
    return connection;
  }

  async #release(): Promise<void> {
    clearTimeout(this.#idle);
    const connection = this.#kept;
    this.#kept = null;
    await connection?.close();
  }
}

/** Differs between two files of one name; null on PostgreSQL, and if there is none. */
function fileOf(url: string): string | null {
  try {
    return isPostgres(url) ? null : identity(sqlitePath(url));
  } catch {
    // The folder cannot be read: the next connection reports it.
    return null;
  }
}

function closed(): MirrorError {
  return new MirrorError('STOPPED', 'The reader was closed.');
}
