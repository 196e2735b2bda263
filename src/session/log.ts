import pino, { type Logger } from 'pino';
import { withoutKey } from '../core/secrets.ts';
import type { LogLevel } from './config/config.ts';
import { type SentenceOptions, sentenceOf } from './words/sentence.ts';

export type Log = Logger;

export interface LogOptions {
  readonly level: LogLevel;
  /** The secrets that are removed from every line. */
  readonly secrets: () => readonly string[];
  /** Receives whole lines. */
  readonly write: (line: string) => void;
  /** Makes a sentence for a person of a line of JSON; null: JSON. */
  readonly prettify: Prettify | null;
}

type Prettify = (line: string) => string;

/** Loads what makes sentences. A service's log, which is JSON, does without it. */
export async function loadPrettify(options: SentenceOptions, colour: boolean): Promise<Prettify> {
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({
    colorize: colour,
    translateTime: 'HH:MM:ss',
    // The sentence has every field.
    ignore: 'pid,hostname',
    hideObject: true,
    messageFormat: (line) => sentenceOf(line, options),
  });
}

/**
 * The log: JSON lines, or sentences on a terminal. Each line is written at once, so a crash loses none. A
 * line of which no sentence can be made is written as JSON: no text of the service may end what logs it.
 */
export function createLog({ level, secrets, write, prettify }: LogOptions): Log {
  const destination = {
    write(line: string) {
      const clean = secrets().reduce<string>(withoutKey, line);
      write(prettify === null ? clean : prettified(clean, prettify));
    },
  };
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: ['*.authorization', '*.headers'] },
    destination,
  );
}

function prettified(line: string, prettify: Prettify): string {
  try {
    return prettify(line);
  } catch {
    return line;
  }
}
