/**
 * Settles like `work`, or rejects with the signal's reason as soon as the signal is aborted; `work` itself is not stopped.
 * @param tooLate once this is aborted, an abort of `signal` no longer counts
 */
export async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
  tooLate?: AbortSignal,
): Promise<Result> {
  if (signal === undefined) return await work;
  const done = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const leave = (): void => {
      if (!tooLate?.aborted) reject(signal.reason as Error);
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { signal: done.signal });
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    done.abort();
    work.catch(() => undefined);
  }
}
