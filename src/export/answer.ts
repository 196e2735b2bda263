import { setImmediate as turn } from 'node:timers/promises';
import { AT_ONCE, type Cell, type QueryResult } from '../query/result.ts';
import { kindOf } from './columns.ts';
import { parquetEncoder } from './parquet.ts';

/** The answer to a question, whole. */
interface Answer {
  readonly columns: QueryResult['columns'];
  readonly rows: readonly Cell[][];
}

/**
 * An answer as a Parquet file. A column has the kind that all its values have, instants and days among them.
 * Other work of the process gets its turn every 100 rows. Two columns of one name are the caller's to refuse.
 */
export async function parquetOf({ columns, rows }: Answer): Promise<Buffer> {
  const parts: Buffer[] = [];
  // The encoder writes its next bytes into the same memory.
  const sink = { writeFile: async (bytes: string | Uint8Array) => void parts.push(Buffer.from(bytes)) };
  const kinds = columns.map(({ name, isJson }, index) => ({
    name,
    kind: isJson ? ('json' as const) : kindOf(rows.map((row) => row[index] ?? null)),
  }));
  const encoder = parquetEncoder(sink, 'the answer', kinds);
  for (const [index, row] of rows.entries()) {
    await encoder.add(row);
    if (index % AT_ONCE.rows === 0) await turn();
  }
  await encoder.end();
  return Buffer.concat(parts);
}
