import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { DatabaseLedger } from '../../src/mirror/gate/ledger.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { ENTRY } from '../service/gate/bench.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { passSpec } from '../support/pass-spec.ts';
import { newPostgresDatabase, onServer } from '../support/provider.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const START = Date.parse('2026-03-02T08:00:00.000Z');
const LIMITS = { gapMs: 1000, unansweredMs: 1000, cap: 5000, access: 'x', ownIds: [], bootAt: null };

const TABLE_LOCKS = [
  'ACCESS SHARE',
  'ROW SHARE',
  'ROW EXCLUSIVE',
  'SHARE UPDATE EXCLUSIVE',
  'SHARE',
  'SHARE ROW EXCLUSIVE',
  'EXCLUSIVE',
  'ACCESS EXCLUSIVE',
];
const ROW_LOCKS = ['KEY SHARE', 'SHARE', 'NO KEY UPDATE', 'UPDATE'];

let roles = 0;

interface Recipe {
  /** The statements of a superuser. */
  readonly role: string;
  /** The statements of the daemon's role. */
  readonly grants: string;
}

/** The statements of docs/sql.md that create a role for readers, for a role of this name. */
function documentedReader(role: string): Recipe {
  const text = readFileSync('docs/sql.md', 'utf8').split('## A role for readers on PostgreSQL')[1] ?? '';
  const [, statements = '', , grants = ''] = text.replaceAll(/\breader\b/g, role).split('```');
  return { role: statements, grants };
}

/** The same for a mirror in the schema `public`. The text says what to change for it. */
function readerOfPublic(role: string): Recipe {
  const recipe = documentedReader(role);
  return {
    role: recipe.role.replace(/^ALTER ROLE .* search_path .*$/m, ''),
    grants: recipe.grants.replaceAll('SCHEMA mirror', 'SCHEMA public'),
  };
}

const newRole = (): string => `reader_${process.pid}_${(roles += 1)}`;

/** The address of a database for a role whose password is that of the documents. It is dropped at the end. */
function addressFor(role: string, url: string): string {
  onTestFinished(() => onServer(`DROP OWNED BY ${role}; DROP ROLE ${role}`, url));
  const address = new URL(url);
  address.username = role;
  address.password = encodeURIComponent('…');
  return address.href;
}

async function connect(address: string): Promise<Client> {
  const client = new Client(address);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** Connects as the documented reader. It switches off the settings that would end its locks. */
async function connectReader(url: string): Promise<Client> {
  const role = newRole();
  const recipe = readerOfPublic(role);
  await onServer(recipe.role + recipe.grants, url);
  const reader = await connect(addressFor(role, url));
  await reader.query(`SET default_transaction_read_only = off; SET statement_timeout = 0`);
  return reader;
}

/** Takes advisory locks: those of earlier versions of the program, and the one of Prisma's schema engine. */
async function lockKeys(reader: Client): Promise<void> {
  for (const name of ['gate', 'orders', 'migration'])
    await reader.query(`SELECT pg_advisory_lock(hashtextextended('inbox-mirror ${name} public', 0))`);
  await reader.query('SELECT pg_advisory_lock(72707369)');
}

/** Takes every lock on tables and rows that the server allows, in one transaction. @returns their modes */
async function lockTables(reader: Client): Promise<Set<string>> {
  const { rows } = await reader.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  expect(rows.length).toBeGreaterThan(10);
  const taken = new Set<string>();
  await reader.query('BEGIN');
  for (const { name } of rows) {
    for (const statement of [
      ...TABLE_LOCKS.map((mode) => `LOCK TABLE ${name} IN ${mode} MODE`),
      ...ROW_LOCKS.map((mode) => `SELECT * FROM ${name} FOR ${mode}`),
    ]) {
      await reader.query('SAVEPOINT before');
      const isTaken = await reader.query(statement).then(
        () => true,
        (error: { code?: string }) => {
          expect(error.code).toBe('42501');
          return false;
        },
      );
      if (isTaken) taken.add(statement.replace(name, 'TABLE'));
      else await reader.query('ROLLBACK TO before');
    }
  }
  return taken;
}

test('the documented roles of the daemon and of a reader are enough, and the reader gets its settings', async () => {
  const url = await newPostgresDatabase();
  const [daemon, role] = [newRole(), newRole()];
  const text = readFileSync('docs/deploy.md', 'utf8').split('## PostgreSQL')[1] ?? '';
  // The other statement of this block creates a database instead of the schema.
  const [, statements = ''] = text.replace(/^CREATE DATABASE .*$/m, '').split('```');
  await onServer(statements.replaceAll(/(ROLE|AUTHORIZATION) mirror\b/g, `$1 ${daemon}`), url);
  const address = addressFor(daemon, url);
  await temporaryDatabase(`${address}?schema=mirror`);
  const recipe = documentedReader(role);
  await onServer(recipe.role, url);
  await onServer(recipe.grants, address);
  const reader = await connect(addressFor(role, url));
  expect((await reader.query('SELECT count(*)::integer AS open FROM conversation_facts')).rows).toEqual([
    { open: 0 },
  ]);
  const settings = `SELECT current_setting('statement_timeout') AS limit, current_setting('jit') AS jit`;
  expect((await reader.query(settings)).rows).toEqual([{ limit: '1min', jit: 'off' }]);
  await expect(reader.query('CREATE TEMPORARY TABLE notes (id integer)')).rejects.toThrow('read-only');
});

test('a reader that takes every lock it can stops neither slots, orders, pages nor a start', async () => {
  const url = await freshMirrorFile();
  const reader = await connectReader(url);
  await lockKeys(reader);
  const mirror = await quickMirror({ path: url, sandbox: { inboxes: 1, conversations: 5 } });
  await mirror.sync();
  expect([...(await lockTables(reader))]).toEqual(['LOCK TABLE TABLE IN ACCESS SHARE MODE']);

  const database = await temporaryDatabase(url);
  const ledger = new DatabaseLedger(database);
  const later = mirror.clock.now() + 60_000;
  const slot = await ledger.grant(ENTRY, LIMITS, later);
  expect(slot).toMatchObject({ granted: true });
  expect(await mirrorOn(database).orders.place(passSpec(), later)).toMatchObject({ joined: false });
  await mirror.sync();
  await expectEqualToService(mirror);
});

test('a reader with its locks does not stop the first start of a mirror', async () => {
  const url = await newPostgresDatabase();
  await lockKeys(await connectReader(url));
  const database = await temporaryDatabase(url);
  expect(await mirrorOn(database).leaseHolder()).toBeNull();
});

test('the mirror needs no advisory lock: it works where its role may not take any', async () => {
  const url = await newPostgresDatabase();
  const role = `mirror_${process.pid}_${(roles += 1)}`;
  await onServer(
    `CREATE ROLE ${role} LOGIN PASSWORD 'weak'; CREATE SCHEMA mirror AUTHORIZATION ${role};
     DO $$ DECLARE called regprocedure; BEGIN
       FOR called IN SELECT oid::regprocedure FROM pg_proc WHERE proname ~ '^pg_(try_)?advisory_' LOOP
         EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || called || ' FROM PUBLIC';
       END LOOP;
     END $$`,
    url,
  );
  onTestFinished(() => onServer(`DROP OWNED BY ${role}; DROP ROLE ${role}`, url));
  const address = new URL(`${url}?schema=mirror`);
  address.username = role;
  address.password = 'weak';
  const opened = await Promise.all([1, 2, 3].map(() => openDatabase(address.href)));
  for (const database of opened) onTestFinished(() => database.close());
  const [database] = opened;
  const ledger = new DatabaseLedger(database!);
  const slot = await ledger.grant(ENTRY, LIMITS, START);
  expect(slot).toMatchObject({ granted: true });
  await ledger.pauseGate(slot.granted ? slot.id : 0, () => START + 5000, '429', START + 10);
  expect(await ledger.gateState()).toMatchObject({ strikes: 1 });
  expect(await mirrorOn(database!).orders.place(passSpec(), START)).toEqual({ id: 1, joined: false });
});
