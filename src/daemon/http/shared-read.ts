import type { Clock } from '../../core/clock.ts';
import { isMirrorError, MirrorError } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import type { Log } from '../../session/log.ts';

/** Whoever asks again so soon gets the same answer. */
const SHARED_MS = 1000;

export interface SharedReadOptions<Result> {
  readonly read: () => Promise<Result>;
  /** Milliseconds of real time that whoever asks waits at most: it is a real client that waits. */
  readonly patienceMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

/**
 * A read of the database for any number of clients: they share the one that is under way or younger than a second, so that a slow
 * database is not asked more and more. Its failure is logged once until it succeeds again.
 * @throws MirrorError `DATABASE` where it fails or takes too long
 */
export function shareRead<Result>({
  read,
  patienceMs,
  clock,
  log,
}: SharedReadOptions<Result>): () => Promise<Result> {
  let latest: { readonly result: Promise<Result>; readonly at: number; done: boolean } | null = null;
  let failing = false;

  function share(): Promise<Result> {
    const now = clock.monotonic();
    if (latest !== null && (!latest.done || now - latest.at < SHARED_MS)) return latest.result;
    const own = { result: read(), at: now, done: false };
    latest = own;
    own.result.then(
      () => (own.done = true),
      () => (latest = null),
    );
    return own.result;
  }

  return async () => {
    try {
      const result = await within(patienceMs, share());
      if (failing) log.info('the database answers the endpoints again');
      failing = false;
      return result;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!failing) log.error({ cause: message }, 'the database does not answer, so the endpoints say 503');
      failing = true;
      if (isMirrorError(error, 'DATABASE')) throw error;
      throw new MirrorError('DATABASE', 'The database cannot be read; the log says why.', { cause: error });
    }
  };
}

/** @throws MirrorError `DATABASE` where the work takes longer */
export async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
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
