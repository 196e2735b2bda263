import { type Clock, SECOND } from '../../core/clock.ts';
import { isMirrorError, messageOf, MirrorError } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import type { Log } from '../../session/log.ts';

export interface SharedReadOptions<Result, Given> {
  /** Receives the value of the client whose request begins the read. */
  readonly read: (given: Given) => Promise<Result>;
  /** A client waits at most this many ms of real time, whatever `clock` shows. */
  readonly patienceMs: number;
  /** Clients share one result for this many ms; by default a second. */
  readonly sharedMs?: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

/**
 * A read of the database for any number of clients. They share the read that is under way or younger than
 * `sharedMs`, so a slow database does not receive ever more queries. A failure is logged once until a read
 * succeeds.
 * @throws MirrorError `DATABASE` if the read fails or takes too long
 */
export function shareRead<Result, Given = void>({
  read,
  patienceMs,
  sharedMs = SECOND,
  clock,
  log,
}: SharedReadOptions<Result, Given>): (given: Given) => Promise<Result> {
  let latest: { readonly result: Promise<Result>; readonly at: number; done: boolean } | null = null;
  let failing = false;

  function share(given: Given): Promise<Result> {
    const now = clock.monotonic();
    if (latest !== null && (!latest.done || now - latest.at < sharedMs)) return latest.result;
    const current = { result: read(given), at: now, done: false };
    latest = current;
    current.result.then(
      () => (current.done = true),
      () => (latest = null),
    );
    return current.result;
  }

  return async (given) => {
    try {
      const result = await withTimeout(patienceMs, share(given));
      if (failing) log.info('the database answers the endpoints again');
      failing = false;
      return result;
    } catch (error) {
      const cause = messageOf(error);
      if (!failing) log.error({ cause }, 'the database does not answer; the endpoints return 503');
      failing = true;
      if (isMirrorError(error, 'DATABASE')) throw error;
      throw new MirrorError('DATABASE', 'The database cannot be read; the log has the cause.', {
        cause: error,
      });
    }
  };
}

/** @throws MirrorError `DATABASE` if the work takes more than `ms` of real time */
export async function withTimeout<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new MirrorError('DATABASE', `The database has not answered for ${duration(ms)}.`)),
      ms,
    );
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
