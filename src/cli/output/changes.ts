import type { ChangeRecord } from '../../mirror/history/read.ts';
import { asNdjson, changeAsJson } from '../../mirror/mirror.ts';
import { asHarmlessJson, type Io, printLine } from '../../session/terminal.ts';
import type { Format } from '../options.ts';
import { asCsv } from './cells.ts';
import { CHANGE_COLUMNS, changeTable } from './change-table.ts';
import { writePaced } from './paced.ts';

/** Prints changes in batches. `print` waits until the reader of the output accepts more. */
export interface ChangePrinter {
  print(changes: readonly ChangeRecord[]): Promise<void>;
  /** Prints the end of the format, or its form of an empty result. */
  end(): Promise<void>;
}

export function changePrinter({ stdout: output, signal }: Io, format: Format, raw: boolean): ChangePrinter {
  let printed = 0;
  const csv = { raw, onTerminal: output.isTTY === true };
  const begin = (first: string, other: string): string => (printed === 0 ? first : other);
  const forms: Record<Format, (changes: readonly ChangeRecord[]) => string> = {
    ndjson: (changes) => asHarmlessJson(asNdjson(changes)),
    csv: (changes) =>
      begin(asCsv([CHANGE_COLUMNS], csv), '') +
      asCsv(
        changes.map((change) => Object.values(changeAsJson(change))),
        csv,
      ),
    json: (changes) =>
      begin('[\n  ', ',\n  ') +
      changes.map((change) => asHarmlessJson(JSON.stringify(changeAsJson(change)))).join(',\n  '),
    table: (changes) => `${changeTable(output, changes, printed === 0)}\n`,
  };
  return {
    async print(changes) {
      if (changes.length === 0) return;
      const text = forms[format](changes);
      printed += changes.length;
      await writePaced(output, text, signal);
    },
    async end() {
      if (format === 'json') output.write(printed === 0 ? '[]\n' : '\n]\n');
      else if (printed === 0 && format === 'csv') output.write(asCsv([CHANGE_COLUMNS], csv));
      else if (printed === 0 && format === 'table') printLine(output, '(no changes)');
    },
  };
}
