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
