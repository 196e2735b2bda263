import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { MirrorError } from '../../../core/errors.ts';
import type { Io } from '../../../session/terminal.ts';

/** Asks a question on the terminal and returns the trimmed answer. `hidden`: what is typed is not shown. */
export type Ask = (question: string, options?: { hidden?: boolean }) => Promise<string>;

/**
 * The way to ask a person. The caller closes it.
 * @throws MirrorError `USAGE` without a terminal; a question throws `STOPPED` at Ctrl-C
 */
export function openQuestions({ stdin, stdout, signal }: Io): { ask: Ask; close(): void } {
  if (stdin?.isTTY !== true || stdout.isTTY !== true)
    throw new MirrorError(
      'USAGE',
      'init asks questions, so it needs a terminal. In a script, copy .env.example to .env and fill it in.',
    );
  let isHidden = false;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isHidden) stdout.write(chunk.toString());
      done();
    },
  });
  // With them, readline redraws a prompt that is wider than the terminal in its place.
  Object.defineProperty(output, 'columns', { get: () => (stdout as { columns?: number }).columns });
  const lines = createInterface({ input: stdin, output, terminal: true });
  const stopped = new AbortController();
  const stop = (): void => stopped.abort(new MirrorError('STOPPED', 'Stopped; nothing was written.'));
  lines.on('SIGINT', stop);
  lines.on('close', stop);
  const either = AbortSignal.any([signal, stopped.signal]);
  return {
    async ask(question, { hidden = false } = {}) {
      either.throwIfAborted();
      // Readline clears the line for its own prompt; a hidden one is not cleared either.
      if (hidden) stdout.write(`${question} `);
      isHidden = hidden;
      try {
        return (await lines.question(hidden ? '' : `${question} `, { signal: either })).trim();
      } catch (error) {
        either.throwIfAborted();
        throw error;
      } finally {
        isHidden = false;
        // The line break that was typed is hidden too.
        if (hidden) stdout.write('\n');
      }
    },
    close: () => lines.close(),
  };
}
