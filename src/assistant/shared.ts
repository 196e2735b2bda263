/**
 * A read whose result all calls of the next `ms` share: hundreds of calls at once take one connection. A
 * failure is not kept.
 * @param now milliseconds of a clock that is never set back
 */
export function sharedFor<Value>(
  ms: number,
  read: () => Promise<Value>,
  now: () => number = () => performance.now(),
): () => Promise<Value> {
  let shared: Promise<Value> | null = null;
  let until = 0;
  return () => {
    if (shared !== null && now() < until) return shared;
    const begun = read();
    shared = begun;
    until = now() + ms;
    begun.catch(() => {
      if (shared === begun) shared = null;
    });
    return begun;
  };
}
