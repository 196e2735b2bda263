import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { temporaryFolder } from '../../support/mirror.ts';

async function opened(path: string): Promise<Database> {
  const database = await openDatabase(`file:${path}`);
  onTestFinished(() => database.close());
  return database;
}

test('a page that was read wrongly once is read again', async () => {
  const path = join(temporaryFolder(), 'mirror.db');
  const writer = await openDatabase(`file:${path}`);
  await writer.execute(`CREATE TABLE large (id INTEGER PRIMARY KEY, value TEXT)`);
  await writer.execute(
    `INSERT INTO large WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 2000)
     SELECT id, printf('%.200c', 'x') FROM n`,
  );
  await writer.close();

  const database = await opened(path);
  const count = async (): Promise<unknown> => await database.query(`SELECT count(*) AS n FROM large`);
  const whole = readFileSync(path);
  // The rows fill the end of the file.
  const damaged = Buffer.from(whole);
  damaged.fill(0, whole.length / 2);
  writeFileSync(path, damaged);
  await expect(count()).rejects.toMatchObject({ code: 'DATABASE', isDamage: true, mayBeWhole: true });
  writeFileSync(path, whole);
  expect(await count()).toEqual([{ n: 2000 }]);
});

test('a trigger of another program that meets a wrong JSON is no damage of the file', async () => {
  const database = await opened(join(temporaryFolder(), 'mirror.db'));
  await database.execute(`CREATE TRIGGER audit AFTER INSERT ON settings BEGIN
    SELECT json_extract('{x', '$.a'); END`);
  const refused = database.execute(`INSERT INTO settings (name, value) VALUES ('a', 'b')`);
  await expect(refused).rejects.toMatchObject({
    message: expect.stringContaining('malformed JSON') as string,
  });
  await expect(refused).rejects.not.toMatchObject({ isDamage: true });
});
