/**
 * Settles like `work`, or rejects with the signal's reason if the signal is aborted first; `work` continues.
 * @param isTooLate if it returns true, an abort of `signal` is ignored
 */
export async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
  isTooLate: () => boolean = () => false,
): Promise<Result> {
  if (signal === undefined) return await work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    if (!isTooLate()) reject(signal.reason as Error);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([aborted, work]);
  } finally {
    // Not by a second signal: to abort one makes an exception with its stack, for every request.
    signal.removeEventListener('abort', onAbort);
    work.catch(() => undefined);
  }
}

/** At most this many interim answers (HTTP 1xx) before an answer: a server may send them without end. */
const MOST_INTERIM = 20;

/** Calls `cut` with an error if a request gets more interim answers than a server has reason to send. */
export function limitInterim(
  request: { on: (event: 'information', listener: () => void) => unknown },
  cut: (error: Error) => void,
): void {
  let interim = 0;
  request.on('information', () => {
    interim += 1;
    if (interim !== MOST_INTERIM + 1) return;
    const error = new Error(`the server sent more than ${MOST_INTERIM} interim answers and was cut off`);
    cut(Object.assign(error, { code: 'INTERIM_ANSWERS' }));
  });
}
