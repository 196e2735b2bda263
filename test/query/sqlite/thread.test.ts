import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { freshMirrorFile } from '../../support/template.ts';

const SUPPORT = join(import.meta.dirname, '../../support');

it('a question that ends while its thread loads the driver does not end the process', async () => {
  const path = await freshMirrorFile('sqlite');
  const argv = ['--import', join(SUPPORT, 'child-slow-driver.ts'), join(SUPPORT, 'child-threads.ts'), path];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, argv);
  expect({ stdout, stderr }).toEqual({ stdout: '[1]\n', stderr: '' });
});
