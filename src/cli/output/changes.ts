import { escapeHidden } from '../../core/json.ts';
import { asNdjson, namedChangeAsJson } from '../../mirror/mirror.ts';
import type { NamedChange } from '../../mirror/items/names.ts';
import { harmless, type Io, printLine } from '../../session/terminal.ts';
import type { Format } from '../options.ts';
import { asCsv } from './cells.ts';
import { ChangeTable } from './change-table.ts';
import { writePaced } from './paced.ts';

/** Prints changes in batches. `print` waits until the reader of the output accepts more. */
export interface ChangePrinter {
  print(changes: readonly NamedChange[]): Promise<void>;
  /** Prints the end of the format, or its form of an empty result. */
  end(): Promise<void>;
}

/** The names of a change's fields in JSON and CSV. */
const COLUMNS = [
  'id',
  'observed_at',
  'previously_seen_at',
  'list',
  'inbox_id',
  'item_id',
  'field',
  'old_value',
  'new_value',
  'cursor',
  'inbox',
  'item',
  'old_name',
  'new_name',
  'permalink',
  'item_values',
  'item_names',
] as const;

/** The form of the output. */
export interface ChangeForm {
  readonly format: Format;
  readonly raw: boolean;
  /** With `--follow`, the mirror's inboxes: a table's titles come before its first change. Else null. */
  readonly following: readonly { id: string; name: string | null }[] | null;
}

export function changePrinter(
  { stdout: output, signal }: Io,
  { format, raw, following }: ChangeForm,
): ChangePrinter {
  let printed = 0;
  const csv = { raw, onTerminal: output.isTTY === true };
  const table = new ChangeTable(output, following);
  const begin = (first: string, other: string): string => (printed === 0 ? first : other);
  const forms: Record<Format, (changes: readonly NamedChange[]) => string> = {
    ndjson: (changes) => escapeHidden(asNdjson(changes)),
    csv: (changes) => begin(asCsv([COLUMNS], csv), '') + asCsv(changes.map(rowOf), csv),
    json: (changes) =>
      begin('[\n  ', ',\n  ') +
      changes.map((change) => escapeHidden(JSON.stringify(namedChangeAsJson(change)))).join(',\n  '),
    table: (changes) =>
      harmless(output, table.render(telling(changes), { titled: printed === 0 && following === null })),
  };
  if (format === 'table' && following !== null)
    output.write(harmless(output, table.render([], { titled: true })));
  return {
    async print(changes) {
      if (changes.length === 0) return;
      const text = forms[format](changes);
      printed += changes.length;
      await writePaced(output, text, signal);
    },
    async end() {
      if (format === 'json') output.write(printed === 0 ? '[]\n' : '\n]\n');
      else if (printed === 0 && format === 'csv') output.write(asCsv([COLUMNS], csv));
      else if (printed === 0 && format === 'table' && following === null) printLine(output, '(no changes)');
    },
  };
}

function rowOf(change: NamedChange): (string | number | null)[] {
  const fields = namedChangeAsJson(change);
  return COLUMNS.map((name) => {
    const value = fields[name] ?? null;
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
  });
}

/** Leaves out the kind of an assignee who changed at the same moment: the assignee's name says all. */
function telling(changes: readonly NamedChange[]): readonly NamedChange[] {
  const keyOf = ({ list, inboxId, itemId, observedAt }: NamedChange): string =>
    JSON.stringify([list, inboxId, itemId, observedAt]);
  const assigned = new Set(changes.filter(({ field }) => field === 'assignee_id').map(keyOf));
  return changes.filter((change) => change.field !== 'assignee_type' || !assigned.has(keyOf(change)));
}
