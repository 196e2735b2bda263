import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { openMirror } from '../../src/library/library.ts';
import { newPlace } from '../support/mirror.ts';
import { newProgram, type TestProgram } from '../support/program.ts';
import { createDatabase, onServer, postgresUrl } from '../support/provider.ts';
import { asRole } from '../support/roles.ts';
import { freshMirrorFile } from '../support/template.ts';

/** The program with this role's address, and the role's name. */
async function programFor(url: string): Promise<TestProgram & { readonly role: string }> {
  const program = await newProgram({ conversations: [3] }, { DATABASE_URL: url });
  return { ...program, role: new URL(url).username };
}

/** A mirror in the schema `public`, of which only the server's first user has rights. */
async function hiddenMirror(): Promise<string> {
  return await asRole(await freshMirrorFile(), 'REVOKE ALL ON SCHEMA public FROM PUBLIC');
}

/** Rows that differ if a schema, table or view was created. */
async function contentsOf(url: string): Promise<unknown[]> {
  const client = new Client(url.replace(/\?.*/, ''));
  await client.connect();
  try {
    const { rows } = await client.query(
      `SELECT nspname, relname FROM pg_namespace LEFT JOIN pg_class ON relnamespace = pg_namespace.oid
       WHERE nspname NOT LIKE 'pg_%' ORDER BY 1, 2`,
    );
    return rows;
  } finally {
    await client.end();
  }
}

const READ_ONLY = 'is read-only here: it is a standby server, or is set to be read-only';

test.each([
  [
    '',
    [],
    /does not let this user create tables in the schema public.*`GRANT USAGE, CREATE ON SCHEMA public TO me`/,
  ],
  [
    '?schema=mirror',
    [],
    /does not let this user create the schema mirror.*`CREATE SCHEMA mirror AUTHORIZATION me`/,
  ],
  [
    '?schema=Mirror',
    ['CREATE SCHEMA "Mirror"', 'GRANT USAGE ON SCHEMA "Mirror" TO me'],
    /does not let this user create tables in the schema "Mirror".*`GRANT USAGE, CREATE ON SCHEMA "Mirror" TO me`/,
  ],
  [
    '?schema=mirror',
    ['CREATE SCHEMA mirror AUTHORIZATION me', 'ALTER ROLE me SET default_transaction_read_only = on'],
    new RegExp(READ_ONLY),
  ],
  [
    '?schema=mirror',
    ['CREATE SCHEMA mirror AUTHORIZATION me', 'ALTER ROLE me CONNECTION LIMIT 1'],
    /accepts no more connections/,
  ],
])(
  'doctor without a mirror (%s, %j) fails where no sync can create one, and creates nothing',
  async (schema, grants, cause) => {
    const place = await newPlace();
    const program = await programFor(`${await asRole(place, ...grants)}${schema}`);
    const before = await contentsOf(place);
    const { exitCode, stdout } = await program.run('doctor');
    const words = stdout.replaceAll(/\s+/g, ' ').replaceAll(new RegExp(`\\b${program.role}\\b`, 'g'), 'me');
    expect(words).toMatch(cause);
    expect(words).toContain('failed database');
    expect(exitCode).toBe(1);
    expect(await contentsOf(place)).toEqual(before);
    expect(program.sandbox.arrivals).toEqual([]);
    expect((await program.run('sync')).exitCode).toBe(1);
  },
);

test.each([
  ['', ['GRANT USAGE, CREATE ON SCHEMA public TO me']],
  ['?schema=mirror', ['CREATE SCHEMA mirror AUTHORIZATION me']],
])('doctor without a mirror (%s, %j) passes where a sync can create one', async (schema, grants) => {
  const place = await newPlace();
  const program = await programFor(`${await asRole(place, ...grants)}${schema}`);
  const { exitCode, stdout } = await program.run('doctor');
  expect(stdout).toContain('no mirror yet');
  expect(exitCode).toBe(0);
  expect((await program.run('sync')).exitCode).toBe(0);
});

test('doctor without a mirror fails if the database has another encoding than UTF8', async () => {
  const name = await createDatabase('template0 ENCODING LATIN1');
  onTestFinished(() => onServer(`DROP DATABASE ${name} WITH (FORCE)`));
  const program = await programFor(postgresUrl(name));
  const { exitCode, stdout } = await program.run('doctor');
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('has the encoding LATIN1');
  expect(exitCode).toBe(2);
});

test.each([
  [['doctor']],
  [['status']],
  [['query', 'SELECT 1']],
  [['tables']],
  [['changes']],
  [['export', 'conversations']],
  [['plan']],
])('%j names the right that is missing where the role may not use the schema', async (argv) => {
  const program = await programFor(await hiddenMirror());
  const { exitCode, stdout, stderr } = await program.run(...argv);
  const words = (stdout + stderr).replaceAll(/\s+/g, ' ');
  expect(words).toContain('does not let this user look into the schema public');
  expect(words).toContain(`GRANT USAGE ON SCHEMA public TO ${program.role}`);
  expect(words).not.toContain('no mirror');
  expect(exitCode).toBe(1);
});

test('the package names the right that is missing where the role may not use the schema', async () => {
  await expect(openMirror(await hiddenMirror())).rejects.toMatchObject({
    code: 'DATABASE',
    message: expect.stringContaining('does not let this user look into the schema public'),
  });
});
