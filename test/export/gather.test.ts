import { zstdDecompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { parquetOf } from '../../src/export/answer.ts';
import { type Gatherer, InstantGatherer, TextGatherer } from '../../src/export/gather.ts';

/** The values of a group as the writer of Parquet stores them. */
function written(gatherer: Gatherer): (string | null)[] {
  const { data } = gatherer.take();
  return Array.from(data as ArrayLike<Uint8Array | string | null>, (value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : value,
  );
}

describe('texts of an export', () => {
  test('are the same whether a group holds them as texts or as bytes', () => {
    const text = fc.option(fc.string({ unit: 'grapheme', maxLength: 8 }), { nil: null });
    const groups = fc.array(fc.array(text, { maxLength: 30 }), { minLength: 20, maxLength: 25 });
    fc.assert(
      fc.property(groups, (all) => {
        const gatherer = new TextGatherer();
        for (const group of all) {
          for (const value of group) gatherer.add(value);
          expect(written(gatherer)).toEqual(group);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('get a dictionary where they repeat, also after a time in which most differed', () => {
    const gatherer = new TextGatherer();
    const encodings = Array.from({ length: 40 }, (_, group) => {
      for (let row = 0; row < 50; row += 1)
        gatherer.add(group < 3 ? `row ${group} ${row}` : `status ${row % 3}`);
      return gatherer.take().encoding ?? 'chosen by the library';
    });
    expect(encodings.slice(0, 3)).toEqual(['PLAIN', 'PLAIN', 'PLAIN']);
    expect(new Set(encodings.slice(20))).toEqual(new Set(['chosen by the library']));
  });
});

test('instants of an export are exact milliseconds, and NULL stays NULL', () => {
  const gatherer = new InstantGatherer();
  for (const ms of [0, null, -1, 8.64e15]) gatherer.add(ms);
  expect(gatherer.take().data).toEqual([0n, null, -1n, 8_640_000_000_000_000n]);
  expect(gatherer.take().data).toEqual([]);
});

test('an integer of more than 64 bits is text in the file of an answer', async () => {
  const columns = ['least', 'beyond'].map((name) => ({ name, isJson: false }));
  const file = await parquetOf({ columns, rows: [[-(2n ** 63n), 2n ** 63n]] });
  const compressors = { ZSTD: (input: Uint8Array) => zstdDecompressSync(input) };
  const [row] = await parquetReadObjects({ file: new Uint8Array(file).buffer, compressors });
  expect(row).toEqual({ least: -(2n ** 63n), beyond: '9223372036854775808' });
});
