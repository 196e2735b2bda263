import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { exportTables } from '../../src/export/export.ts';
import type { ExportRun } from '../../src/export/folder/manifest.ts';
import { openReadOnly } from '../../src/query/open.ts';
import { newPlace, temporaryFolder } from '../support/mirror.ts';
import { type TestProgram, testProgram } from '../support/program.ts';
import { urlOf } from '../support/provider.ts';
import { backUp, restore } from '../support/restore.ts';
import { parseLines } from '../support/rows.ts';
import { rule } from '../support/rule.ts';

interface Lake {
  readonly program: TestProgram;
  /** The ids at which the files of changes begin after the first one. */
  readonly starts: readonly number[];
}

interface Manifest {
  readonly changes_up_to: string;
  readonly exports: readonly ExportRun[];
}

const CHANGES = ['export', 'changes', '--format', 'ndjson', '--out', 'lake'] as const;

/** A folder with a full export and two later ones of the changes after it. */
async function lakeOf(format = 'ndjson'): Promise<Lake> {
  const program = await testProgram(
    { inboxes: 2, conversations: 30, seed: 4 },
    { DATABASE_URL: urlOf(await newPlace()) },
  );
  await program.run('sync');
  await addChanges(program);
  const argv = ['export', 'changes', '--format', format, '--out', 'lake'];
  expect((await program.run(...argv)).exitCode).toBe(0);
  const starts: number[] = [];
  for (const _ of [1, 2]) {
    await addChanges(program);
    const cursor = manifestOf(program).changes_up_to;
    starts.push(Number(cursor.split('-')[0]));
    expect((await program.run(...argv, '--since-id', cursor)).exitCode).toBe(0);
  }
  await addChanges(program);
  return { program, starts };
}

async function addChanges(program: TestProgram): Promise<void> {
  program.sandbox.applyEvents(20);
  await program.run('sync');
}

function manifestOf(program: TestProgram): Manifest {
  return JSON.parse(readFileSync(join(program.folder, 'lake/manifest.json'), 'utf8')) as Manifest;
}

/** The names of the files in a manifest. */
function listed({ exports }: Manifest): string[] {
  return exports.flatMap(({ files }) => files.map(({ file }) => file)).toSorted();
}

/** The files of the folder, without those of killed exports. */
function filesIn(program: TestProgram): string[] {
  return readdirSync(join(program.folder, 'lake'))
    .filter((name) => !name.startsWith('.'))
    .toSorted();
}

/** The ids that a query of `lake/changes*.ndjson` reads. */
function idsIn(program: TestProgram): number[] {
  return filesIn(program)
    .filter((name) => /^changes.*\.ndjson$/.test(name))
    .flatMap((name) =>
      parseLines<{ id: number }>(readFileSync(join(program.folder, 'lake', name), 'utf8')).map(
        ({ id }) => id,
      ),
    )
    .toSorted((one, other) => one - other);
}

async function idsOf(program: TestProgram): Promise<number[]> {
  const { stdout } = await program.run('query', 'SELECT id FROM changes ORDER BY id', '--format', 'ndjson');
  return parseLines<{ id: number }>(stdout).map(({ id }) => id);
}

/** All texts of the folder by name. */
function contentOf(program: TestProgram): [name: string, text: string][] {
  return filesIn(program).map((name) => [name, readFileSync(join(program.folder, 'lake', name), 'utf8')]);
}

test('a full export of changes again replaces the files of later exports, and each change is there once', async () => {
  const { program, starts } = await lakeOf();
  const later = starts.map((id) => `changes-after-${id}.ndjson`);
  const before = contentOf(program);
  const refused = await program.run(...CHANGES);
  expect(refused.exitCode).toBe(2);
  for (const name of ['changes.ndjson', ...later]) expect(refused.stderr).toContain(name);
  expect(contentOf(program)).toEqual(before);

  const { exitCode, stdout, stderr } = await program.run(...CHANGES, '--force');
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).toContain(`Removed ${later.join(', ')}, which this export replaces.`);
  expect(filesIn(program)).toEqual(['changes.ndjson', 'manifest.json']);
  expect(idsIn(program)).toEqual(await idsOf(program));
  const { exports } = manifestOf(program);
  expect(exports.map(({ files, removed }) => [files.map(({ file }) => file), removed])).toEqual([
    [['changes.ndjson'], later],
  ]);

  await addChanges(program);
  expect((await program.run(...CHANGES, '--since-id', manifestOf(program).changes_up_to)).exitCode).toBe(0);
  expect(idsIn(program)).toEqual(await idsOf(program));
});

rule(
  'in Parquet and CSV too, a full export replaces the later files of its own format and table only',
  async () => {
    for (const [format, other] of [
      ['parquet', 'csv'],
      ['csv', 'parquet'],
    ] as const) {
      const { program, starts } = await lakeOf(format);
      const since = ['--since-id', String(starts[0])];
      const others = [
        `changes-after-${starts[0]}.${other}`,
        `conversation_changes-after-${starts[0]}.${format}`,
      ];
      await program.run('export', 'changes', '--format', other, '--out', 'lake', ...since);
      await program.run('export', 'conversation_changes', '--format', format, '--out', 'lake', ...since);
      const argv = ['export', 'changes', '--format', format, '--out', 'lake', '--force', '--json'];
      const { stdout } = await program.run(...argv);
      expect((JSON.parse(stdout) as ExportRun).removed).toEqual(
        starts.map((id) => `changes-after-${id}.${format}`),
      );
      expect(filesIn(program)).toEqual([...others, `changes.${format}`, 'manifest.json'].toSorted());
      expect(listed(manifestOf(program))).toEqual([...others, `changes.${format}`].toSorted());
    }
  },
);

test('a full export that began before the newest file of the folder is refused, and removes nothing', async () => {
  const { program } = await lakeOf();
  const lake = join(program.folder, 'lake');
  const mirror = await openReadOnly(program.env['DATABASE_URL']!);
  const holdStill = async (): Promise<void> => {
    await mirror.holdStill();
    expect(await Array.fromAsync((await mirror.query('SELECT count(*) FROM changes')).rows)).toHaveLength(1);
    await addChanges(program);
    const since = ['--since-id', manifestOf(program).changes_up_to];
    expect((await program.run(...CHANGES, ...since)).exitCode).toBe(0);
  };
  const full = { tables: ['changes'], format: 'ndjson', folder: lake, sinceId: null, force: true } as const;
  const rest = { raw: false, version: '0', now: Date.now(), onRows: () => {} };
  const error = await exportTables({ ...mirror, holdStill }, { ...full, ...rest }).catch(
    (reason: unknown) => reason,
  );
  expect(idsIn(program)).toEqual(await idsOf(program));
  expect(error).toMatchObject({
    code: 'USAGE',
    message: expect.stringMatching(/later changes .* in changes-after-\d+\.ndjson/) as string,
  });
  await mirror.close();
  expect((await program.run(...CHANGES, '--force')).exitCode).toBe(0);
  expect(idsIn(program)).toEqual(await idsOf(program));
});

rule('after a restored backup, no export leaves a row of the lost history in the folder', async () => {
  const { program, starts } = await lakeOf();
  const database = await openDatabase(program.env['DATABASE_URL']!);
  const backup = await backUp(database);
  await addChanges(program);
  const argv = [...CHANGES, '--since-id'];
  await program.run(...argv, manifestOf(program).changes_up_to);
  await restore(database, { ...backup, changes: backup.changes.slice(0, -5) });
  await database.close();
  await addChanges(program);
  expect((await program.run(...argv, manifestOf(program).changes_up_to)).exitCode).toBe(2);
  const before = contentOf(program);
  const newest = String((await idsOf(program)).at(-1));
  expect(await program.run(...argv, newest, '--force')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/has changes of another history in .*without --since-id and with --force/),
  });
  expect(contentOf(program)).toEqual(before);

  const complete = join(temporaryFolder(), 'lake');
  const lake = join(program.folder, 'lake');
  cpSync(lake, complete, { recursive: true });
  // The first of these ids is of both histories.
  for (const since of [['--since-id', String(starts[0])], []]) {
    rmSync(lake, { recursive: true });
    cpSync(complete, lake, { recursive: true });
    expect((await program.run(...CHANGES, ...since, '--force')).exitCode).toBe(0);
    expect(idsIn(program)).toEqual(await idsOf(program));
  }
  expect(filesIn(program)).toEqual(['changes.ndjson', 'manifest.json']);
});

rule('an export after an older id replaces the files that begin there or later, with --force', async () => {
  const { program, starts } = await lakeOf();
  const argv = [...CHANGES, '--since-id', String(starts[0])];
  const refused = await program.run(...argv);
  expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Add --force') as string });
  expect(refused.stderr).toContain(`changes-after-${starts[1]}.ndjson`);
  const { exitCode, stdout } = await program.run(...argv, '--force');
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`Removed changes-after-${starts[1]}.ndjson`);
  expect(filesIn(program)).toEqual([`changes-after-${starts[0]}.ndjson`, 'changes.ndjson', 'manifest.json']);
  expect(idsIn(program)).toEqual(await idsOf(program));
});

rule('an export that begins amid the changes of a file is refused, and names the two that work', async () => {
  const { program, starts } = await lakeOf();
  const before = contentOf(program);
  const middle = starts[0]! + 1;
  for (const force of [[], ['--force']]) {
    const { exitCode, stderr } = await program.run(...CHANGES, '--since-id', String(middle), ...force);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringMatching(
        `changes after ${middle} in changes-after-${starts[0]}\\.ndjson.*--since-id ` +
          `${manifestOf(program).changes_up_to}.*--since-id ${starts[0]} --force`,
      ) as string,
    });
  }
  const { stderr } = await program.run(...CHANGES, '--since-id', '1', '--force');
  expect(stderr).toMatch(/in changes\.ndjson.* all changes again without --since-id and with --force/);
  expect(contentOf(program)).toEqual(before);
});

rule('an export names the files of changes in its folder that the manifest does not name', async () => {
  const { program, starts } = await lakeOf();
  const mine = 'changes-after-7.ndjson';
  writeFileSync(join(program.folder, 'lake', mine), '{}\n');
  const named = await program.run(...CHANGES, '--force');
  expect(named.exitCode).toBe(0);
  expect(named.stderr).toMatch(new RegExp(`warning: .*${mine}, which manifest\\.json does not list`));
  expect(filesIn(program)).toEqual([mine, 'changes.ndjson', 'manifest.json']);

  rmSync(join(program.folder, 'lake/manifest.json'));
  writeFileSync(join(program.folder, 'lake', `changes-after-${starts[1]}.ndjson`), '{}\n');
  const { exitCode, stderr } = await program.run(...CHANGES, '--force');
  expect(exitCode).toBe(0);
  expect(stderr).toContain(`changes-after-${starts[1]}.ndjson, ${mine}, which`);
  expect(filesIn(program)).toContain(mine);
});

rule(
  'an export that begins after the end of the files of its table says which changes no file has',
  async () => {
    const { program } = await lakeOf();
    const argv = ['export', 'conversation_changes', '--format', 'ndjson', '--out', 'lake'];
    expect(await program.run(...argv)).toMatchObject({ exitCode: 0, stderr: '' });
    const end = manifestOf(program).exports.at(-1)!.newest_change;
    await addChanges(program);
    // The manifest's cursor is that of `changes`.
    await program.run(...CHANGES, '--since-id', manifestOf(program).changes_up_to);
    const cursor = manifestOf(program).changes_up_to;
    await addChanges(program);
    const late = await program.run(...argv, '--since-id', cursor);
    expect(late.exitCode).toBe(0);
    expect(late.stderr.replaceAll(/\s+/g, ' ')).toContain(
      `conversation_changes-after-${Number.parseInt(cursor, 10)}.ndjson begins after the end of the earlier ` +
        `files of conversation_changes (${end}): no file has the changes between. Export them with --since-id ${end} --force.`,
    );
    expect(await program.run(...argv, '--since-id', end, '--force')).toMatchObject({
      exitCode: 0,
      stderr: '',
    });
  },
);

rule('files that a person has deleted need no --force, and leave the manifest', async () => {
  const { program } = await lakeOf();
  for (const name of filesIn(program))
    if (name !== 'manifest.json') rmSync(join(program.folder, 'lake', name));
  expect(await program.run(...CHANGES)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(manifestOf(program).exports).toMatchObject([{ files: [{ file: 'changes.ndjson' }], removed: [] }]);
});

rule('no file outside of the folder is removed, whatever the manifest names', async () => {
  const { program, starts } = await lakeOf();
  writeFileSync(join(program.folder, 'mine.ndjson'), 'mine');
  const path = join(program.folder, 'lake/manifest.json');
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace(`"changes-after-${starts[0]}.ndjson"`, '"../mine.ndjson"'));
  const { exitCode, stderr } = await program.run(...CHANGES, '--force');
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('is not a manifest')]);
  expect(existsSync(join(program.folder, 'mine.ndjson'))).toBe(true);
});

rule('no file is removed for a killed export whose temporary files a person has deleted', async () => {
  const { program } = await lakeOf();
  const path = join(program.folder, 'lake/manifest.json');
  const manifest = manifestOf(program);
  const [first, ...later] = manifest.exports;
  const run = {
    ...first!,
    files: first!.files.map((file) => ({ ...file, bytes: file.bytes + 1 })),
    removed: later.flatMap(({ files }) => files.map(({ file }) => file)),
  };
  writeFileSync(path, JSON.stringify({ ...manifest, unfinished: { ending: '.5a1e0c3f.partial', run } }));
  const before = idsIn(program);
  await program.run('export', 'inboxes', '--out', 'lake');
  expect(idsIn(program)).toEqual(before);
  expect(manifestOf(program)).not.toHaveProperty('unfinished');
  expect(listed(manifestOf(program))).toEqual(listed(manifest).concat('inboxes.parquet').toSorted());
});

/** Kills its process before the nth file that it renames or removes. */
const KILLS_ITSELF = `
const fs = require('node:fs/promises');
let left = Number(process.env.KILLED_BEFORE);
for (const name of ['rename', 'rm']) {
  const call = fs[name];
  fs[name] = (...args) => (--left === 0 ? process.kill(process.pid, 'SIGKILL') : call(...args));
}
require('node:module').syncBuiltinESMExports();
`;

/**
 * Runs a full export that kills itself before the nth file that it renames or removes.
 * @returns false if it had ended before
 */
async function isKilledBefore(program: TestProgram, moment: number): Promise<boolean> {
  const plant = join(temporaryFolder(), 'plant.cjs');
  writeFileSync(plant, KILLS_ITSELF);
  const bin = join(import.meta.dirname, '../../bin/inbox-mirror.cjs');
  const child = spawn(process.execPath, ['--require', plant, bin, ...CHANGES, '--force'], {
    cwd: program.folder,
    env: { ...program.env, PATH: process.env['PATH'], KILLED_BEFORE: String(moment) },
    stdio: 'ignore',
  });
  const [, signal] = (await once(child, 'close')) as unknown[];
  // The next export would wait for the lock of the killed one.
  rmSync(join(program.folder, 'lake/.manifest.lock.partial'), { force: true });
  return signal !== null;
}

rule('an export goes on after a full one that was killed while it replaced a lost history', async () => {
  const { program } = await lakeOf();
  const database = await openDatabase(program.env['DATABASE_URL']!);
  const backup = await backUp(database);
  await addChanges(program);
  await program.run(...CHANGES, '--since-id', manifestOf(program).changes_up_to);
  await restore(database, { ...backup, changes: backup.changes.slice(0, -5) });
  await database.close();
  await addChanges(program);
  const newest = String((await idsOf(program)).at(-1));
  expect(await isKilledBefore(program, 2)).toBe(true);
  expect(manifestOf(program)).toHaveProperty('unfinished');
  await addChanges(program);
  expect(await program.run(...CHANGES, '--since-id', newest)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(idsIn(program)).toEqual(await idsOf(program));
});

rule('a kill at any moment of a full export loses no change, and the next export completes it', async () => {
  const { program, starts } = await lakeOf();
  const complete = join(temporaryFolder(), 'lake');
  const lake = join(program.folder, 'lake');
  cpSync(lake, complete, { recursive: true });
  const upTo = manifestOf(program).changes_up_to;
  const before = idsIn(program);
  const states = new Set<string>();
  for (let moment = 1; ; moment += 1) {
    rmSync(lake, { recursive: true });
    cpSync(complete, lake, { recursive: true });
    if (!(await isKilledBefore(program, moment))) break;
    // Each file that the manifest lists is there, or it names the export that has replaced it.
    const { unfinished, ...manifest } = manifestOf(program) as Manifest & { unfinished?: { run: ExportRun } };
    for (const { file, bytes } of manifest.exports.flatMap(({ files }) => files)) {
      const text = existsSync(join(lake, file)) ? readFileSync(join(lake, file)).length : null;
      if (unfinished === undefined) expect([moment, file, text]).toEqual([moment, file, bytes]);
    }
    expect(new Set(idsIn(program)).isSupersetOf(new Set(before))).toBe(true);
    states.add(JSON.stringify([unfinished !== undefined, filesIn(program)]));
    const next = await program.run('export', 'inboxes', '--format', 'ndjson', '--out', 'lake');
    expect(next).toMatchObject({ exitCode: 0, stderr: '' });
    const ids = idsIn(program);
    expect(ids).toEqual(manifestOf(program).changes_up_to === upTo ? before : await idsOf(program));
    expect(filesIn(program).filter((name) => name !== 'manifest.json')).toEqual(listed(manifestOf(program)));
    expect(manifestOf(program)).not.toHaveProperty('unfinished');
  }
  // Before the file, before the removal of each other one, and before the last manifest.
  expect(states.size).toBeGreaterThanOrEqual(2 + starts.length);
});
