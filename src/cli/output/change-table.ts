import stringWidth from 'string-width';
import type { ChangeRecord } from '../../mirror/history/read.ts';
import { changeAsJson } from '../../mirror/mirror.ts';
import { asCell, type Output, paint } from '../../session/terminal.ts';
import { renderTable } from './table.ts';

/** The names of a change's fields in a table; the other formats also have the cursor. */
const TABLE_COLUMNS = [
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

/** The names of a change's fields in JSON and CSV. */
export const CHANGE_COLUMNS = [...TABLE_COLUMNS, 'cursor'] as const;

type Fields = Record<(typeof TABLE_COLUMNS)[number], string>;

/**
 * Changes as an aligned table. On a terminal too narrow for nine columns, each change fills two lines.
 * @param titled whether to print the column titles: only above the first changes
 */
export function changeTable(output: Output, changes: readonly ChangeRecord[], titled: boolean): string {
  const rows = changes.map((change) => {
    const fields = changeAsJson(change);
    return TABLE_COLUMNS.map((name) => fields[name] ?? null).map((value) =>
      value === null ? '' : asCell(String(value)),
    );
  });
  const titles = TABLE_COLUMNS.map((title) => ({ title }));
  // Measure without colours.
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
  const fields = Object.fromEntries(TABLE_COLUMNS.map((name, index) => [name, row[index] ?? ''])) as Fields;
  // Ids are long: short list names and whole seconds make the line fit into 80 columns.
  const list = fields.inbox_id === '' ? fields.list : `${fields.list}/${fields.inbox_id}`;
  const values = `${fields.old_value || '(none)'} → ${fields.new_value || '(none)'}`;
  const at = fields.observed_at.replace(/\.\d+Z$/, 'Z');
  const head = `${paint(output, 'dim', `${fields.id}  ${at}`)}  ${list} ${fields.item_id}`;
  return `${head}\n    ${paint(output, 'bold', fields.field)}  ${values}`;
}
