import { expect, test } from 'vitest';
import { cannotRead } from '../../../src/query/sqlite/readable.ts';

test.each([
  ['EACCES', 'USAGE', 'Ask its owner for access'],
  ['EIO', 'DATABASE', 'Check its disk, and whether it is mounted.'],
  ['ESTALE', 'DATABASE', 'Check its disk, and whether it is mounted.'],
])('a file whose look-up fails with %s is an error of the code %s', (code, expected, advice) => {
  const cause = Object.assign(new Error(`${code}: a fault, stat 'mirror.db'`), { code });
  const error = cannotRead('mirror.db', cause);
  expect(error.code).toBe(expected);
  expect(error.message).toContain(advice);
});
