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

test('an error of the program is none of the server', () => {
  const error = errorOf(() => Buffer.alloc(-1));
  expect(asPostgresError(error, 'db')).toBe(error);
});

function errorOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
