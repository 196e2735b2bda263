import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDatabase } from '../../support/mirror.ts';
import { freshMirrorFile } from '../../support/template.ts';

test('a statement that runs again uses its new values and sees columns that others have added', async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  const other = new Sqlite(path);
  onTestFinished(() => void other.close());
  const rowsOf = (name: string): Promise<unknown[]> =>
    database.query('SELECT * FROM settings WHERE name = $1', name);
  await database.execute(`INSERT INTO settings (name, value) VALUES ('a', '1'), ('b', '2')`);
  expect(await rowsOf('a')).toEqual([{ name: 'a', value: '1' }]);
  expect(await rowsOf('b')).toEqual([{ name: 'b', value: '2' }]);
  other.exec(`ALTER TABLE settings ADD COLUMN note TEXT DEFAULT 'new'`);
  expect(await rowsOf('a')).toEqual([{ name: 'a', value: '1', note: 'new' }]);
  await expect(database.query('SELECT * FROM nowhere')).rejects.toThrow('TableDoesNotExist');
  other.exec('CREATE TABLE nowhere AS SELECT 7 AS n');
  expect(await database.query('SELECT * FROM nowhere')).toEqual([{ n: 7 }]);
});
