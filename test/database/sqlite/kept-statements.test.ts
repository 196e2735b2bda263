import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { Sql } from '../../../src/database/database.ts';
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
  await expect(database.query('SELECT * FROM nowhere')).rejects.toThrow('no such table: nowhere');
  other.exec('CREATE TABLE nowhere AS SELECT 7 AS n');
  expect(await database.query('SELECT * FROM nowhere')).toEqual([{ n: 7 }]);
});

test('a statement sees a column that changed its type, also after a roll-back of such a change', async () => {
  const path = await freshMirrorFile();
  const database = await temporaryDatabase(path);
  const other = new Sqlite(path);
  onTestFinished(() => void other.close());
  const changes = (type: string): string[] => [
    'DROP TABLE IF EXISTS mine',
    `CREATE TABLE mine (n ${type})`,
    'INSERT INTO mine VALUES (1)',
  ];
  const expectThrice = async (sql: Sql, n: unknown): Promise<void> => {
    for (let times = 0; times < 3; times += 1) expect(await sql.query('SELECT * FROM mine')).toEqual([{ n }]);
  };
  for (const sql of changes('BOOLEAN')) other.exec(sql);
  await expectThrice(database, true);
  for (const sql of changes('INTEGER')) other.exec(sql);
  await expectThrice(database, 1);

  const undone = database.transaction(async (tx) => {
    for (const sql of changes('BOOLEAN')) await tx.execute(sql);
    await expectThrice(tx, true);
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  // SQLite gives the schema the number that it had in the transaction.
  for (const sql of changes('TEXT')) other.exec(sql);
  await expectThrice(database, '1');
});
