import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/database/open.ts';
import { urlOf } from '../../support/provider.ts';
import { freshMirrorFile } from '../../support/template.ts';

test('a closed database refuses every later transaction and statement, and none of them hangs', async () => {
  const database = await openDatabase(urlOf(await freshMirrorFile()));
  await database.close();

  const refused = { code: 'DATABASE', message: expect.stringContaining('is closed') as string };
  await expect(database.transaction(() => Promise.resolve())).rejects.toMatchObject(refused);
  await expect(database.transaction(() => Promise.resolve())).rejects.toMatchObject(refused);
  await expect(database.query('SELECT 1')).rejects.toMatchObject(refused);
});
