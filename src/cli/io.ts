import { styleText } from 'node:util';
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
