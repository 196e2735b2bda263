import { zstdDecompressSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { parquetReadObjects } from 'hyparquet';
import { type Answered, type Served, served } from '../daemon/http/served.ts';
import { lasting } from '../support/lasting.ts';

const BROWSER = { headers: { accept: 'text/html' } };

/** A million characters in a cell: a row may have four million. */
const MILLION = 'hex(zeroblob(500000))';

const COMMANDS =
  '`inbox-mirror query --format csv` (or `--json`) prints all rows, and `inbox-mirror export` writes whole ' +
  'tables and views.';

let house: Served;
beforeAll(async () => {
  const { made, release } = await lasting(async () => await served());
  house = made;
  return release;
});

const rows = (most: number, columns: string): string =>
  `WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < ${most}) SELECT ${columns} FROM t`;

const pathOf = (path: string, sql: string): string => `${path}?${String(new URLSearchParams({ sql }))}`;

const download = (format: string, sql: string): Promise<Answered> => house.ask(pathOf(`/ask.${format}`, sql));

test('a column with a long name, and a file of text that would fill the memory, are errors', async () => {
  const long = await download('json', `SELECT 1 AS "${'x'.repeat(201)}"`);
  expect([long.status, long.json['error']]).toEqual([
    400,
    expect.stringContaining('a name of 201 characters'),
  ]);
  const name = 'x'.repeat(200);
  const many = rows(100_000, `n AS "${name}", n AS "${name.slice(1)}2"`);
  const json = await download('json', many);
  expect([json.status, json.json['error']]).toEqual([
    400,
    'The file would have more than 32 MB. Ask for fewer rows or columns, or download Parquet. ' + COMMANDS,
  ]);
  const csv = await download('csv', many);
  expect([csv.status, csv.body.match(/\n/g)?.length]).toEqual([200, 100_001]);
});

test.each(['csv', 'json', 'parquet'])(
  'no file of %s lacks rows: a longer answer is refused',
  async (format) => {
    for (const [sql, limit, less] of [
      [rows(100_001, 'n'), '100,000 rows', 'rows'],
      [rows(21, `n, ${MILLION} AS long`), '20 MB of values', 'rows or columns'],
    ] as const) {
      const { status, headers, json } = await download(format, sql);
      expect([status, headers['content-disposition'], json]).toEqual([
        400,
        undefined,
        {
          error:
            `The answer has more than ${limit}, and a file here cannot hold them. Ask for fewer ${less}. ` +
            COMMANDS,
        },
      ]);
    }
  },
);

test('a person sees the refusal as a page, not as a failed file', async () => {
  const sql = rows(100_001, 'n');
  const { body } = await house.ask(pathOf('/ask', sql), BROWSER);
  expect(body).toContain('The first 200 rows of more.');
  expect(body.replaceAll(/<[^>]+>|\s+/g, ' ').replaceAll(/ +/g, ' ')).toContain(
    'Download (at most 100,000 rows and 20 MB of values; CSV and JSON at most 32 MB): CSV , JSON , Parquet',
  );
  // With this attribute, a browser shows no page in place of the file.
  expect(body).not.toMatch(/<a[^>]* download/);
  const refused = await house.ask(pathOf('/ask.csv', sql), BROWSER);
  expect([refused.status, refused.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8']);
  expect(refused.body).toContain('The answer has more than 100,000 rows');
});

test('a file has all rows up to the limits', async () => {
  const csv = await download('csv', rows(20, `n, ${MILLION} AS long`));
  expect([csv.status, csv.body.length]).toEqual([200, expect.closeTo(20_000_000, -4)]);
  const parquet = await fetch(house.url + pathOf('/ask.parquet', rows(100_000, 'n')));
  const found = await parquetReadObjects({
    file: await parquet.arrayBuffer(),
    compressors: { ZSTD: (input: Uint8Array) => zstdDecompressSync(input) },
    rowStart: 99_999,
  });
  expect(found).toEqual([{ n: 100_000n }]);
});
