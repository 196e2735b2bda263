import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { expect, onTestFinished, test } from 'vitest';
import { asCsv } from '../../src/cli/output/cells.ts';
import { TABLE_SENTENCES, VIEW_NAMES } from '../../src/database/catalogue.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { exportTables } from '../../src/export/export.ts';
import type { ExportOptions } from '../../src/export/write.ts';
import type { ExportRun } from '../../src/export/folder/manifest.ts';
import { csvEncoder } from '../../src/export/text.ts';
import { openReadOnly } from '../../src/query/open.ts';
import { newPlace, temporaryFolder } from '../support/mirror.ts';
import { type TestProgram, testProgram } from '../support/program.ts';
import { ON_SQLITE, urlOf } from '../support/provider.ts';
import { count, firstInbox, parseLines } from '../support/rows.ts';
import { rule } from '../support/rule.ts';

/** What a row of `day` can hold although it is no day. */
const NO_DAY = ON_SQLITE ? '2026-13-45' : 'infinity';

/** The program with a mirror that has a history. */
async function filled(): Promise<TestProgram> {
  const program = await testProgram(
    { inboxes: 2, conversations: 30, seed: 4 },
    { DATABASE_URL: urlOf(await newPlace()) },
  );
  await program.run('sync');
  program.sandbox.applyEvents(20);
  const { id, conversations } = firstInbox(program.sandbox);
  program.sandbox.world.setStatus(id, conversations.order[0]!, 'pending');
  await program.run('sync');
  return program;
}

type Row = Record<string, unknown>;

async function parquetRows(program: TestProgram, file: string): Promise<Row[]> {
  const bytes = readFileSync(join(program.folder, file));
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  return await parquetReadObjects({
    file: buffer,
    compressors: { ZSTD: (input) => zstdDecompressSync(input) },
  });
}

async function rowsOf(program: TestProgram, sql: string): Promise<Row[]> {
  return parseLines<Row>((await program.run('query', sql, '--format', 'ndjson')).stdout);
}

function filesIn(program: TestProgram, folder: string): string[] {
  return readdirSync(join(program.folder, folder)).toSorted();
}

test('every table and view can be exported, with as many rows as SQL counts', async () => {
  const program = await filled();
  const names = [...Object.keys(TABLE_SENTENCES), ...VIEW_NAMES];
  const { exitCode, stdout, stderr } = await program.run('export', ...names, '--out', 'lake', '--json');
  expect(exitCode, stderr).toBe(0);
  const run = JSON.parse(stdout) as ExportRun;
  expect(run.files.map(({ table }) => table)).toEqual(names);
  const database = await openDatabase(program.env['DATABASE_URL']!);
  for (const { table, file, rows } of run.files) {
    const read = await parquetRows(program, join('lake', file));
    expect(read, table).toHaveLength(rows);
    expect({ table, rows }).toEqual({ table, rows: await count(database, table) });
  }
  await database.close();
  expect(run.lists.map(({ list }) => list).toSorted()).toContain('conversations');
  expect(run.lists.every(({ complete_as_of }) => complete_as_of !== null)).toBe(true);
});

test('Parquet has instants as timestamps, days as dates, booleans, integers, and JSON as text', async () => {
  const program = await filled();
  await program.run('export', 'conversations', 'inboxes', 'backlog_daily', 'changes', '--out', 'lake');
  const [stored = {}] = await rowsOf(program, 'SELECT * FROM conversations ORDER BY inbox_id, id LIMIT 1');
  const conversations = await parquetRows(program, 'lake/conversations.parquet');
  const same = conversations.find(
    (row) => row['inbox_id'] === stored['inbox_id'] && row['id'] === stored['id'],
  );
  expect(same).toMatchObject({ id: stored['id'], status: stored['status'], deleted_at: null });
  expect(same?.['first_seen_at']).toEqual(new Date(String(stored['first_seen_at'])));
  expect(JSON.parse(String(same?.['raw']))).toEqual(stored['raw']);
  expect((await parquetRows(program, 'lake/inboxes.parquet'))[0]?.['is_authorised']).toBe(true);
  const [day] = await parquetRows(program, 'lake/backlog_daily.parquet');
  expect(day?.['day']).toEqual(new Date(new Date().toISOString().slice(0, 10)));
  expect(typeof (await parquetRows(program, 'lake/changes.parquet'))[0]?.['id']).toBe('bigint');
  const bytes = readFileSync(join(program.folder, 'lake/conversations.parquet'));
  const { schema } = parquetMetadata(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  expect(schema.find(({ name }) => name === 'first_seen_at')?.logical_type).toMatchObject({
    type: 'TIMESTAMP',
    isAdjustedToUTC: true,
  });
});

test('CSV and NDJSON have the same values on both databases: instants end in Z, booleans are words', async () => {
  const program = await filled();
  const tables = ['unassigned_age', 'changes', 'inboxes'];
  for (const format of ['csv', 'ndjson'])
    expect((await program.run('export', ...tables, '--format', format, '--out', 'lake')).exitCode).toBe(0);
  const text = (file: string): string => readFileSync(join(program.folder, 'lake', file), 'utf8');
  const [line] = parseLines<Row>(text('unassigned_age.ndjson'));
  expect(line?.['since']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(typeof line?.['is_lower_bound']).toBe('boolean');
  expect(text('unassigned_age.csv').split('\n')[1]).toMatch(/Z,\d+,(true|false),/);
  const { id, display_name: name } = firstInbox(program.sandbox);
  const inboxes = parseLines<{ id: string; raw: Row }>(text('inboxes.ndjson'));
  // PostgreSQL gives rows that were changed in another order.
  expect(inboxes.find((inbox) => inbox.id === id)?.raw['display_name']).toBe(name);
  expect(parseLines(text('changes.ndjson'))).toHaveLength(text('changes.csv').trim().split('\n').length - 1);
});

rule('CSV is what csv-stringify writes, for any text', async () => {
  const path = join(temporaryFolder(), 'one.csv');
  const columns = [
    { name: 'a', kind: 'text' as const },
    { name: 'b"', kind: 'text' as const },
  ];
  const piece = fc.constantFrom(
    '',
    'a',
    '"',
    ',',
    ';',
    '\t',
    '\n',
    '\r\n',
    '=1+1',
    '-5',
    '@',
    'é',
    '😀',
    ' ',
  );
  const cell = fc.option(fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join('')));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(cell, cell), { maxLength: 4 }), fc.boolean(), async (rows, raw) => {
      const file = await open(path, 'w');
      const encoder = csvEncoder(file, columns, raw);
      for (const row of rows) await encoder.add(row);
      await encoder.end();
      await file.close();
      const expected = asCsv([['a', 'b"'], ...rows], { raw, onTerminal: false });
      expect(readFileSync(path, 'utf8')).toBe(expected);
    }),
    { numRuns: 200 },
  );
});

test('changes after a cursor go into a file of their own, and the files together hold each change once', async () => {
  const program = await filled();
  const upTo = (): string =>
    (
      JSON.parse(readFileSync(join(program.folder, 'lake/manifest.json'), 'utf8')) as {
        changes_up_to: string;
      }
    ).changes_up_to;
  await program.run('export', 'changes', '--out', 'lake');
  const first = upTo();
  const none = await program.run('export', 'changes', '--out', 'lake', '--since-id', first);
  expect(none).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('no file was written') as string,
  });

  program.sandbox.applyEvents(20);
  await program.run('sync');
  // Another table between does not move the cursor of the changes.
  await program.run('export', 'inboxes', '--out', 'lake');
  expect(upTo()).toBe(first);
  const second = await program.run('export', 'changes', '--out', 'lake', '--since-id', upTo());
  expect(second.exitCode, second.stderr).toBe(0);
  const number = first.split('-')[0]!;
  expect(filesIn(program, 'lake')).toEqual([
    `changes-after-${number}.parquet`,
    'changes.parquet',
    'inboxes.parquet',
    'manifest.json',
  ]);
  const ids = [
    ...(await parquetRows(program, 'lake/changes.parquet')),
    ...(await parquetRows(program, `lake/changes-after-${number}.parquet`)),
  ].map(({ id }) => Number(id));
  const all = await rowsOf(program, 'SELECT id FROM changes ORDER BY id');
  expect(ids).toEqual(all.map(({ id }) => id));
  expect(upTo().split('-')[0]).toBe(String(ids.at(-1)));
});

rule(
  'a cursor of another history, a table without ids and an unknown table exit 2 and write nothing',
  async () => {
    const program = await filled();
    for (const [argv, message] of [
      [['changes', '--since-id', '99999999'], /The mirror has no change 99999999/],
      [['changes', '--since-id', '1-0123456789ab'], /is another one than that of the cursor/],
      [['changes', '--since-id', 'x'], /expected a whole number or the cursor/],
      [['inboxes', '--since-id', '1'], /inboxes has no ids of changes/],
      [['inboxs'], /no table or view "inboxs". Perhaps you meant "inboxes"/],
      [['inboxes; DROP TABLE inboxes'], /no table or view/],
    ] as const) {
      const { exitCode, stderr } = await program.run('export', ...argv, '--out', 'lake');
      expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(message) as string });
    }
    expect(existsSync(join(program.folder, 'lake'))).toBe(false);
  },
);

/** Makes the mirror look as if a program without the migration of this name had made it. */
async function makeOlder(program: TestProgram, migration: string, table?: string): Promise<Database> {
  const database = await openDatabase(program.env['DATABASE_URL']!);
  onTestFinished(() => database.close());
  await database.execute(`DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_${migration}'`);
  if (table !== undefined) await database.execute(`DROP TABLE ${table}${ON_SQLITE ? '' : ' CASCADE'}`);
  return database;
}

test('an export of an older mirror does not migrate it, also with a cursor', async () => {
  const program = await filled();
  const database = await makeOlder(program, 'long_tokens');
  const migrations = await count(database, '_prisma_migrations');
  for (const argv of [
    ['--out', 'lake'],
    ['--out', 'later', '--since-id', '1'],
  ])
    expect((await program.run('export', 'changes', ...argv)).exitCode).toBe(0);
  expect(await count(database, '_prisma_migrations')).toBe(migrations);
});

rule('a mirror that is too old for an export gives a sentence that says so', async () => {
  const program = await filled();
  await makeOlder(program, 'epochs', 'epochs');
  for (const argv of [[], ['--since-id', '1']]) {
    const { exitCode, stderr } = await program.run('export', 'changes', '--out', 'lake', ...argv);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringMatching(/made by an older inbox-mirror.* no table "epochs"/) as string,
    });
  }
});

rule(
  'a file that exists is replaced only with --force, and leaves the earlier export in the manifest',
  async () => {
    const program = await filled();
    await program.run('export', 'inboxes', 'inbox_tags', '--out', 'lake');
    const before = readFileSync(join(program.folder, 'lake/inboxes.parquet'));
    firstInbox(program.sandbox).display_name = 'Renamed';
    await program.run('sync', 'inboxes');
    const refused = await program.run('export', 'inboxes', 'inbox_users', '--out', 'lake');
    expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Add --force') as string });
    expect(readFileSync(join(program.folder, 'lake/inboxes.parquet'))).toEqual(before);
    expect(filesIn(program, 'lake')).toEqual(['inbox_tags.parquet', 'inboxes.parquet', 'manifest.json']);

    expect((await program.run('export', 'inboxes', '--out', 'lake', '--force')).exitCode).toBe(0);
    const names = (await parquetRows(program, 'lake/inboxes.parquet')).map((row) => row['display_name']);
    expect(names).toContain('Renamed');
    const { exports } = JSON.parse(readFileSync(join(program.folder, 'lake/manifest.json'), 'utf8')) as {
      exports: ExportRun[];
    };
    expect(exports.map(({ files }) => files.map(({ file }) => file))).toEqual([
      ['inbox_tags.parquet'],
      ['inboxes.parquet'],
    ]);
  },
);

test('an export before the first change is continued by the next ones', async () => {
  const program = await testProgram(
    { inboxes: 2, conversations: 30 },
    { DATABASE_URL: urlOf(await newPlace()) },
  );
  await program.run('sync');
  const onwards = async (): Promise<string> => {
    const manifest = readFileSync(join(program.folder, 'lake/manifest.json'), 'utf8');
    const { changes_up_to: cursor } = JSON.parse(manifest) as { changes_up_to: string };
    const { exitCode, stdout, stderr } = await program.run(
      'export',
      'changes',
      '--out',
      'lake',
      '--since-id',
      cursor,
    );
    expect([exitCode, stderr]).toEqual([0, '']);
    return stdout;
  };
  await program.run('export', 'changes', '--out', 'lake');
  expect(await onwards()).toContain('There is no change after 0: no file was written.');
  program.sandbox.applyEvents(20);
  await program.run('sync');
  expect(await onwards()).toContain('changes-after-0.parquet');
  expect(await onwards()).toContain('no file was written');
  const ids = (await parquetRows(program, 'lake/changes-after-0.parquet')).map(({ id }) => Number(id));
  const all = await rowsOf(program, 'SELECT id FROM changes ORDER BY id');
  expect(ids).toEqual(all.map(({ id }) => id));
});

rule('an export replaces a file that a killed export published without its manifest', async () => {
  const program = await filled();
  const path = (name: string): string => join(program.folder, 'lake', name);
  await program.run('export', 'changes', '--out', 'lake');
  const before = readFileSync(path('manifest.json'), 'utf8');
  const cursor = (JSON.parse(before) as { changes_up_to: string }).changes_up_to;
  program.sandbox.applyEvents(20);
  await program.run('sync');
  const onwards = ['export', 'changes', '--out', 'lake', '--since-id', cursor];
  await program.run(...onwards);
  // The state between the last two names of an export.
  renameSync(path('manifest.json'), path('.manifest.json.5a1e0c3f.partial'));
  writeFileSync(path('manifest.json'), before);

  const { exitCode, stderr } = await program.run(...onwards);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const { exports } = JSON.parse(readFileSync(path('manifest.json'), 'utf8')) as { exports: ExportRun[] };
  expect(exports.flatMap(({ files }) => files.map(({ file }) => file))).toEqual([
    'changes.parquet',
    `changes-after-${cursor.split('-')[0]}.parquet`,
  ]);
  // The manifest lists that file now, and no export has published this one.
  writeFileSync(path('inboxes.parquet'), 'of a person');
  for (const argv of [onwards, ['export', 'inboxes', '--out', 'lake']])
    expect((await program.run(...argv)).stderr).toContain('Add --force');
});

rule('a folder that has the name of a file ends the export before any file has its name', async () => {
  const program = await filled();
  mkdirSync(join(program.folder, 'lake/conversations.csv'), { recursive: true });
  const names = ['inboxes', 'conversations'];
  const done = await program.run('export', ...names, '--format', 'csv', '--force', '--out', 'lake');
  expect(done).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('a folder has its name') });
  expect(filesIn(program, 'lake')).toEqual(['conversations.csv']);
});

rule('a folder whose manifest.json is of another program stays as it is', async () => {
  const program = await filled();
  mkdirSync(join(program.folder, 'site'));
  writeFileSync(join(program.folder, 'site/manifest.json'), '{"name":"my app"}');
  const { exitCode, stderr } = await program.run('export', 'inboxes', '--out', 'site');
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringContaining('is not a manifest of inbox-mirror') as string,
  });
  expect(filesIn(program, 'site')).toEqual(['manifest.json']);
});

function optionsFor(program: TestProgram, options: Partial<ExportOptions>): ExportOptions {
  return {
    tables: ['inboxes', 'conversations'],
    format: 'ndjson',
    folder: join(program.folder, 'lake'),
    sinceId: null,
    force: true,
    raw: false,
    version: '0.0.0-test',
    now: Date.now(),
    onRows: () => undefined,
    ...options,
  };
}

/** An export over a connection of its own. */
async function exportAlone(program: TestProgram, options: Partial<ExportOptions>): Promise<ExportRun> {
  const mirror = await openReadOnly(program.env['DATABASE_URL']!, new AbortController().signal);
  try {
    return await exportTables(mirror, optionsFor(program, options));
  } finally {
    await mirror.close();
  }
}

test('all files hold the mirror as it was at one moment, whatever is written meanwhile', async () => {
  const program = await filled();
  const url = program.env['DATABASE_URL']!;
  const writer = await openDatabase(url);
  const mirror = await openReadOnly(url, new AbortController().signal);
  const [before] = await writer.query<{ n: number }>('SELECT count(*) AS n FROM conversations');
  const written: Promise<unknown>[] = [];
  const options = optionsFor(program, {
    onRows(table) {
      if (table === 'inboxes') written.push(writer.execute('DELETE FROM conversations'));
    },
  });
  // The second table is read only after the deletion.
  const gate = {
    ...mirror,
    query: async (...query: Parameters<typeof mirror.query>) => {
      await Promise.all(written);
      return await mirror.query(...query);
    },
  };
  const { files } = await exportTables(gate, options);
  await mirror.close();
  await writer.close();
  expect(written).toHaveLength(1);
  expect(files.at(-1)).toMatchObject({ table: 'conversations', rows: before?.n });
});

rule('exports into a folder at once leave each other alone, and the manifest has all that end', async () => {
  const program = await filled();
  const folder = join(program.folder, 'lake');
  const reader = () => openReadOnly(program.env['DATABASE_URL']!, new AbortController().signal);
  const [mirror, second] = [await reader(), await reader()];
  let complete: Promise<unknown> | undefined;
  let broken: Promise<unknown> | undefined;
  // In two containers, both processes can have the same id, as these two exports have.
  const failing = optionsFor(program, {
    tables: ['inboxes'],
    onRows() {
      throw new Error('stopped half-way');
    },
  });
  const gate = {
    ...mirror,
    query: async (...query: Parameters<typeof mirror.query>) => {
      await (complete ??= program.run('export', 'inbox_tags', '--out', 'lake'));
      if (readdirSync(folder).some((name) => name.startsWith('.inboxes.ndjson')))
        await (broken ??= expect(exportTables(second, failing)).rejects.toThrow('stopped half-way'));
      return await mirror.query(...query);
    },
  };
  await exportTables(gate, optionsFor(program, { tables: ['inboxes'] }));
  expect(broken).toBeDefined();
  await Promise.all([mirror.close(), second.close()]);
  expect(filesIn(program, 'lake')).toEqual(['inbox_tags.parquet', 'inboxes.ndjson', 'manifest.json']);
  const { exports } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
    exports: ExportRun[];
  };
  expect(exports.map(({ files }) => files.map(({ file }) => file))).toEqual([
    ['inbox_tags.parquet'],
    ['inboxes.ndjson'],
  ]);
});

rule('exports into a folder that end at once are all in the manifest', async () => {
  const program = await filled();
  const tables = ['inboxes', 'inbox_users', 'inbox_tags', 'conversations', 'changes', 'sweeps'];
  await Promise.all(tables.map((table) => exportAlone(program, { tables: [table] })));
  const { changes_up_to: upTo, exports } = JSON.parse(
    readFileSync(join(program.folder, 'lake/manifest.json'), 'utf8'),
  ) as { changes_up_to: string | null; exports: ExportRun[] };
  const names = exports.flatMap(({ files }) => files.map(({ table }) => table));
  expect(names.toSorted()).toEqual(tables.toSorted());
  expect(upTo).not.toBeNull();
  expect(filesIn(program, 'lake').filter((name) => name.startsWith('.'))).toEqual([]);
});

rule('of two exports of a table that end at once, the second refuses to replace the file', async () => {
  const program = await filled();
  const options = { tables: ['conversations'], force: false };
  const ended = await Promise.allSettled([exportAlone(program, options), exportAlone(program, options)]);
  const causes = ended.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  expect(causes).toEqual([expect.stringContaining('already has conversations.ndjson')]);
  expect(filesIn(program, 'lake')).toEqual(['conversations.ndjson', 'manifest.json']);
});

rule('an export whose manifest cannot be written changes no file', async () => {
  const program = await filled();
  await program.run('export', 'inboxes', '--format', 'ndjson', '--out', 'lake');
  const [file, manifest] = ['inboxes.ndjson', 'manifest.json'].map((name) =>
    join(program.folder, 'lake', name),
  );
  writeFileSync(file!, 'of yesterday');
  const mirror = await openReadOnly(program.env['DATABASE_URL']!, new AbortController().signal);
  const onRows = (): void => writeFileSync(manifest!, '{"name":"my app"}');
  const options = optionsFor(program, { tables: ['inboxes'], onRows });
  await expect(exportTables(mirror, options)).rejects.toThrow('nothing was written');
  await mirror.close();
  expect(readFileSync(file!, 'utf8')).toBe('of yesterday');
  expect(filesIn(program, 'lake')).toEqual(['inboxes.ndjson', 'manifest.json']);
});

rule('an export that ends early changes no file and leaves none behind', async () => {
  const program = await filled();
  await program.run('export', 'inboxes', 'conversations', '--format', 'ndjson', '--out', 'lake');
  const before = filesIn(program, 'lake').map((file) =>
    readFileSync(join(program.folder, 'lake', file), 'utf8'),
  );
  const mirror = await openReadOnly(program.env['DATABASE_URL']!, new AbortController().signal);
  const options = optionsFor(program, {
    onRows(table) {
      if (table === 'conversations') throw new Error('stopped half-way');
    },
  });
  await expect(exportTables(mirror, options)).rejects.toThrow('stopped half-way');
  await mirror.close();
  const after = filesIn(program, 'lake');
  expect(after).toEqual(['conversations.ndjson', 'inboxes.ndjson', 'manifest.json']);
  expect(after.map((file) => readFileSync(join(program.folder, 'lake', file), 'utf8'))).toEqual(before);
});

test("a person's own view keeps numbers and texts, and a value that does not fit its column is named", async () => {
  const program = await filled();
  const writer = await openDatabase(program.env['DATABASE_URL']!);
  await writer.execute(`CREATE VIEW mine AS SELECT 1.5 AS n, 'a' AS t UNION ALL SELECT 2, NULL`);
  const { stdout } = await program.run('export', 'mine', '--out', 'lake', '--json');
  expect((JSON.parse(stdout) as ExportRun).files[0]?.columns).toEqual([
    { name: 'n', kind: 'number' },
    { name: 't', kind: 'text' },
  ]);
  const rows = await parquetRows(program, 'lake/mine.parquet');
  expect(rows.toSorted((one, other) => Number(one['n']) - Number(other['n']))).toEqual([
    { n: 1.5, t: 'a' },
    { n: 2, t: null },
  ]);
  await writer.execute(
    `UPDATE report_days SET day = '${NO_DAY}' WHERE day = (SELECT min(day) FROM report_days)`,
  );
  await writer.close();
  const { exitCode, stderr } = await program.run('export', 'report_days', '--out', 'lake');
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: expect.stringMatching(
      /column "day" of report_days should hold a day, .*"(2026-13-45|infinity)"/,
    ) as string,
  });
});

test('export warns once that lists are incomplete, and the summary does not repeat it', async () => {
  const program = await testProgram({ inboxes: 2, conversations: 3 });
  await program.run('sync', 'inboxes');
  const { exitCode, stdout, stderr } = await program.run('export', 'inboxes');
  expect([exitCode, stderr]).toEqual([0, expect.stringMatching(/^warning: /)]);
  expect(stdout).toMatch(/^In inbox-mirror-export, as of \S+Z\.$/m);
});

test('export --out with a file says that it is one', async () => {
  const program = await testProgram();
  writeFileSync(join(program.folder, 'taken'), '');
  const { exitCode, stderr } = await program.run('export', 'inboxes', '--out', 'taken');
  const path = join(program.folder, 'taken');
  expect([exitCode, stderr]).toEqual([1, `error: ${path} is a file. Name a folder with --out.\n`]);
  const below = await program.run('export', 'inboxes', '--out', 'taken/lake');
  expect([below.exitCode, below.stderr]).toEqual([
    1,
    expect.stringContaining(`The folder ${join(path, 'lake')} cannot be made`),
  ]);
});
