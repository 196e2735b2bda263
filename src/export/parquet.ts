import { constants, zstdCompressSync } from 'node:zlib';
import type { SchemaElement } from 'hyparquet-writer';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { DAY } from '../core/clock.ts';
import { asText } from '../query/cells.ts';
import type { ValueKind } from '../query/reads/relation.ts';
import { type Cell, charactersOf } from '../query/result.ts';
import { type FileColumn, isInt64, misfit } from './columns.ts';
import type { Encoder, Sink } from './encoder.ts';
import { type Gatherer, InstantGatherer, PlainGatherer, type Stored, TextGatherer } from './gather.ts';

/** A row group, which is in memory whole, ends at 5,000 rows or at 1 Mi characters. */
const GROUP = { rows: 5000, characters: 1024 * 1024 } as const;

/**
 * The types of Parquet. JSON is text: some readers take Parquet's own JSON for bytes. An instant is in UTC.
 */
const TYPES: Readonly<Record<ValueKind, Partial<SchemaElement>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  day: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
  instant: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
};

/** The fastest level: the files grow by a few per cent. */
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Encodes rows as Parquet, compressed with Zstandard, one row group at a time. */
export function parquetEncoder(file: Sink, table: string, columns: readonly FileColumn[]): Encoder {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [
      { name: 'root', num_children: columns.length },
      ...columns.map(({ name, kind }) => ({ name, repetition_type: 'OPTIONAL' as const, ...TYPES[kind] })),
    ],
    codec: 'ZSTD',
    compressors: { ZSTD: (input) => zstdCompressSync(input, FAST) },
    createdBy: 'inbox-mirror',
  });
  const storing = columns.map((column) => storerOf(table, column));
  const gatherers = columns.map(({ kind }) => gathererOf(kind));
  let rows = 0;
  let characters = 0;
  const writeGroup = async (): Promise<void> => {
    if (rows > 0)
      await writer.write({
        rowGroupSize: rows,
        columnData: columns.map(({ name, kind }, index) => ({
          name,
          ...(gatherers[index]?.take() ?? { data: [] }),
          // The library compares texts in another order than Parquet: its bounds could hide rows.
          statistics: kind !== 'text' && kind !== 'json',
        })),
      });
    rows = 0;
    characters = 0;
    await flush();
  };
  const flush = async (): Promise<void> => {
    await file.writeFile(bytes.getBytes());
    bytes.index = 0;
  };
  return {
    add(row) {
      for (const [index, store] of storing.entries()) gatherers[index]?.add(store(row[index] ?? null));
      rows += 1;
      characters += charactersOf(row);
      return rows >= GROUP.rows || characters >= GROUP.characters ? writeGroup() : null;
    },
    async end() {
      await writeGroup();
      await writer.finish();
      await flush();
    },
  };
}

function gathererOf(kind: ValueKind): Gatherer {
  if (kind === 'text' || kind === 'json') return new TextGatherer();
  return kind === 'instant' ? new InstantGatherer() : new PlainGatherer();
}

type Converter = (cell: Exclude<Cell, null>) => Stored;

/** How a cell becomes a value of the column's type; null: it does not fit. */
const CONVERTERS: Readonly<Record<ValueKind, Converter>> = {
  text: asText,
  json: asText,
  boolean: asBoolean,
  number: (cell) => (typeof cell === 'number' ? cell : null),
  integer: asInteger,
  instant: asMilliseconds,
  day: asDays,
};

function storerOf(table: string, column: FileColumn): (cell: Cell) => Stored {
  const convert = CONVERTERS[column.kind];
  return (cell) => {
    if (cell === null) return null;
    const stored = convert(cell);
    if (stored === null) throw misfit(table, column, cell);
    return stored;
  };
}

/** An expression of SQLite has no booleans. */
function asBoolean(cell: Cell): boolean | null {
  if (typeof cell === 'boolean') return cell;
  return cell === 0 || cell === 1 ? cell === 1 : null;
}

/** SQLite computes seconds with a fraction. */
function asInteger(cell: Cell): bigint | null {
  const integer = typeof cell === 'number' && Number.isFinite(cell) ? BigInt(Math.floor(cell)) : cell;
  return typeof integer === 'bigint' && isInt64(integer) ? integer : null;
}

function asMilliseconds(cell: Cell): number | null {
  const ms = typeof cell === 'string' ? Date.parse(cell) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

function asDays(cell: Cell): number | null {
  const ms = asMilliseconds(cell);
  return ms === null || ms % DAY !== 0 ? null : ms / DAY;
}
