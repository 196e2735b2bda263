import { setTimeout } from 'node:timers/promises';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { temporaryDatabase, temporaryFolder } from '../../support/mirror.ts';

test('a new file into which another process writes at this moment is opened when it has written', async () => {
  const path = join(temporaryFolder(), 'mirror.db');
  // SQLite does not wait for this lock when a file is switched to WAL.
  const other = new Sqlite(path);
  other.exec('BEGIN IMMEDIATE');
  const opening = temporaryDatabase(path);
  await setTimeout(100);
  other.exec('COMMIT');
  other.close();
  const database = await opening;
  expect(await database.query('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }]);
});
