import { copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { openToRead } from '../../src/query/open.ts';
import { temporaryFolder } from '../support/mirror.ts';
import { freshMirrorFile } from '../support/template.ts';

/** A mirror with a reader, a backup, and changes since the backup that are in the log only. */
async function readWhileRestoring() {
  const path = await freshMirrorFile('sqlite');
  const backup = join(temporaryFolder(), 'backup.db');
  const writer = await openDatabase(`file:${path}`);
  await writer.query(`VACUUM INTO '${backup}'`);
  const reader = await openToRead(`file:${path}`);
  for (let nth = 0; nth < 200; nth += 1)
    await writer.execute(
      `INSERT INTO settings (name, value) VALUES ('note ${nth}', '"${'x'.repeat(4000)}"')`,
    );
  expect(await reader.query(`SELECT 1 FROM settings WHERE name = 'note 199'`)).toHaveLength(1);
  await writer.close();
  return { path, backup, reader };
}

test('a reader writes nothing into a backup that a person copies over the mirror', async () => {
  const { path, backup, reader } = await readWhileRestoring();
  for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
  copyFileSync(backup, path);
  await reader.query('SELECT count(*) FROM settings').catch(() => undefined);
  await reader.close();
  expect(readFileSync(path).equals(readFileSync(backup))).toBe(true);
  const restored = new SqliteDatabase(path, { readonly: true });
  expect(restored.pragma('integrity_check', { simple: true })).toBe('ok');
  restored.close();
});

test('a reader says that the mirror was replaced, and leaves the side files of the new one', async () => {
  const { path, backup, reader } = await readWhileRestoring();
  for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
  renameSync(backup, path);
  const writer = await openDatabase(`file:${path}`);
  await expect(reader.query('SELECT count(*) FROM settings')).rejects.toThrow(
    /was deleted, or replaced by another one, after it was opened\. Open it again/,
  );
  await writer.execute(`INSERT INTO settings (name, value) VALUES ('new', '1')`);
  await reader.close();
  expect(await writer.query(`SELECT 1 FROM settings WHERE name = 'new'`)).toHaveLength(1);
  await writer.close();
});

test('a mirror whose log is deleted under its writer says so, and blames no disk', async () => {
  const path = await freshMirrorFile('sqlite');
  const writer = await openDatabase(`file:${path}`);
  await writer.execute(`INSERT INTO settings (name, value) VALUES ('new', '1')`);
  rmSync(`${path}-wal`);
  const message =
    /ends too early.*-wal.* was deleted or cut while a program had it open\. Stop every program/;
  await expect(openDatabase(`file:${path}`)).rejects.toThrow(message);
  await writer.close();
  const later = await openDatabase(`file:${path}`);
  expect(await later.query(`SELECT 1 FROM settings WHERE name = 'new'`)).toHaveLength(1);
  await later.close();
});
