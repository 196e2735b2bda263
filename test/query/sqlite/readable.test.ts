import { expect, test } from 'vitest';
import { cannotRead } from '../../../src/query/sqlite/readable.ts';

test.each([
  ['EACCES', 'USAGE', 'Ask its owner for access'],
  ['EIO', 'DATABASE', 'Check the disk, the mount and the limits of the machine.'],
  ['ESTALE', 'DATABASE', 'Check the disk, the mount and the limits of the machine.'],
  ['EMFILE', 'DATABASE', 'Check the disk, the mount and the limits of the machine.'],
])('a file whose look-up fails with %s gives an error with the code %s', (code, expected, advice) => {
  const cause = Object.assign(new Error(`${code}: a fault, stat 'mirror.db'`), { code });
  const error = cannotRead('mirror.db', cause);
  expect(error.code).toBe(expected);
  expect(error.message).toContain(advice);
});
