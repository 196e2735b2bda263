import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import type { Output } from './io.ts';

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
