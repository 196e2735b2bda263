/** Waits for the work, or until the signal is aborted: then throws its reason, whatever becomes of the work. */
export async function stoppable<Result>(
  signal: AbortSignal | undefined,
  work: Promise<Result>,
): Promise<Result> {
  if (signal === undefined) return await work;
  signal.throwIfAborted();
  let stop: () => void = () => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
    work.catch(() => undefined);
  }
}
/** The promise's outcome, or the signal's reason as soon as it is aborted, unless `tooLate` was aborted before. */
export async function unlessAborted<Result>(
  promise: Promise<Result>,
  signal?: AbortSignal,
  tooLate?: AbortSignal,
): Promise<Result> {
  if (signal === undefined) return await promise;
  const done = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const leave = (): void => {
      if (!tooLate?.aborted) reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { signal: done.signal });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    done.abort();
  }
}
