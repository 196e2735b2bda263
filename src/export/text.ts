import type { FileHandle } from 'node:fs/promises';
import { asJson, asText, withoutFormula } from '../query/cells.ts';
import type { ValueKind } from '../query/reads/relation.ts';
import { AT_ONCE, type Cell, charactersOf } from '../query/result.ts';
import type { FileColumn } from './columns.ts';
import type { Encoder } from './encoder.ts';

/** Characters are gathered up to about this many for each write: a write is slow. */
const WRITTEN_AT_ONCE = 256 * 1024;

/** Cells in quotes: those that RFC 4180 requires, and those of `QUOTED_IN_CSV`. */
const QUOTED = /^$|["\r\n,;\t]/;

/**
 * A header line, then rows. NULL is an empty cell and empty text is `""`. The result is that of
 * csv-stringify, which takes three times as long.
 */
export function csvEncoder(file: FileHandle, columns: readonly FileColumn[], raw: boolean): Encoder {
  const quoted = (text: string): string => (QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const written = (cell: Cell, index: number): string => {
    const plain = normal(cell, columns[index]?.kind);
    if (plain === null) return '';
    const text = asText(plain);
    return quoted(raw || typeof plain !== 'string' ? text : withoutFormula(text));
  };
  const head = columns.map(({ name }) => quoted(name)).join(',');
  return textEncoder(file, `${head}\n`, (rows) =>
    rows.map((row) => `${row.map(written).join(',')}\n`).join(''),
  );
}

/** A JSON object a line. A JSON column is JSON with every digit. */
export function ndjsonEncoder(file: FileHandle, columns: readonly FileColumn[]): Encoder {
  const keys = columns.map(({ name }) => `${JSON.stringify(name)}:`);
  const field = (cell: Cell, index: number): string => {
    const kind = columns[index]?.kind;
    // It is JSON already; to parse it would cost most of the time.
    if (kind === 'json' && typeof cell === 'string') return keys[index] + cell.replaceAll(/[\r\n]/g, ' ');
    return keys[index] + JSON.stringify(asJson(normal(cell, kind), false));
  };
  return textEncoder(file, '', (rows) => rows.map((row) => `{${row.map(field).join(',')}}\n`).join(''));
}

function textEncoder(file: FileHandle, head: string, asLines: (rows: Cell[][]) => string): Encoder {
  let text = head;
  let rows: Cell[][] = [];
  let characters = 0;
  const gather = (): void => {
    if (rows.length > 0) text += asLines(rows);
    rows = [];
    characters = 0;
  };
  const write = async (): Promise<void> => {
    await file.writeFile(text);
    text = '';
  };
  return {
    add(row) {
      rows.push(row);
      characters += charactersOf(row);
      if (rows.length < AT_ONCE.rows && characters < AT_ONCE.characters) return null;
      gather();
      return text.length >= WRITTEN_AT_ONCE ? write() : null;
    },
    async end() {
      gather();
      await write();
    },
  };
}

/** A value in the one form for both databases: instants end in `Z`, and booleans are booleans. */
function normal(cell: Cell, kind: ValueKind | undefined): Cell {
  if (kind === 'boolean' && typeof cell === 'number') return cell !== 0;
  if (kind === 'integer' && typeof cell === 'number') return Math.floor(cell);
  return kind === 'instant' && typeof cell === 'string' ? cell.replace(/\+00:00$/, 'Z') : cell;
}
