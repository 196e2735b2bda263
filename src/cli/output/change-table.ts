import stringWidth from 'string-width';
import type { ChangeRecord } from '../../mirror/history/read.ts';
import { changeAsJson } from '../../mirror/mirror.ts';
import { type Output, paint } from '../../session/terminal.ts';
import { renderTable } from './table.ts';

/** The fields of a change, as every format names them. */
export const CHANGE_COLUMNS = [
  'id',
  'observed_at',
  'previously_seen_at',
  'list',
  'inbox_id',
  'item_id',
  'field',
  'old_value',
  'new_value',
] as const;

type Fields = Record<(typeof CHANGE_COLUMNS)[number], string>;

/**
 * Changes for a person, aligned in themselves. On a terminal that is too narrow for nine columns each takes two lines.
 * @param titled whether these are the first ones; what follows has no titles again
 */
export function changeTable(output: Output, changes: readonly ChangeRecord[], titled: boolean): string {
  const rows = changes.map((change) =>
    Object.values(changeAsJson(change)).map((value) => (value === null ? '' : String(value))),
  );
  const titles = CHANGE_COLUMNS.map((title) => ({ title }));
  // The titles set the least widths, in colours or not.
  const plain = renderTable({ write: () => undefined }, titles, rows);
  if (
    output.isTTY === true &&
    Math.max(...plain.split('\n').map((text) => stringWidth(text))) > (output.columns ?? 0)
  )
    return rows.map((row) => onTwoLines(output, row)).join('\n');
  const lines = renderTable(output, titles, rows);
  return titled ? lines : lines.slice(lines.indexOf('\n') + 1);
}

function onTwoLines(output: Output, row: readonly string[]): string {
  const fields = Object.fromEntries(CHANGE_COLUMNS.map((name, index) => [name, row[index] ?? ''])) as Fields;
  // As the log names lists: without a word more, as long ids would not fit into 80 columns. Nor would milliseconds.
  const list = fields.inbox_id === '' ? fields.list : `${fields.list}/${fields.inbox_id}`;
  const values = `${fields.old_value || '(none)'} → ${fields.new_value || '(none)'}`;
  const at = fields.observed_at.replace(/\.\d+Z$/, 'Z');
  return `${paint(output, 'dim', `${fields.id}  ${at}`)}  ${list} ${fields.item_id}\n    ${paint(output, 'bold', fields.field)}  ${values}`;
}
