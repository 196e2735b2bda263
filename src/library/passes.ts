import { unlessAborted } from '../core/abortable.ts';
import { MirrorError } from '../core/errors.ts';
import { accessId } from '../core/secrets.ts';
import { LIST_NAMES, type ListName } from '../core/lists.ts';
import { serialQueue } from '../database/adapter.ts';
import { isCancelled } from '../mirror/mirror.ts';
import type { PassSpec } from '../mirror/passes/passes.ts';
import { type Session, withSession } from '../session/session.ts';
import type { Io, Output } from '../session/terminal.ts';
import { programVersion } from '../session/version.ts';
import { isComplete, type ListReport } from '../sync/events.ts';
import {
  byDaemonOrHere,
  type EndedPass,
  endedPassOf,
  isForThisKey,
  passHere,
} from './pass/daemon-or-here.ts';
import { RESYNC, refuseWrong, SYNC } from './options.ts';
import { followOrder } from './pass/follow.ts';

export interface PassOptions {
  /** Default: all four kinds. */
  readonly lists?: readonly ListName[];
  /** Only the lists of this inbox. Default: of all inboxes. */
  readonly inboxId?: string;
  /** Stops a pass in this process after its page, or stops following one of the daemon: `STOPPED`. */
  readonly signal?: AbortSignal;
}

export interface ResyncOptions extends PassOptions {
  /** Deletes the rows that are missing now, if the service still does not list them. */
  readonly acceptDeletes?: boolean;
  /** The mirror changes to the account that the service shows. */
  readonly acceptAccount?: boolean;
}

/** How one list of a pass ended. */
export interface ListResult extends Omit<ListReport, 'key' | 'items' | 'error'> {
  readonly list: ListName;
  readonly inboxId: string | null;
  /** Rows that the service listed. */
  readonly rows: number;
  readonly error: Error | null;
}

export interface PassResult {
  /** True if every list is complete. */
  readonly complete: boolean;
  /** True if it resumed an interrupted pass. */
  readonly resumed: boolean;
  /** Requests sent to the service. */
  readonly requests: number;
  readonly milliseconds: number;
  /** The number of the order if a daemon did the pass, else null. */
  readonly order: number | null;
  readonly lists: readonly ListResult[];
}

/**
 * The passes of this process on each mirror run in turn. On SQLite a second writer in one process would block
 * it while it waits for the lock, and so keep the first writer from releasing that.
 */
const queues = new Map<string, ReturnType<typeof serialQueue>>();

/** Runs one pass in a session of its own. @throws MirrorError if the pass stopped before its end */
export async function passInOwnSession(
  { env, cwd, databaseUrl }: Pick<Io, 'env' | 'cwd'> & { readonly databaseUrl: string },
  kind: PassSpec['kind'],
  options: ResyncOptions,
): Promise<PassResult> {
  refuseWrong(kind, kind === 'sync' ? SYNC : RESYNC, options);
  const { lists = LIST_NAMES, inboxId = null, acceptDeletes = false, acceptAccount = false } = options;
  const consent = { acceptDeletes, acceptAccount };
  const spec = { kind, lists, inboxId, ...consent, requestedBy: `inbox-mirror library: ${kind}` };
  const { signal, release } = stopOf(options.signal);
  const version = programVersion();
  const address = { DATABASE_URL: databaseUrl, DATABASE_URL_FILE: undefined };
  const settings = { ...env, ...address, LOG_LEVEL: 'silent' };
  const io = { env: settings, cwd, stdout: NOWHERE, stderr: NOWHERE, signal, version };
  const inTurn = queues.get(databaseUrl) ?? serialQueue();
  queues.set(databaseUrl, inTurn);
  let hasBegun = false;
  const turn = inTurn(async () => {
    signal.throwIfAborted();
    hasBegun = true;
    const run = (session: Session): Promise<EndedPass> => passByDaemonOrHere(session, spec, signal);
    return await withSession(io, run, { unattended: true, waitsForBudget: true });
  });
  try {
    return resultOf(await unlessAborted(turn, signal, () => hasBegun));
  } finally {
    release();
  }
}

/** The session's log lines and warnings go here: a library prints nothing. */
const NOWHERE: Output = { write: () => undefined };

/** The caller's signal, with a known error for its reason. `release`: it may outlive many passes. */
function stopOf(signal: AbortSignal | undefined): { signal: AbortSignal; release: () => void } {
  const stop = new AbortController();
  const abort = (): void =>
    stop.abort(new MirrorError('STOPPED', 'Stopped by its signal.', { cause: signal?.reason }));
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return { signal: stop.signal, release: () => signal?.removeEventListener('abort', abort) };
}

async function passByDaemonOrHere(session: Session, spec: PassSpec, signal: AbortSignal): Promise<EndedPass> {
  return await byDaemonOrHere(session, {
    byDaemon: () => passByDaemon(session, spec, signal),
    here: () => passHere(session, spec, { onEvent: ignore }),
  });
}

/** @throws MirrorError `STOPPED` if a person cancelled the order. @throws Error if the daemon gave it up */
async function passByDaemon(
  session: Session,
  spec: PassSpec,
  signal: AbortSignal,
): Promise<EndedPass | null> {
  const { mirror, clock, config } = session;
  const placed = await mirror.orders.place(spec, clock.now(), accessId(session.access()));
  const deps = { mirror, clock, signal, budget: config.budget };
  const followed = await followOrder({ ...deps, onEvent: ignore, note: ignore, print: ignore }, placed);
  if (followed.kind === 'not-begun') return null;
  const ended = await endedPassOf(session, followed);
  if (await isForThisKey(session, ended, signal)) return null;
  const { givenUp } = ended;
  if (givenUp === null || ended.report.stopped !== null) return ended;
  throw isCancelled(followed.order) ? new MirrorError('STOPPED', givenUp) : new Error(givenUp);
}

function ignore(): void {}

/** @throws what stopped the pass */
function resultOf({ report, cost, order }: EndedPass): PassResult {
  if (report.stopped !== null) throw report.stopped;
  return {
    complete: report.lists.every(isComplete),
    resumed: report.pass.resumed,
    ...cost,
    order,
    lists: report.lists.map(({ key, items, error, ...list }) => ({
      ...list,
      ...key,
      rows: items,
      error: error instanceof Error ? error : null,
    })),
  };
}
