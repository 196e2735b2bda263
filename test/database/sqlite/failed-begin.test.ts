import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDatabase } from '../../support/mirror.ts';
import { freshMirrorFile } from '../../support/template.ts';

/** Opens a mirror whose statements with these words fail while `fault.now` is true. */
async function failingAt(words: RegExp) {
  const fault = { now: false };
  const prepare = Sqlite.prototype.prepare;
  const spy = vi.spyOn(Sqlite.prototype, 'prepare').mockImplementation(function (
    this: Sqlite.Database,
    sql: string,
  ) {
    const statement = prepare.call(this, sql);
    const { run } = statement;
    if (words.test(sql))
      statement.run = (...values: unknown[]) => {
        if (fault.now) throw new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR');
        return Reflect.apply(run, statement, values) as Sqlite.RunResult;
      };
    return statement;
  });
  onTestFinished(() => spy.mockRestore());
  const database = await temporaryDatabase(await freshMirrorFile());
  const write = (id: number) =>
    database.transaction((tx) =>
      tx.execute(`INSERT INTO epochs (after_id, epoch, begun_at) VALUES ($1, 'e', '2026-03-02')`, id),
    );
  return { database, fault, write };
}

test.each([
  ['begin', /^BEGIN/],
  ['end, not even by a roll-back,', /^(COMMIT|ROLLBACK)/],
])('a transaction that cannot %s fails alone, and later ones run', async (_what, words) => {
  const { database, fault, write } = await failingAt(words);
  fault.now = true;
  await expect(write(1)).rejects.toMatchObject({ code: 'DATABASE' });
  fault.now = false;
  expect(await write(2)).toBe(1);
  expect(await database.query('SELECT after_id FROM epochs')).toEqual([{ after_id: 2 }]);
});
