import { systemClock } from '../session/clock.ts';
import { readConfig } from '../session/config/config.ts';
import { readEnvironment } from '../session/config/environment.ts';
import { openForReading, type ReadOnlyClient } from '../database/read-only.ts';
import { openMirror as mirrorOn } from '../mirror/mirror.ts';
import { openReadOnly } from '../query/open.ts';
import { type Change, changesOf, type ChangesOptions } from './changes.ts';
import { type ListFreshness, readFreshness } from './freshness.ts';
import { type PassOptions, type PassResult, runPassFor } from './passes.ts';

export { type ErrorCode, isMirrorError, MirrorError } from '../core/errors.ts';
export type { ListName } from '../core/lists.ts';
export type { Prisma, ReadOnlyClient } from '../database/read-only.ts';
export type { PassEvent } from '../sync/events.ts';
export type { Change, ChangesOptions } from './changes.ts';
export type { ListFreshness } from './freshness.ts';
export type { ListResult, PassOptions, PassResult } from './passes.ts';

export interface OpenOptions {
  /** The environment (.env.example). Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The folder of `.env` and of relative paths. Default: the working directory. */
  readonly cwd?: string;
}

/** An open mirror. It writes nothing to the console, never ends the process, and throws MirrorError. */
export interface OpenedMirror extends AsyncDisposable {
  /** Prisma's typed client for all tables and views, without the operations that write. */
  readonly prisma: ReadOnlyClient;
  /** How current each list is, and whether it is as fresh as its schedule promises. */
  freshness(): Promise<ListFreshness[]>;
  /** The changes, oldest first. To resume without loss or repeat, pass the last `id` as `afterId`. */
  changes(options?: ChangesOptions): AsyncGenerator<Change, void>;
  /**
   * Brings lists up to date: by the daemon if one holds the mirror, else in this process. An interrupted one
   * is resumed. It needs the service's address and key in the environment.
   * @throws MirrorError with the code of what stopped it; `resumeAt` says when to try again
   */
  sync(options?: PassOptions): Promise<PassResult>;
  /** As `sync`, but reads each list again from its first page, even if sweeps of it are unfinished. */
  resync(options?: PassOptions & { readonly acceptDeletes?: boolean }): Promise<PassResult>;
  close(): Promise<void>;
}

/**
 * Opens an existing mirror for a program.
 * @param address `file:…` or `postgresql://…`. Default: `DATABASE_URL` of the environment or of `.env`
 * @throws MirrorError `CONFIG` for a wrong address, `USAGE` if there is no mirror yet, `DATABASE` if it
 *   cannot be opened or another version of this program has made it
 */
export async function openMirror(address?: string, options: OpenOptions = {}): Promise<OpenedMirror> {
  const cwd = options.cwd ?? process.cwd();
  const env = {
    ...(options.env ?? process.env),
    ...(address === undefined ? {} : { DATABASE_URL: address }),
  };
  const { databaseUrl } = readConfig(readEnvironment(env, cwd), cwd, { service: false });
  // The message for a missing mirror and for one of a newer program.
  await (await openReadOnly(databaseUrl)).close();
  const { database, client } = await openForReading(databaseUrl);
  const mirror = mirrorOn(database);
  const surroundings = { env: { ...env, DATABASE_URL: databaseUrl }, cwd };
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= mirror.close());
  return {
    prisma: client,
    freshness: () => readFreshness(client),
    changes: (filter = {}) => changesOf(mirror.history, systemClock(), filter),
    sync: (pass = {}) => runPassFor(surroundings, 'sync', pass),
    resync: (pass = {}) => runPassFor(surroundings, 'resync', pass),
    close,
    [Symbol.asyncDispose]: close,
  };
}
