import { createInterface } from 'node:readline/promises';
import { PassThrough, Writable } from 'node:stream';
import { MirrorError } from '../../../core/errors.ts';
import type { Io } from '../../../session/terminal.ts';
import { openKeyboard } from './keyboard.ts';

/** Asks a question on the terminal and returns the trimmed answer. `hidden`: what is typed is not shown. */
export type Ask = (question: string, options?: { hidden?: boolean }) => Promise<string>;

/**
 * The way to ask a person. The caller closes it. Between two questions the terminal shows nothing that is
 * typed: it may be the key. A whole line that was typed then answers the next question, unseen.
 * @returns `signal`: also aborted when the person presses Ctrl-C
 * @throws MirrorError `USAGE` without a terminal; a question throws `STOPPED` at Ctrl-C
 */
export function openQuestions({ stdin, stdout, signal }: Io): {
  ask: Ask;
  signal: AbortSignal;
  close(): void;
} {
  if (stdin?.isTTY !== true || stdout.isTTY !== true)
    throw new MirrorError(
      'USAGE',
      'init asks questions, so it needs a terminal. In a script, copy .env.example to .env and fill it in.',
    );
  const stopped = new AbortController();
  const keyboard = openKeyboard(stdin, () =>
    stopped.abort(new MirrorError('STOPPED', 'Stopped; nothing was written.')),
  );
  const either = AbortSignal.any([signal, stopped.signal]);
  return {
    async ask(question, { hidden = false } = {}) {
      either.throwIfAborted();
      const isUnseen = hidden || keyboard.hasLine();
      // A part of a line may be a part of the key, which readline would show.
      if (!isUnseen) keyboard.forget();
      const input = new PassThrough();
      // A new readline for each question: no key brings an earlier answer or a deleted text back.
      const lines = createInterface({
        input,
        output: isUnseen ? nowhere() : shownOn(stdout),
        terminal: true,
        historySize: 0,
      });
      // A program that Ctrl-Z suspends comes back to a terminal that shows what is typed.
      lines.on('SIGTSTP', () => undefined);
      // Readline clears the line for its own prompt; this one is not cleared.
      if (isUnseen) stdout.write(`${question} `);
      try {
        const answer = lines.question(isUnseen ? '' : `${question} `, { signal: either });
        keyboard.giveTo(input);
        return (await answer).trim();
      } catch (error) {
        either.throwIfAborted();
        throw error;
      } finally {
        keyboard.giveTo(null);
        lines.close();
        // The line break that was typed is not shown either.
        if (isUnseen) stdout.write('\n');
      }
    },
    signal: either,
    close: () => keyboard.close(),
  };
}

function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

function shownOn(stdout: Io['stdout']): Writable {
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      stdout.write(chunk.toString());
      done();
    },
  });
  // With them, readline redraws a prompt that is wider than the terminal in its place.
  return Object.defineProperty(output, 'columns', { get: () => stdout.columns });
}
