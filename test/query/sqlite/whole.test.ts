import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { damageOf } from '../../../src/query/sqlite/whole.ts';
import { temporaryFolder } from '../../support/mirror.ts';

const { signal } = new AbortController();

test('a whole file has no damage; one whose index lacks a row does, and so does a missing one', async () => {
  const path = join(temporaryFolder(), 'mirror.db');
  const url = `file:${path}`;
  expect(await damageOf(url, signal)).toMatch(/no mirror/i);
  const database = new Sqlite(path);
  database.exec('CREATE TABLE a (b); CREATE INDEX c ON a (b); INSERT INTO a VALUES (1), (2)');
  expect(await damageOf(url, signal)).toBeNull();
  database.unsafeMode();
  database.pragma('writable_schema = ON');
  database.exec(`UPDATE sqlite_schema SET sql = replace(sql, '(b)', '(-b)') WHERE name = 'c'`);
  database.close();
  expect(await damageOf(url, signal)).toMatch(/index c/);
});

test('a check that is no longer wanted ends at once', async () => {
  const path = join(temporaryFolder(), 'mirror.db');
  const database = new Sqlite(path);
  database.exec(`CREATE TABLE a (b); INSERT INTO a WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL
    SELECT i + 1 FROM n LIMIT 500000) SELECT i || hex(randomblob(40)) FROM n; CREATE INDEX c ON a (b)`);
  database.close();
  const stop = new AbortController();
  const checking = damageOf(`file:${path}`, stop.signal);
  setTimeout(() => stop.abort(new Error('stopped')), 100);
  await expect(checking).rejects.toThrow('stopped');
  stop.abort();
  await expect(damageOf(`file:${path}`, stop.signal)).rejects.toThrow('stopped');
});
