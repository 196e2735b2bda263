import { randomBytes } from 'node:crypto';
import { styleText } from 'node:util';
import { cellsOf, CONTROLS, HELD_SPACE, inClockTimes, wrapToCells } from '../core/humanize.ts';
import { escapeHidden } from '../core/json.ts';
import { withoutKey } from '../core/secrets.ts';
import { asTyped } from './words/own-command.ts';

/** A text stream to a terminal, a file or a pipe. */
export interface Output {
  write(text: string): unknown;
  /** Calls the listener when the reader has caught up, after `write` has returned false. */
  once?(event: 'drain', listener: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** A command's connection to its process. Tests pass their own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The program's version. */
  readonly version: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** The input of a person who answers questions; absent if no person can. */
  readonly stdin?: NodeJS.ReadableStream & {
    readonly isTTY?: boolean;
    setRawMode?(isRaw: boolean): unknown;
  };
  /** Aborted with a `STOPPED` error when a person or a signal asks to stop. */
  readonly signal: AbortSignal;
  /**
   * Calls the listener at each SIGHUP, until the function that it returns is called. Absent if a SIGHUP ends
   * the program.
   */
  readonly onHangup?: (listener: () => void) => () => void;
}

/** The two streams that a command prints to. */
export type Streams = Pick<Io, 'stdout' | 'stderr'>;

type Style = Parameters<typeof styleText>[0];

/** Colours text if the output shows colours. */
export function paint(output: Output, style: Style, text: string): string {
  return usesColour(output) ? styleText(style, text, { validateStream: false }) : text;
}

/**
 * True for a terminal, unless NO_COLOR is set or the terminal is dumb. It reads the process's environment,
 * because an output has none.
 */
export function usesColour(output: Output): boolean {
  return drawsPictures(output) && !process.env['NO_COLOR'];
}

/** True for a terminal that is not dumb: pictures of characters would only disturb a program or a file. */
export function drawsPictures(output: Output): boolean {
  return output.isTTY === true && process.env['TERM'] !== 'dumb';
}

/** Text of the service cannot guess it, and so it cannot make a link that passes {@link harmless}. */
const LINK_ID = randomBytes(8).toString('hex');
const LINK = String.raw`\u001B\]8;id=${LINK_ID};[\u0021-\u007E]*\u0007`;
const WEB_ADDRESS = /^https?:\/\/[\u0021-\u007E]{1,2000}$/;

/**
 * A text that opens a web page on terminals that know links (OSC 8). Elsewhere, and for any other
 * address, the text alone.
 */
export function linked(output: Output, text: string, address: string | null): string {
  if (address === null || !drawsPictures(output) || !WEB_ADDRESS.test(address)) return text;
  const to = (where: string): string => `\u001B]8;id=${LINK_ID};${where}\u0007`;
  return `${to(address)}${text}${to('')}`;
}

/** The colours and weights of `paint` and of the log. None of them hides a text. */
const STYLE = String.raw`\u001B\[(?:[0-2]|22|3[1-7]|39|4[19]|90)m`;
const STYLE_OR_CONTROL = new RegExp(`${LINK}|${STYLE}|${CONTROLS.source}`, 'gu');

/** A foreign text for a table, on one line. A mark replaces each control character, the colours' included. */
export function asCell(text: string): string {
  return text.replaceAll(/\r?\n/g, '⏎').replaceAll(CONTROLS, '�');
}

/**
 * Text for people: a mark replaces each control character, so that no name or message of the service can
 * instruct the terminal. Line breaks, tabs and the program's own colours and links stay.
 */
export function harmless(output: Output, text: string): string {
  const [mayPaint, mayLink] = [usesColour(output), drawsPictures(output)];
  return text.replaceAll(STYLE_OR_CONTROL, (found) => {
    if (found === '\n' || found === '\t') return found;
    const isOurs = found.length > 1 && (found.startsWith('\u001B]') ? mayLink : mayPaint);
    return isOurs ? found : found.replaceAll(CONTROLS, '�');
  });
}

/** Writes a line for people. If the text contains the key, it is replaced. */
export function printLine(output: Output, text: string, key: string | null = null): void {
  output.write(`${harmless(output, withoutKey(text, key))}\n`);
}

/** Writes JSON for programs. */
export function printJson(output: Output, json: string): void {
  output.write(`${escapeHidden(json)}\n`);
}

/**
 * A text for people. On a terminal its instants are times of day, elsewhere they stay exact.
 * @param now epoch ms
 */
export function withClockTimes(output: Output, text: string, now: number, timezone = 'UTC'): string {
  return output.isTTY === true ? inClockTimes(text, now, timezone) : text;
}

/** Prints `warning: …`, wrapped on a terminal. */
export function printWarning(output: Output, text: string): void {
  printLine(output, wrapped(output, `${paint(output, 'yellow', 'warning:')} ${text}`));
}

/** Prints `failed: …`, wrapped on a terminal. */
export function printFailure(output: Output, text: string): void {
  printLine(output, wrapped(output, `${paint(output, 'red', 'failed:')} ${text}`));
}

/** Text is not wrapped to fewer than this many columns. */
const LEAST_COLUMNS = 20;

/**
 * A text for people: its commands in backticks are as a person types them here. On a terminal it breaks lines
 * that are longer than the terminal is wide, between words, but not inside a command.
 * @param hanging the columns of a line's label; continued lines are indented by as many
 */
export function wrapped(output: Output, text: string, hanging = 0): string {
  const width = output.isTTY === true ? (output.columns ?? 0) : 0;
  const typed = asTyped(text);
  if (width < hanging + LEAST_COLUMNS) return typed;
  return typed
    .split('\n')
    .map((line) => (cellsOf(line) > width ? wrapLine(line, width, hanging) : line))
    .join('\n');
}

function wrapLine(line: string, width: number, hanging: number): string {
  const label = Math.max(hanging, line.length - line.trimStart().length);
  // Colour codes are characters without width.
  let begin = label;
  while (begin < line.length && cellsOf(line.slice(0, begin)) < label) begin += 1;
  const rest = line.slice(begin).replaceAll(/`[^`]+`/g, (command) => command.replaceAll(' ', HELD_SPACE));
  const lines = wrapToCells(rest, width - label).split('\n');
  return line.slice(0, begin) + lines.join(`\n${' '.repeat(hanging)}`);
}
