import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { asPostgresError } from '../../src/database/postgresql/errors.ts';
import { temporaryFolder } from '../support/mirror.ts';

/** The daemon waits these out. Any other error would end it as a bug. */
const PASSING = { code: 'DATABASE', isDamage: false };

test.each([
  ['connect', 'EMFILE'],
  ['connect', 'ENETDOWN'],
  ['connect', 'EADDRNOTAVAIL'],
  ['connect', 'EACCES'],
  ['getaddrinfo', 'EAI_FAIL'],
  ['read', 'ENETRESET'],
])('a server that cannot be reached because of %s %s is waited for', (syscall, code) => {
  const error = Object.assign(new Error(`${syscall} ${code} db.example:5432`), { code, syscall, errno: -1 });
  expect(asPostgresError(error, 'db')).toMatchObject({
    ...PASSING,
    message: expect.stringContaining('cannot be reached. Nothing is lost'),
  });
});

test('so is one that the typed client cannot reach: its message begins with a line of its own', () => {
  const error = Object.assign(
    new Error('\nInvalid `findMany()` invocation:\n\n\nconnect EMFILE db.example'),
    {
      name: 'PrismaClientKnownRequestError',
      code: 'EMFILE',
    },
  );
  expect(asPostgresError(error, 'db')).toMatchObject(PASSING);
});

test('a certificate that cannot be read is named, and waited for', () => {
  const folder = temporaryFolder();
  const unreadable = Object.assign(new Error(`EACCES: permission denied, open '${folder}/root.crt'`), {
    code: 'EACCES',
    syscall: 'open',
  });
  for (const error of [errorOf(() => readFileSync(folder)), unreadable])
    expect(asPostgresError(error, 'db')).toMatchObject({
      ...PASSING,
      message: expect.stringMatching(/sslrootcert in DATABASE_URL, .*\((EISDIR|EACCES): /),
    });
});

const PEER = 'for host "10.0.0.7", user "me", database "mail"';

test.each([
  `no pg_hba.conf entry ${PEER}, no encryption`,
  `pg_hba.conf rejects connection ${PEER}, no encryption`,
  // PostgreSQL 13 and earlier.
  `no pg_hba.conf entry ${PEER}, SSL off`,
])('a server that says %j wants TLS', (text) => {
  const { message } = asPostgresError(refusal('28000', text), 'db') as Error;
  expect(message).toMatch(/wants TLS.* sslmode=verify-full&sslrootcert=/);
  expect(message).toContain(`(${text}).`);
});

test.each([
  `no pg_hba.conf entry ${PEER}, SSL encryption`,
  `pg_hba.conf rejects connection ${PEER}, SSL on`,
  'no pg_hba.conf entry for host "[local]", user "me", database "mail", no encryption',
  'kein pg_hba.conf-Eintrag für Host »10.0.0.7«, Benutzer »me«, Datenbank »mail«, keine Verschlüsselung',
])('a server that says %j does not admit this host, user or database, whatever the password', (text) => {
  const { message } = asPostgresError(refusal('28000', text), 'db') as Error;
  expect(message).toMatch(/^The database db does not admit this host, user or database: .*pg_hba\.conf/);
  expect(message).toContain(`(${text}).`);
  expect(message).not.toMatch(/password|TLS/);
});

test.each([
  ['28P01', 'password authentication failed for user "me"'],
  ['28000', 'role "me" does not exist'],
])('with %s, %j is about the user or the password', (code, text) => {
  expect(asPostgresError(refusal(code, text), 'db')).toMatchObject({
    ...PASSING,
    message: expect.stringContaining('refuses this user or password'),
  });
});

test('an error of the program is none of the server', () => {
  const error = errorOf(() => Buffer.alloc(-1));
  expect(asPostgresError(error, 'db')).toBe(error);
});

/** A server's refusal of a connection, as the driver throws it. */
function refusal(code: string, text: string): Error {
  return Object.assign(new Error(text), { code });
}

function errorOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
