import type { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Io } from '../../../session/terminal.ts';

/** Keeps what a person types until a question takes it. The terminal itself shows nothing of it. */
export interface Keyboard {
  /** True if a whole line waits for a question. */
  hasLine(): boolean;
  /** Drops what no question has taken. */
  forget(): void;
  /** Gives a question line after line of what is typed; null ends that. */
  giveTo(question: Writable | null): void;
  close(): void;
}

/** Ctrl-C and Ctrl-D. In raw mode the terminal makes no signal of Ctrl-C. */
const STOP = ['\u0003', '\u0004'];

/** Up to the end of the first line. */
const LINE = /^[^\r\n]*(?:\r\n|[\r\n])?/;

/** @param onStop called when the person presses Ctrl-C or Ctrl-D, or the terminal ends */
export function openKeyboard(stdin: NonNullable<Io['stdin']>, onStop: () => void): Keyboard {
  const decoder = new StringDecoder();
  let typed = '';
  let question: Writable | null = null;
  const give = (): void => {
    if (question === null || typed === '') return;
    const [line = ''] = LINE.exec(typed) ?? [];
    typed = typed.slice(line.length);
    question.write(line);
    // Only once readline has read this line it is known whether the question is answered.
    setImmediate(give);
  };
  const take = (chunk: Buffer | string): void => {
    typed += typeof chunk === 'string' ? chunk : decoder.write(chunk);
    if (STOP.some((key) => typed.includes(key))) onStop();
    else give();
  };
  stdin.setRawMode?.(true);
  stdin.on('data', take);
  stdin.on('end', onStop);
  return {
    hasLine: () => /[\r\n]/.test(typed),
    forget() {
      typed = '';
    },
    giveTo(next) {
      question = next;
      give();
    },
    close() {
      stdin.off('data', take);
      stdin.off('end', onStop);
      stdin.setRawMode?.(false);
      stdin.pause();
    },
  };
}
