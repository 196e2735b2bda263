import { lstatSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { databaseBytes, rememberFiles } from '../../../src/database/sqlite/file.ts';
import { temporaryFolder } from '../../support/mirror.ts';

test('beside a replaced database, only a side file that is surely the old one is deleted', () => {
  const path = join(temporaryFolder(), 'mirror.db');
  const [log, index] = [`${path}-wal`, `${path}-shm`];
  for (const file of [path, log, index]) writeFileSync(file, 'old');
  const files = rememberFiles(path);
  files.rememberSides();
  writeFileSync(`${path}.new`, 'new');
  renameSync(`${path}.new`, path);
  // Each look at a link to itself fails.
  rmSync(log);
  symlinkSync(basename(log), log);
  expect([files.lost(), files.atName()]).toEqual([path, 'another']);
  files.removeSides();
  expect(lstatSync(log).isSymbolicLink()).toBe(true);
  expect(lstatSync(index, { throwIfNoEntry: false })).toBeUndefined();
});

test('a replaced database is lost although its old side file cannot be removed', () => {
  const path = join(temporaryFolder(), 'mirror.db');
  writeFileSync(path, 'old');
  // A folder is no file to remove.
  mkdirSync(`${path}-wal`);
  const files = rememberFiles(path);
  files.rememberSides();
  writeFileSync(`${path}.new`, 'new');
  renameSync(`${path}.new`, path);
  files.removeSides();
  expect(files.lost()).toBe(path);
});

test('a file that cannot be looked at counts no bytes', () => {
  const path = join(temporaryFolder(), 'mirror.db');
  symlinkSync(basename(path), path);
  expect(databaseBytes(path)).toBe(0);
});
