import type { Output } from '../../session/terminal.ts';

/** Writes, and waits for a slower reader to save memory. An abort of the signal ends the wait. */
export async function writePaced(output: Output, text: string, signal: AbortSignal): Promise<void> {
  const accepted = output.write(text);
  if (accepted !== false || output.once === undefined || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      signal.removeEventListener('abort', finish);
      resolve();
    };
    output.once?.('drain', finish);
    signal.addEventListener('abort', finish);
  });
}
