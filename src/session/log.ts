import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';
import { withoutKey } from '../core/secrets.ts';
import type { LogLevel } from './config/config.ts';

export type Log = Logger;

export interface LogOptions {
  readonly level: LogLevel;
  /** The secrets that are removed from every line. */
  readonly secrets: () => readonly string[];
  /** Receives whole lines. */
  readonly write: (line: string) => void;
  /** A sentence for a person instead of JSON. */
  readonly pretty: boolean;
  readonly colour: boolean;
}

/** Fields that most lines have. On a terminal the sentence has them, without zeros (except of `rows`). */
const COUNTS = ['rows', 'inserted', 'changed', 'deleted', 'rejected', 'suspects'];
const IN_SENTENCE = ['list', 'cause', ...COUNTS];

function sentenceOf(line: Record<string, unknown>): string {
  const { msg, list, cause } = line as Readonly<Record<string, string | undefined>>;
  const named = list === undefined || line['inserted'] !== undefined ? '' : ` (${list})`;
  const counts = COUNTS.filter((name) => line[name] !== undefined && (line[name] !== 0 || name === 'rows'));
  const counted = counts
    .map((name) => `${String(line[name])} ${name === 'suspects' ? 'not listed' : name}`)
    .join(', ');
  return `${msg ?? ''}${named}${counted && `: ${counted}`}${cause === undefined ? '' : `: ${cause}`}`;
}

/** The log: JSON lines, or sentences on a terminal. Each line is written at once, so a crash loses none. */
export function createLog({ level, secrets, write, pretty: forPeople, colour }: LogOptions): Log {
  const prettify = forPeople
    ? pretty.prettyFactory({
        colorize: colour,
        translateTime: 'HH:MM:ss',
        ignore: ['pid', 'hostname', ...IN_SENTENCE].join(','),
        messageFormat: sentenceOf,
        singleLine: true,
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
