import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/database/open.ts';
import { DatabaseLedger } from '../../../src/mirror/gate/ledger.ts';
import { urlOf } from '../../support/provider.ts';
import { freshMirrorFile } from '../../support/template.ts';

test('the gate can write what it has read, although another program writes at the same time', async () => {
  const path = await freshMirrorFile();
  const database = await openDatabase(urlOf(path));
  onTestFinished(() => database.close());
  await database.execute(`INSERT INTO gate_state (id, slowdown) VALUES (1, 4)`);
  const other = new Sqlite(path, { timeout: 0 });
  onTestFinished(() => void other.close());
  let tries = 0;
  const ledger = new DatabaseLedger({
    ...database,
    transaction: (work, alone) =>
      database.transaction(
        (tx) =>
          work({
            ...tx,
            async query(sql, ...values) {
              const rows = await tx.query(sql, ...values);
              tries += 1;
              try {
                other.exec(`UPDATE gate_state SET cause = 'another program'`);
              } catch (error) {
                expect(error).toMatchObject({ code: 'SQLITE_BUSY' });
              }
              return rows as never;
            },
          }),
        alone,
      ),
  });
  expect(await ledger.ease(Date.parse('2026-03-02T08:00:00.000Z'))).toBeLessThan(4);
  expect(tries).toBe(1);
});
