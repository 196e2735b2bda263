import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';
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
  /** A sentence for a person instead of JSON; null: JSON. */
  readonly pretty: SentenceOptions | null;
  readonly colour: boolean;
}

/** The log: JSON lines, or sentences on a terminal. Each line is written at once, so a crash loses none. */
export function createLog({ level, secrets, write, pretty: forPeople, colour }: LogOptions): Log {
  const prettify =
    forPeople !== null
      ? pretty.prettyFactory({
          colorize: colour,
          translateTime: 'HH:MM:ss',
          // The sentence has every field.
          ignore: 'pid,hostname',
          hideObject: true,
          messageFormat: (line) => sentenceOf(line, forPeople),
        })
      : null;
  const destination = {
    write(line: string) {
      const clean = secrets().reduce<string>(withoutKey, line);
      write(prettify === null ? clean : prettify(clean));
    },
  };
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: ['*.authorization', '*.headers'] },
    destination,
  );
}
