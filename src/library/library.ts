import { MirrorError } from '../core/errors.ts';
import { openForReading, type ReadOnlyClient } from '../database/read-only.ts';
import { mirrorOn } from '../mirror/mirror.ts';
import { noMirrorYet } from '../query/faults.ts';
import { systemClock } from '../session/clock.ts';
import { readDatabaseUrl } from '../session/config/database-url.ts';
import { configError, readEnvironment } from '../session/config/environment.ts';
import { type Change, changesOf, type ChangesOptions } from './changes.ts';
import { type ListFreshness, readFreshness } from './freshness.ts';
import { OPEN, refuseWrong } from './options.ts';
import { passInOwnSession, type PassOptions, type PassResult, type ResyncOptions } from './passes.ts';
import { refuseOldNode } from './runtime.ts';

export type { ItemValues } from '../core/diff.ts';
export { type ErrorCode, isMirrorError, MirrorError } from '../core/errors.ts';
export type { ListName } from '../core/lists.ts';
export { Prisma, type ReadOnlyClient } from '../database/read-only.ts';
export type { Change, ChangesOptions } from './changes.ts';
export type { ListFreshness } from './freshness.ts';
export type { ListResult, PassOptions, PassResult, ResyncOptions } from './passes.ts';

export interface OpenOptions {
  /** `file:…` or `postgresql://…`. Default: `DATABASE_URL` of the environment or of `.env`. */
  readonly address?: string;
  /** The environment, read again by each pass (.env.example). Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The folder of `.env` and of relative paths. Default: the working directory. */
  readonly cwd?: string;
}

/** An open mirror. It writes nothing to the console and never ends the process. */
export interface OpenedMirror extends AsyncDisposable {
  /** Prisma's typed client for all tables and views, without the operations that write. */
  readonly prisma: ReadOnlyClient;
  /** How current each list is, and whether it is as fresh as its schedule promises. */
  freshness(): Promise<ListFreshness[]>;
  /**
   * The changes, oldest first. To resume without loss or repeat, pass the last `cursor` as `afterId`.
   * @throws MirrorError `USAGE` for a wrong option or an unknown id; `CURSOR_AHEAD` or `OTHER_EPOCH` after a
   *   restored backup
   */
  changes(options?: ChangesOptions): AsyncGenerator<Change, void>;
  /**
   * Brings lists up to date: by the daemon if one holds the mirror, else in this process. It resumes an
   * interrupted pass. It needs the service's address and key in the environment. The passes of a process run
   * in turn.
   * @throws MirrorError with the code of what stopped the pass; `resumeAt`, if the time is known
   */
  sync(options?: PassOptions): Promise<PassResult>;
  /** As `sync`, but reads each list again from its first page, even if sweeps of it are unfinished. */
  resync(options?: ResyncOptions): Promise<PassResult>;
  /** Closes the connection and ends the loops over changes. A pass under way continues. */
  close(): Promise<void>;
}

/**
 * Opens an existing mirror for a program.
 * @param options an address, or {@link OpenOptions}
 * @throws MirrorError `CONFIG` for a wrong address, `USAGE` for wrong options or if it holds no mirror,
 *   `DATABASE` if it cannot be opened or another version of this program has migrated it
 */
export async function openMirror(options: string | OpenOptions = {}): Promise<OpenedMirror> {
  refuseOldNode(process.versions.node);
  const open = typeof options === 'string' ? { address: options } : options;
  refuseWrong('openMirror', OPEN, open);
  const { address, env, cwd = process.cwd() } = open;
  const databaseUrl = urlOf(address, env ?? process.env, cwd);
  const { database, client } = await openForReading(databaseUrl, noMirrorYet);
  const mirror = mirrorOn(database);
  const closing = new AbortController();
  const whileOpen = (): void => {
    if (closing.signal.aborted) throw new MirrorError('USAGE', 'This mirror is closed. Open it again.');
  };
  const pass = async (kind: 'sync' | 'resync', how: ResyncOptions = {}): Promise<PassResult> => {
    whileOpen();
    return await passInOwnSession({ env: env ?? process.env, cwd, databaseUrl }, kind, how);
  };
  const close = async (): Promise<void> => {
    closing.abort();
    await mirror.close();
  };
  return {
    prisma: client,
    async freshness() {
      whileOpen();
      return await readFreshness(client);
    },
    changes(filter = {}) {
      whileOpen();
      return changesOf(mirror, systemClock(), filter, closing.signal);
    },
    sync: (how) => pass('sync', how),
    resync: (how) => pass('resync', how),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The address of the database. Without `address`, that of the environment. @throws MirrorError `CONFIG` */
function urlOf(address: string | undefined, env: NonNullable<OpenOptions['env']>, cwd: string): string {
  const faults: string[] = [];
  const environment = address === undefined ? readEnvironment(env, cwd) : { DATABASE_URL: address };
  const url = readDatabaseUrl(environment, cwd, faults);
  if (faults.length > 0) throw configError(faults);
  return url;
}
