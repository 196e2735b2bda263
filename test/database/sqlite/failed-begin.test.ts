import Sqlite from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { temporaryDatabase } from '../../support/mirror.ts';
import { count } from '../../support/rows.ts';
import { freshMirrorFile } from '../../support/template.ts';

test('a transaction that cannot begin fails alone, and later ones run', async () => {
  const prepare = Sqlite.prototype.prepare;
  let isFailing = false;
  // A statement is prepared once for each connection.
  const failing = vi.spyOn(Sqlite.prototype, 'prepare').mockImplementation(function (
    this: Sqlite.Database,
    sql: string,
  ) {
    if (sql === 'BEGIN' && isFailing) throw new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR');
    return prepare.call(this, sql);
  });
  const database = await temporaryDatabase(await freshMirrorFile());
  const write = () =>
    database.transaction((tx) =>
      tx.execute(`INSERT INTO epochs (after_id, epoch, begun_at) VALUES (1, 'e', '2026-03-02')`),
    );
  isFailing = true;
  await expect(write()).rejects.toMatchObject({ code: 'DATABASE' });
  isFailing = false;
  expect(await write()).toBe(1);
  expect(await count(database, 'epochs')).toBe(1);
  failing.mockRestore();
});
