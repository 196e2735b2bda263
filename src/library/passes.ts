import { LIST_NAMES, type ListName } from '../core/lists.ts';
import type { PassSpec } from '../mirror/passes/passes.ts';
import { openSession, type Session } from '../session/session.ts';
import type { Io, Output } from '../session/terminal.ts';
import { programVersion } from '../session/version.ts';
import { isComplete, type ListReport, type PassEvent } from '../sync/events.ts';
import { eitherWay, type EndedPass, endedPassOf, passHere } from './pass/either-way.ts';
import { followOrder } from './pass/follow.ts';

export interface PassOptions {
  /** Default: all four kinds. */
  readonly lists?: readonly ListName[];
  /** Only the lists of this inbox. Default: of all inboxes. */
  readonly inboxId?: string;
  /** Stops a pass in this process after its page, or stops following one of the daemon. */
  readonly signal?: AbortSignal;
  /** Called for each event of the pass. It must not throw. */
  readonly onEvent?: (event: PassEvent) => void;
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

/** Runs one pass in a session of its own. @throws MirrorError if the pass stopped before its end */
export async function runPassFor(
  { env, cwd }: Pick<Io, 'env' | 'cwd'>,
  kind: PassSpec['kind'],
  options: PassOptions & { readonly acceptDeletes?: boolean },
): Promise<PassResult> {
  const { lists = LIST_NAMES, inboxId = null, acceptDeletes = false } = options;
  const { signal = new AbortController().signal, onEvent = () => undefined } = options;
  const streams = { stdout: NOWHERE, stderr: NOWHERE };
  const io = { env: { ...env, LOG_LEVEL: 'silent' }, cwd, ...streams, signal, version: programVersion() };
  const session = await openSession(io, { unattended: true });
  try {
    const spec = { kind, lists, inboxId, acceptDeletes, requestedBy: `inbox-mirror library: ${kind}` };
    const ended = await eitherWay(session, {
      byDaemon: () => passByDaemon(session, spec, { signal, onEvent }),
      here: () => passHere(session, spec, { onEvent }),
    });
    if (ended.report.stopped !== null) throw ended.report.stopped;
    return resultOf(ended);
  } finally {
    await session.close();
  }
}

/** The session's log lines and warnings go here: a library prints nothing. */
const NOWHERE: Output = { write: () => undefined };

async function passByDaemon(
  session: Session,
  spec: PassSpec,
  { signal, onEvent }: { signal: AbortSignal; onEvent: (event: PassEvent) => void },
): Promise<EndedPass | null> {
  const { mirror, clock, config } = session;
  const placed = await mirror.orders.place(spec, clock.now());
  const ignore = (): void => undefined;
  const followed = await followOrder(
    { mirror, clock, signal, budget: config.budget, onEvent, note: ignore, print: ignore },
    placed,
  );
  return followed.kind === 'not-begun' ? null : await endedPassOf(session, followed);
}

function resultOf({ report, cost, order }: EndedPass): PassResult {
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
