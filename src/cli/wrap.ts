import { stripVTControlCharacters } from 'node:util';
import { cellsOf } from '../core/cells.ts';
import type { Output } from './io.ts';

/** Less than this is no line to read. */
const LEAST = 20;

/**
 * Breaks lines between words where they are longer than a terminal is wide; elsewhere they stay whole, for programs.
 * @param hanging so many blanks before what a line goes on with
 */
export function wrapped(output: Output, text: string, hanging = 0): string {
  const width = output.isTTY === true ? (output.columns ?? 0) : 0;
  if (width < hanging + LEAST) return text;
  return text
    .split('\n')
    .map((line) => wrapLine(line, width, ' '.repeat(hanging)))
    .join('\n');
}

function wrapLine(line: string, width: number, indent: string): string {
  const lines: string[] = [];
  let current = '';
  // Blanks at a line's begin and between columns belong to it.
  for (const word of line.match(/^ *[^ ]*| +[^ ]+/g) ?? []) {
    if (current !== '' && visible(current) + visible(word) > width) {
      lines.push(current);
      current = indent + word.trimStart();
    } else current += word;
  }
  return [...lines, current].join('\n');
}

function visible(text: string): number {
  return cellsOf(stripVTControlCharacters(text));
}
