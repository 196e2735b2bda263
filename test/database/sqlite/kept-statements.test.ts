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

test('the values of a statement do not choose its plan, so that no run compiles it again', async () => {
  const path = await freshMirrorFile();
  const other = new Sqlite(path);
  onTestFinished(() => void other.close());
  other.exec(`CREATE TABLE mine (kind TEXT, day INTEGER);
    WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 5000)
      INSERT INTO mine SELECT iif(n % 1000 = 0, 'rare', 'common'), n % 100 FROM numbers;
    CREATE INDEX mine_kind ON mine (kind);
    CREATE INDEX mine_day ON mine (day);
    ANALYZE`);
  const sql = 'EXPLAIN QUERY PLAN SELECT * FROM mine WHERE kind = $1 AND day = $2';
  const bare = sql.replaceAll(/\$\d/g, '?');
  const indexOf = (plan: unknown[]): unknown => /mine_(?:kind|day)/.exec(JSON.stringify(plan))?.[0];
  // The driver's SQLite looks at a value by itself.
  expect(indexOf(other.prepare(bare).all('rare', 7))).toBe('mine_kind');
  expect(indexOf(other.prepare(bare).all('common', 7))).toBe('mine_day');
  const database = await temporaryDatabase(path);
  const chosen = indexOf(await database.query(sql, 'rare', 7));
  expect(chosen).toBeDefined();
  expect(indexOf(await database.query(sql, 'common', 7))).toBe(chosen);
});
