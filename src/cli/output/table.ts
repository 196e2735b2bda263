import Table from 'cli-table3';
import stringWidth from 'string-width';
import { type Output, paint } from '../../session/terminal.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** The least width, in columns of a terminal. */
  readonly width?: number;
}

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/**
 * Aligned columns under their titles. Foreign text passes `asCell` first.
 * A line break in a cell is shown as ⏎, so that a row is one line.
 */
export function renderTable(
  output: Output,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string {
  const table = new Table({
    head: columns.map(({ title, align, width = 0 }) => {
      const room = ' '.repeat(Math.max(0, width - stringWidth(title)));
      const shown = paint(output, 'bold', title);
      return align === 'right' ? room + shown : shown + room;
    }),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    chars: NO_LINES,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  for (const row of rows) table.push(row.map((cell) => cell.replaceAll(/\r?\n/g, '⏎')));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
