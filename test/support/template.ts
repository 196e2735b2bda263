import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { type MirrorOptions, type TestMirror, mirrorOf, temporaryFolder } from './mirror.ts';
import { emptyPostgresMirror } from './postgres-pool.ts';
import { PROVIDER } from './provider.ts';

/** The path of a migrated, empty mirror, or its address on PostgreSQL, made from the run's template. */
export async function freshMirrorFile(provider = PROVIDER): Promise<string> {
  if (provider === 'postgresql') return await emptyPostgresMirror();
  const path = join(temporaryFolder(), 'mirror.db');
  copyFileSync(inject('templateFile'), path);
  return path;
}

/** Like `mirrorOf`, but from the template and without disk syncs. Not for tests of a power cut. */
export async function quickMirror(options: MirrorOptions = {}): Promise<TestMirror> {
  const { database, path } = options;
  if (database !== undefined) return await mirrorOf({ durable: false, ...options });
  return await mirrorOf({ durable: false, ...options, path: path ?? (await freshMirrorFile()) });
}
