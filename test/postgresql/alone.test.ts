import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Ledger } from '../../src/core/ledger.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { DatabaseLedger } from '../../src/mirror/gate/ledger.ts';
import { acquireLease } from '../../src/mirror/lease.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { ENTRY } from '../service/gate/bench.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { passSpec } from '../support/pass-spec.ts';
import { newPostgresDatabase, onServer } from '../support/provider.ts';
import { count } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

const START = Date.parse('2026-03-02T08:00:00.000Z');
const GAP = 1000;
const LIMITS = { gapMs: GAP, unansweredMs: GAP, cap: 5000, access: 'x', ownIds: [], bootAt: null };

/** The databases of `many` processes of one mirror, each with its own connections, already open. */
async function processes(many: number, place?: string): Promise<Database[]> {
  const url = place ?? (await freshMirrorFile());
  const databases = await Promise.all(Array.from({ length: many }, () => openDatabase(url)));
  for (const database of databases) onTestFinished(() => database.close());
  const connect = (database: Database): Promise<unknown> =>
    Promise.all([1, 2, 3].map(() => database.execute('SELECT pg_sleep(0.05)')));
  await Promise.all(databases.map(connect));
  return databases;
}

async function grantAtOnce(ledgers: readonly Ledger[], limits: typeof LIMITS, now: number): Promise<number> {
  const grants = await Promise.all(
    ledgers.flatMap((ledger) => [1, 2, 3].map(() => ledger.grant(ENTRY, limits, now))),
  );
  return grants.filter(({ granted }) => granted).length;
}

test('a slot goes to one of many connections that request it at once, never to two in a gap', async () => {
  const databases = await processes(4);
  const ledgers = databases.map((database) => new DatabaseLedger(database));
  for (let round = 0; round < 15; round++) {
    // One of the refused connections claims the next slot. Its claim expires before the next round.
    expect(await grantAtOnce(ledgers, LIMITS, START + round * 3 * GAP)).toBeLessThanOrEqual(1);
    expect(await grantAtOnce(ledgers, LIMITS, START + round * 3 * GAP + GAP / 2)).toBe(0);
  }
  const sent = await databases[0]!.query<{ sent_at: Date }>('SELECT sent_at FROM requests ORDER BY sent_at');
  expect(sent.length).toBe(15);
  for (const [index, { sent_at: at }] of sent.slice(1).entries())
    expect(at.getTime() - sent[index]!.sent_at.getTime()).toBeGreaterThanOrEqual(GAP);
});

test('with default repeatable read, processes create one mirror and get one slot at a time', async () => {
  const url = await newPostgresDatabase();
  await onServer(
    `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_isolation = 'repeatable read'`,
  );
  const ledgers = (await processes(3, url)).map((database) => new DatabaseLedger(database));
  for (let round = 0; round < 3; round++)
    expect(await grantAtOnce(ledgers, LIMITS, START + round * 3 * GAP)).toBeLessThanOrEqual(1);
});

test('many connections at once get exactly the requests that are left of the day budget', async () => {
  const databases = await processes(4);
  const ledgers = databases.map((database) => new DatabaseLedger(database));
  let granted = 0;
  // Negative gaps switch the spacing off: only the cap limits the grants.
  for (let round = 0; round < 10; round++)
    granted += await grantAtOnce(
      ledgers,
      { ...LIMITS, gapMs: -10_000, unansweredMs: -10_000, cap: 7 },
      START + round,
    );
  expect(granted).toBe(7);
  expect(await count(databases[0]!, 'requests')).toBe(7);
});

test('429s of several processes at the same time count as one strike', async () => {
  const databases = await processes(4);
  const ledgers = databases.map((database) => new DatabaseLedger(database));
  await databases[0]!.execute(
    `INSERT INTO requests (sent_at, method, path, reason) SELECT CAST($1 AS timestamptz), 'GET', '/', 'manual' FROM generate_series(1, 4)`,
    new Date(START).toISOString(),
  );
  const now = START + 500;
  await Promise.all(
    ledgers.map((ledger, index) => ledger.pauseGate(index + 1, () => now + 5000, '429', now)),
  );
  expect(await ledgers[0]!.gateState()).toMatchObject({ strikes: 1 });
});

test('the same order from several processes at once is placed once, and all get its number', async () => {
  const databases = await processes(4);
  const spec = passSpec();
  const orders = await Promise.all(
    databases.flatMap((database) => [1, 2].map(() => mirrorOn(database).orders.place(spec, START))),
  );
  expect(orders.filter(({ joined }) => !joined).length).toBe(1);
  expect(new Set(orders.map(({ id }) => id)).size).toBe(1);
});

test('an order whose equal ends while it is placed becomes an order of its own', async () => {
  const [database, other] = await processes(2);
  await mirrorOn(database!).orders.place(passSpec(), START);
  // The daemon ends the equal order between the two statements of `place`.
  const racing: Database = {
    ...database!,
    transaction: (work, alone) =>
      database!.transaction(
        (tx) =>
          work({
            ...tx,
            async query(sql, ...parameters) {
              if (sql.startsWith('SELECT id'))
                await other!.execute(`UPDATE sync_requests SET state = 'done' WHERE id = 1`);
              return await tx.query(sql, ...parameters);
            },
          }),
        alone,
      ),
  };
  expect(await mirrorOn(racing).orders.place(passSpec(), START)).toEqual({ id: 2, joined: false });
});

test('a free lease goes to one of several processes that claim it at once', async () => {
  const databases = await processes(6);
  const claims = databases.map((database, index) =>
    acquireLease(database, {
      host: `host-${index}`,
      pid: 1,
      command: 'test',
      now: () => START,
      isAlive: () => true,
    }),
  );
  const results = await Promise.allSettled(claims);
  expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(1);
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'LEASE_HELD' });
});

test('a slot granted during a transaction is visible to others and survives its rollback', async () => {
  const url = await freshMirrorFile();
  const database = await temporaryDatabase(url);
  const other = await temporaryDatabase(url);
  const ledger = new DatabaseLedger(database);
  const failing = database.transaction(async (tx) => {
    await tx.execute(`INSERT INTO gate_state (id, strikes) VALUES (1, 0)`);
    expect(await ledger.grant(ENTRY, LIMITS, START)).toMatchObject({ granted: true });
    expect(await count(other, 'requests')).toBe(1);
    throw new Error('rolled back');
  });
  await expect(failing).rejects.toThrow('rolled back');
  expect(await count(other, 'requests')).toBe(1);
  expect(await count(other, 'gate_state')).toBe(0);
});

test('the program repeats transactions that the server stops because of a deadlock', async () => {
  const url = await freshMirrorFile();
  const [one, two] = [await temporaryDatabase(url), await temporaryDatabase(url)];
  await one.execute(`INSERT INTO gate_state (id) VALUES (1), (2)`);
  let waiting = 0;
  const both = Promise.withResolvers<void>();
  const strike = (database: Database, ids: readonly number[]): Promise<void> =>
    database.transaction(async (tx) => {
      await tx.execute(`UPDATE gate_state SET strikes = strikes + 1 WHERE id = $1`, ids[0]);
      waiting += 1;
      if (waiting === 2) both.resolve();
      await both.promise;
      await tx.execute(`UPDATE gate_state SET strikes = strikes + 1 WHERE id = $1`, ids[1]);
    });
  await Promise.all([strike(one, [1, 2]), strike(two, [2, 1])]);
  expect(waiting).toBeGreaterThan(2);
  expect(await one.query('SELECT strikes FROM gate_state')).toEqual([{ strikes: 2 }, { strikes: 2 }]);
});

test('loading the tests’ server keeps the exit code of the process, so a failed run is seen', async () => {
  const module = join(import.meta.dirname, '../../prisma/embedded.ts');
  const child = spawn(process.execPath, [
    '-e',
    `import(${JSON.stringify(module)}).then(() => { process.exitCode = 3; })`,
  ]);
  expect(await once(child, 'close')).toEqual([3, null]);
});
