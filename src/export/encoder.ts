import type { FileHandle } from 'node:fs/promises';
import type { Cell } from '../query/result.ts';
import type { FileColumn } from './columns.ts';

/** A file that is written from its beginning to its end. */
export type Sink = Pick<FileHandle, 'writeFile'>;

/** Writes rows to an open file, with little of them in memory. */
export interface Encoder {
  /** Null unless the caller has to wait: a promise for each row would cost as much as the row. */
  add(row: Cell[]): Promise<void> | null;
  /** Writes what is left. The file stays open. */
  end(): Promise<void>;
}

export interface EncoderOptions {
  /** CSV without the apostrophe before cells that a spreadsheet would run. */
  readonly raw: boolean;
}

/** The forms of a file. */
export type Format = 'parquet' | 'csv' | 'ndjson';

export async function openEncoder(
  format: Format,
  file: FileHandle,
  { table, columns, raw }: { table: string; columns: readonly FileColumn[] } & EncoderOptions,
): Promise<Encoder> {
  if (format === 'parquet') return (await import('./parquet.ts')).parquetEncoder(file, table, columns);
  const { csvEncoder, ndjsonEncoder } = await import('./text.ts');
  return format === 'csv' ? csvEncoder(file, columns, raw) : ndjsonEncoder(file, columns);
}
