import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';
import { withoutKey } from '../core/secrets.ts';
import type { LogLevel } from './config/config.ts';

export type Log = Logger;

export interface LogOptions {
  readonly level: LogLevel;
  /** Put out of every line, whatever part of it holds one. */
  readonly keys: () => readonly string[];
  /** Where whole lines go. */
  readonly write: (line: string) => void;
  /** Words and colours for a person instead of JSON. */
  readonly pretty: boolean;
  readonly colour: boolean;
}

/** The fields of most lines; on a terminal they go into the sentence, where nothing (0) is not worth a word. */
const COUNTS = ['rows', 'inserted', 'changed', 'deleted', 'rejected', 'suspects'];
const IN_WORDS = ['list', 'cause', ...COUNTS];

function inWords(line: Record<string, unknown>): string {
  const { msg, list, cause } = line as Readonly<Record<string, string | undefined>>;
  const named = list === undefined || line['inserted'] !== undefined ? '' : ` (${list})`;
  const counts = COUNTS.filter((name) => line[name] !== undefined && (line[name] !== 0 || name === 'rows'));
  const counted = counts
    .map((name) => `${String(line[name])} ${name === 'suspects' ? 'not listed' : name}`)
    .join(', ');
  return `${msg ?? ''}${named}${counted && `: ${counted}`}${cause === undefined ? '' : `: ${cause}`}`;
}

/** The program's log: JSON lines, or a person's lines on a terminal. Lines are written at once, so a crash loses none. */
export function createLog({ level, keys, write, pretty: forPeople, colour }: LogOptions): Log {
  const prettify = forPeople
    ? pretty.prettyFactory({
        colorize: colour,
        translateTime: 'HH:MM:ss',
        ignore: ['pid', 'hostname', ...IN_WORDS].join(','),
        messageFormat: inWords,
        singleLine: true,
      })
    : null;
  const destination = {
    write(line: string) {
      const clean = keys().reduce<string>(withoutKey, line);
      write(prettify === null ? clean : prettify(clean));
    },
  };
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: ['*.authorization', '*.headers'] },
    destination,
  );
}
