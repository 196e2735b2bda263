import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { type MirrorOptions, type TestMirror, mirrorOf, temporaryFolder } from './mirror.ts';
import { emptyPostgresMirror } from './postgres-pool.ts';
import { PROVIDER } from './provider.ts';

/** The path of a new, migrated, empty mirror, or its address on PostgreSQL. It is a copy of one that the run made once. */
export async function freshMirrorFile(provider = PROVIDER): Promise<string> {
  if (provider === 'postgresql') return await emptyPostgresMirror();
  const path = join(temporaryFolder(), 'mirror.db');
  copyFileSync(inject('templateFile'), path);
  return path;
}

/** As `mirrorOf`, from the template, and not waiting for the disk: for tests in which the power stays on. */
export async function quickMirror(options: MirrorOptions = {}): Promise<TestMirror> {
  const mirror = await mirrorOf({ path: await freshMirrorFile(), ...options });
  if (mirror.database.dialect.provider === 'sqlite')
    await mirror.database.execute('PRAGMA synchronous = OFF');
  return mirror;
}
