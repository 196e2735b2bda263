import type { Output } from './io.ts';

/** Writes, and waits where the reader is slower, so that memory holds little of what it has not taken. Returns early where the signal is aborted. */
export async function writePaced(output: Output, text: string, signal: AbortSignal): Promise<void> {
  const taken = output.write(text);
  if (taken !== false || output.once === undefined || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const goOn = (): void => {
      signal.removeEventListener('abort', goOn);
      resolve();
    };
    output.once?.('drain', goOn);
    signal.addEventListener('abort', goOn);
  });
}
