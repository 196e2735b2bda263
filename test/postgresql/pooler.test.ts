import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { openForReading } from '../../src/database/read-only.ts';
import { MirrorError } from '../../src/core/errors.ts';
import { openReadOnly } from '../../src/query/open.ts';
import { newPlace } from '../support/mirror.ts';
import { listenAsPooler, startPooler } from '../support/pooler.ts';
import { testProgram } from '../support/program.ts';
import { freshMirrorFile } from '../support/template.ts';

const REFUSED = /leads through a connection pooler in transaction mode: .* set the pooler to session mode/;

test.each([1, 3])(
  'a pooler in transaction mode with %i sessions is refused: exit 2, and nothing is created',
  async (sessions) => {
    const url = await newPlace();
    const address = await listenAsPooler(url, { mode: 'transaction', sessions });
    const program = await testProgram({}, { DATABASE_URL: address });
    for (const command of [['sync'], ['start'], ['status'], ['doctor'], ['query', 'SELECT 1']]) {
      const { exitCode, stdout, stderr } = await program.run(...command);
      expect((stdout + stderr).replaceAll(/\s+/g, ' '), command[0]).toMatch(REFUSED);
      expect(exitCode, command[0]).toBe(2);
    }
    expect(program.sandbox.arrivals).toEqual([]);
    const direct = new Client(url);
    await direct.connect();
    onTestFinished(() => direct.end());
    expect((await direct.query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).rows).toEqual([]);
  },
);

test('a program that opens a mirror through a pooler in transaction mode gets the same error', async () => {
  const address = await listenAsPooler(await freshMirrorFile(), { mode: 'transaction', sessions: 1 });
  const opened = openForReading(address, () => new MirrorError('USAGE', 'no mirror'));
  await expect(opened).rejects.toMatchObject({ code: 'CONFIG', message: expect.stringMatching(REFUSED) });
});

test('a pooler that is restarted in transaction mode is refused too', async () => {
  const pooler = await startPooler(await freshMirrorFile(), { mode: 'session', sessions: 4 });
  const database = await openDatabase(pooler.address);
  onTestFinished(() => database.close());
  expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  pooler.restartAs('transaction');
  // The first statement may meet the end of its connection.
  const refused = expect.poll(async () => await database.query('SELECT 1').catch(String));
  await refused.toMatch(REFUSED);
});

test('a pooler in session mode works', async () => {
  const address = await listenAsPooler(await newPlace(), { mode: 'session', sessions: 20 });
  const program = await testProgram({ inboxes: 1, conversations: 12 }, { DATABASE_URL: address });
  expect((await program.run('sync')).exitCode).toBe(0);
  const { stdout } = await program.run('query', 'SELECT count(*) AS n FROM conversations', '--format', 'csv');
  expect(stdout).toBe('n\n12\n');
});

test('a pooler in session mode whose one session is in use answers after a wait', async () => {
  const mirror = await openReadOnly(
    await listenAsPooler(await freshMirrorFile(), { mode: 'session', sessions: 1 }),
  );
  onTestFinished(() => mirror.close());
  const { columns } = await mirror.query('SELECT 1 AS one');
  expect(columns.map(({ name }) => name)).toEqual(['one']);
});
