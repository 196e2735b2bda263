import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/database/open.ts';
import { openSqlite } from '../../../src/database/sqlite/open.ts';
import { temporaryFolder } from '../../support/mirror.ts';
import { urlOf } from '../../support/provider.ts';
import { freshMirrorFile } from '../../support/template.ts';

/** A mirror that is open for writing; `add` writes a row into its log. */
async function opened() {
  const path = await freshMirrorFile();
  const database = await openDatabase(urlOf(path));
  onTestFinished(() => database.close());
  const add = async (name: string): Promise<void> =>
    void (await database.execute(`INSERT INTO settings (name, value) VALUES ('${name}', '1')`));
  return { path, aside: `${path}.aside`, database, add };
}

/** Another program, which has the file open for reading; it begins a transaction if it `needs` old rows. */
function reader(path: string, needs: 'old rows' | 'nothing'): Sqlite.Database {
  const other = new Sqlite(path, { readonly: true });
  onTestFinished(() => void other.close());
  if (needs === 'old rows') other.exec('BEGIN');
  other.prepare('SELECT count(*) FROM settings').get();
  return other;
}

/** The added rows in a file, with the log beside it. */
function added(path: string): unknown[] {
  const file = new Sqlite(path);
  try {
    expect(file.pragma('integrity_check', { simple: true })).toBe('ok');
    return file.prepare(`SELECT name FROM settings WHERE name LIKE 'row %' ORDER BY name`).pluck().all();
  } finally {
    file.close();
  }
}

/** The added rows in a copy of the file alone. */
function addedAlone(path: string): unknown[] {
  copyFileSync(path, `${path}.copy`);
  return added(`${path}.copy`);
}

const WRITE_ROW_2 = `
  const file = require('better-sqlite3')(process.argv[1]);
  file.exec("INSERT INTO settings (name, value) VALUES ('row 2', '1')");
  file.close();`;

/** Writes many pages, and saves its log as `sync` does. */
const WRITE_ROWS = `
  const file = require('better-sqlite3')(process.argv[1]);
  for (let row = 0; row < 60; row += 1)
    file.exec("INSERT INTO settings (name, value) VALUES ('row new " + row + "', hex(randomblob(3000)))");
  file.pragma('wal_checkpoint(TRUNCATE)');
  file.close();`;

/** Writes many pages, and is killed before it saves its log. */
const WRITE_AND_DIE = `
  const file = require('better-sqlite3')(process.argv[1]);
  file.pragma('journal_mode = WAL');
  for (let row = 0; row < 60; row += 1)
    file.exec("INSERT INTO settings (name, value) VALUES ('new " + row + "', hex(randomblob(3000)))");
  process.kill(process.pid, 'SIGKILL');`;

const sidesOf = (path: string): boolean[] => ['-wal', '-shm'].map((side) => existsSync(path + side));

test.each(['before', 'after'] as const)(
  'a mirror that is renamed away, and put back %s it is closed, keeps what its log held',
  async (when) => {
    const { path, aside, database, add } = await opened();
    await add('row 1');
    renameSync(path, aside);
    expect(database.lostFile()).toBe(path);
    await add('row 2');
    if (when === 'before') renameSync(aside, path);
    await database.close();
    if (when === 'after') renameSync(aside, path);
    expect(added(path)).toEqual(['row 1', 'row 2']);
  },
);

test('a mirror that is put back keeps what another program wrote before the parked daemon closes it', async () => {
  const { path, aside, database, add } = await opened();
  await add('row 1');
  renameSync(path, aside);
  expect(database.lostFile()).toBe(path);
  // A page that was on its way.
  await add('row 2');
  await setTimeout(50);
  expect(sidesOf(path), 'it may still write into its log').toEqual([true, true]);
  await database.endWrites();
  expect(database.lostFile()).toBe(path);
  await expect.poll(() => sidesOf(path)).toEqual([false, false]);
  renameSync(aside, path);
  await expect(add('row 3')).rejects.toMatchObject({ code: 'DATABASE' });
  execFileSync(process.execPath, ['-e', WRITE_ROWS, path]);
  await database.close();
  expect(added(path)).toEqual([
    'row 1',
    'row 2',
    ...Array.from({ length: 60 }, (_, row) => `row new ${row}`).toSorted(),
  ]);
});

test('a mirror that is renamed away keeps its log while a reader prevents that it is saved', async () => {
  const { path, aside, database, add } = await opened();
  const other = reader(path, 'old rows');
  await add('row 1');
  renameSync(path, aside);
  expect(database.lostFile()).toBe(path);
  await database.close();
  expect(sidesOf(path)).toEqual([true, true]);
  other.close();
  renameSync(aside, path);
  expect(added(path)).toEqual(['row 1']);
});

test('a mirror that was renamed away is whole without the log, and leaves none at its old name', async () => {
  const { path, aside, database, add } = await opened();
  await add('row 1');
  renameSync(path, aside);
  await database.close();
  expect(sidesOf(path)).toEqual([false, false]);
  expect(added(aside)).toEqual(['row 1']);
});

test('a mirror that is renamed away gets no pages of a backup that takes its name', async () => {
  const { path, aside, database, add } = await opened();
  await database.execute(`VACUUM INTO '${path}.backup'`);
  const rows = Array.from({ length: 40 }, (_, row) => `row ${row}`);
  for (const row of rows) await add(row);
  renameSync(path, aside);
  await database.endWrites();
  expect(database.lostFile()).toBe(path);
  // The log is saved in the background.
  await expect.poll(() => sidesOf(path)).toEqual([false, false]);
  renameSync(`${path}.backup`, path);
  spawnSync(process.execPath, ['-e', WRITE_AND_DIE, path]);
  expect(database.lostFile()).toBe(path);
  await database.close();
  expect(added(aside)).toEqual(rows.toSorted());
});

test('a mirror whose name a new file takes before anybody looks gets no pages of it', async () => {
  const { path, aside, database, add } = await opened();
  await database.execute(`VACUUM INTO '${path}.backup'`);
  for (let row = 0; row < 40; row += 1) await add(`row ${row}`);
  renameSync(path, aside);
  renameSync(`${path}.backup`, path);
  spawnSync(process.execPath, ['-e', WRITE_AND_DIE, path]);
  expect(database.lostFile()).toBe(path);
  await database.close();
  // Its log is lost, and the file itself is whole.
  expect(added(aside)).toEqual([]);
});

test('a mirror that is closed is whole without its log, although another program has it open', async () => {
  const { path, database, add } = await opened();
  reader(path, 'nothing');
  await add('row 1');
  await database.close();
  expect(addedAlone(path)).toEqual(['row 1']);
  expect(statSync(`${path}-wal`).size).toBe(0);
});

test('a mirror is closed at once, although another program reads old rows or writes', async () => {
  const { path, database, add } = await opened();
  reader(path, 'old rows');
  const writer = new Sqlite(path);
  onTestFinished(() => void writer.close());
  await add('row 1');
  writer.exec('BEGIN IMMEDIATE');
  const before = performance.now();
  await database.close();
  // A statement waits 10 s for a lock.
  expect(performance.now() - before).toBeLessThan(5000);
  writer.exec('ROLLBACK');
  expect(added(path)).toEqual(['row 1']);
});

test('a log that cannot be saved keeps no mirror from being lost or closed', async () => {
  const { path, aside, database, add } = await opened();
  await add('row 1');
  // A transaction that a failed roll-back has left open.
  await database.execute('BEGIN');
  renameSync(path, aside);
  expect(database.lostFile()).toBe(path);
  await database.close();
  renameSync(aside, path);
  expect(added(path)).toEqual(['row 1']);
});

test('a log that lost its name is not saved over what another program has written since', async () => {
  const { path, database, add } = await opened();
  reader(path, 'nothing');
  await add('row 1');
  for (const side of ['-wal', '-shm']) renameSync(path + side, `${path}.old${side}`);
  expect(database.lostFile()).toBe(`${path}-wal`);
  // In this process SQLite would share the log by the file, whatever its name is.
  execFileSync(process.execPath, ['-e', WRITE_ROW_2, path]);
  await database.close();
  expect(added(path)).toEqual(['row 2']);
});

test('a command that only reads saves no log, and deletes none', async () => {
  const { path, add } = await opened();
  const status = await openDatabase(urlOf(path), { leavesLog: true });
  await add('row 1');
  const { size } = statSync(`${path}-wal`);
  await status.close();
  expect(statSync(`${path}-wal`).size).toBe(size);
  expect(addedAlone(path)).toEqual([]);
});

/** Whether a connection, or another program, writes now. */
function isLocked(file: Sqlite.Database): boolean {
  try {
    file.exec('BEGIN IMMEDIATE; ROLLBACK');
    return false;
  } catch (error) {
    expect(error).toMatchObject({ code: 'SQLITE_BUSY' });
    return true;
  }
}

test('a mirror that is replaced while it is migrated counts as lost, and leaves no log', async () => {
  const [path, backup] = [join(temporaryFolder(), 'mirror.db'), await freshMirrorFile('sqlite')];
  const other = new Sqlite(path, { timeout: 0 });
  const seen = { isOpen: false };
  const opening = openSqlite(`file:${path}`, { busyTimeoutMs: 1000, leavesLog: false });
  void opening.finally(() => (seen.isOpen = true));
  onTestFinished(async () => await (await opening).close());
  // The migrations may run without a turn of the event loop.
  while (!seen.isOpen && !isLocked(other)) await Promise.resolve();
  expect(seen.isOpen).toBe(false);
  renameSync(backup, path);
  other.close();
  expect((await opening).lostFile()).toBe(path);
  expect(sidesOf(path)).toEqual([false, false]);
  expect(added(path)).toEqual([]);
});
