import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Ledger } from '../../src/core/ledger.ts';
import { LIST_NAMES } from '../../src/core/lists.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { ledgerOf } from '../../src/mirror/gate/ledger.ts';
import { acquireLease } from '../../src/mirror/lease.ts';
import { placeOrder } from '../../src/mirror/passes/orders.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { newPostgresDatabase, onServer } from '../support/provider.ts';
import { count } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

const START = Date.parse('2026-03-02T08:00:00.000Z');
const ENTRY = { method: 'GET', path: '/inboxes', list: 'inboxes', inboxId: null, reason: 'manual' } as const;
const GAP = 1000;
const LIMITS = { gapMs: GAP, unansweredMs: GAP, cap: 5000, key: 'x', own: [] };

/** So many processes of one mirror, as the server sees them: each with its own connections, all of them open already. */
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

test('of many connections that ask for a slot at once one gets it, and never two within the gap', async () => {
  const databases = await processes(4);
  const ledgers = databases.map(ledgerOf);
  for (let round = 0; round < 15; round++) {
    // The slot that others were kept waiting for is claimed by one of them; the claim lapses within this.
    expect(await grantAtOnce(ledgers, LIMITS, START + round * 3 * GAP)).toBeLessThanOrEqual(1);
    expect(await grantAtOnce(ledgers, LIMITS, START + round * 3 * GAP + GAP / 2)).toBe(0);
  }
  const sent = await databases[0]!.query<{ sent_at: Date }>('SELECT sent_at FROM requests ORDER BY sent_at');
  expect(sent.length).toBe(15);
  for (const [index, { sent_at: at }] of sent.slice(1).entries())
    expect(at.getTime() - sent[index]!.sent_at.getTime()).toBeGreaterThanOrEqual(GAP);
});

test('that is so on a server whose transactions are isolated more strictly by default, and a mirror is made there by many at once', async () => {
  const url = await newPostgresDatabase();
  await onServer(
    `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_isolation = 'repeatable read'`,
  );
  const ledgers = (await processes(3, url)).map(ledgerOf);
  for (let round = 0; round < 3; round++)
    expect(await grantAtOnce(ledgers, LIMITS, START + round * 3 * GAP)).toBeLessThanOrEqual(1);
});

test('many connections that ask at once for the last requests of the day get just so many', async () => {
  const databases = await processes(4);
  const ledgers = databases.map(ledgerOf);
  let granted = 0;
  // Spacing is out of the way: only the cap is left to keep to.
  for (let round = 0; round < 10; round++)
    granted += await grantAtOnce(
      ledgers,
      { ...LIMITS, gapMs: -10_000, unansweredMs: -10_000, cap: 7 },
      START + round,
    );
  expect(granted).toBe(7);
  expect(await count(databases[0]!, 'requests')).toBe(7);
});

test('requests that were refused together in several processes are one strike', async () => {
  const databases = await processes(4);
  const ledgers = databases.map(ledgerOf);
  await databases[0]!.execute(
    `INSERT INTO requests (sent_at, method, path, reason) SELECT CAST($1 AS timestamptz), 'GET', '/', 'manual' FROM generate_series(1, 4)`,
    new Date(START).toISOString(),
  );
  const now = START + 500;
  await Promise.all(ledgers.map((ledger, index) => ledger.pause(index + 1, () => now + 5000, '429', now)));
  expect(await ledgers[0]!.state()).toMatchObject({ strikes: 1 });
});

test('the same order from several processes at once is placed once, and all are told its number', async () => {
  const databases = await processes(4);
  const spec = {
    kind: 'sync',
    lists: LIST_NAMES,
    inboxId: null,
    acceptDeletes: false,
    requestedBy: 'test',
  } as const;
  const orders = await Promise.all(
    databases.flatMap((database) => [1, 2].map(() => placeOrder(database, spec, START))),
  );
  expect(orders.filter(({ joined }) => !joined).length).toBe(1);
  expect(new Set(orders.map(({ id }) => id)).size).toBe(1);
});

test('a free lease that several processes claim at once is one’s', async () => {
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

test('a slot is granted, and stands in the ledger for all to see, while a page is being written; it stays when that is rolled back', async () => {
  const url = await freshMirrorFile();
  const database = await temporaryDatabase(url);
  const other = await temporaryDatabase(url);
  const ledger = ledgerOf(database);
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

test('transactions that the server stops because they wait for each other are run again', async () => {
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

test('whoever uses the server of the tests keeps the exit code that it has come to, so that a run that failed is told', async () => {
  const module = join(import.meta.dirname, '../../prisma/embedded.ts');
  const child = spawn(process.execPath, [
    '-e',
    `import(${JSON.stringify(module)}).then(() => { process.exitCode = 3; })`,
  ]);
  expect(await once(child, 'close')).toEqual([3, null]);
});
