import { styleText } from 'node:util';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { withoutKey } from '../core/secrets.ts';

/** A stream of text to a person or a file. */
export interface Output {
  write(text: string): unknown;
  /** Where `write` gives false, whoever writes much waits for `drain`. */
  once?(event: 'drain', listener: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** What a command is given of the world around it; tests hand in their own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Aborted with a `STOPPED` error when a person or a signal asks to stop. */
  readonly signal: AbortSignal;
  /** Calls the listener at each SIGHUP, until the function that it returns is called. */
  readonly onHangup?: (listener: () => void) => () => void;
}

/** The two streams that a command prints to. */
export type Streams = Pick<Io, 'stdout' | 'stderr'>;

/** Runs a command's work and keeps its exit code. Heavy parts are imported inside, so that `--help` loads none of them. */
export type Runner = (work: (io: Io) => Promise<number>) => Promise<void>;

type Style = Parameters<typeof styleText>[0];

/** Colours text for this output: only on a terminal, and never against NO_COLOR. */
export function paint(output: Output, style: Style, text: string): string {
  return usesColour(output) ? styleText(style, text, { validateStream: false }) : text;
}

export function usesColour(output: Output): boolean {
  return output.isTTY === true && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb';
}

/** Writes a line with the key put out, should anything ever carry it. */
export function printLine(output: Output, text: string, key: string | null = null): void {
  output.write(`${withoutKey(text, key)}\n`);
}

/** How rows can be printed. */
export const FORMATS = ['table', 'json', 'ndjson', 'csv'] as const;
export type Format = (typeof FORMATS)[number];

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

/** Less than this is no line to read. */
const LEAST = 20;

/**
 * Breaks lines between words where they are longer than a terminal is wide; elsewhere they stay whole, for programs.
 * @param hanging so many characters that a line begins with stand alone before what it says
 */
export function wrapped(output: Output, text: string, hanging = 0): string {
  const width = output.isTTY === true ? (output.columns ?? 0) : 0;
  if (width < hanging + LEAST) return text;
  return text
    .split('\n')
    .map((line) => (stringWidth(line) > width ? wrapLine(line, width, hanging) : line))
    .join('\n');
}

function wrapLine(line: string, width: number, hanging: number): string {
  const alone = Math.max(hanging, line.length - line.trimStart().length);
  // Colours take characters and no room.
  let begin = alone;
  while (begin < line.length && stringWidth(line.slice(0, begin)) < alone) begin += 1;
  const lines = wrapAnsi(line.slice(begin), width - alone).split('\n');
  return line.slice(0, begin) + lines.join(`\n${' '.repeat(hanging)}`);
}
