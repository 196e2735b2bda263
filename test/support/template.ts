import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { type MirrorOptions, type TestMirror, mirrorOf, temporaryFolder } from './mirror.ts';
import { emptyPostgresMirror } from './postgres-pool.ts';
import { PROVIDER } from './provider.ts';

let folder: string | null = null;
let made: Promise<string> | null = null;

/**
 * The path of a new, migrated, empty mirror, or its address on PostgreSQL. It is a copy of one that this test file, or the server's start, made
 * once: a migration takes a third of a second.
 */
export async function freshMirrorFile(provider = PROVIDER): Promise<string> {
  if (provider === 'postgresql') return await emptyPostgresMirror();
  const path = join(temporaryFolder(), 'mirror.db');
  copyFileSync(await (made ??= makeTemplate()), path);
  return path;
}

/** As `mirrorOf`, from the template, and not waiting for the disk: for tests in which the power stays on. */
export async function quickMirror(options: MirrorOptions = {}): Promise<TestMirror> {
  const mirror = await mirrorOf({ path: await freshMirrorFile(), ...options });
  if (mirror.database.dialect.provider === 'sqlite') await mirror.database.execute('PRAGMA synchronous = OFF');
  return mirror;
}

async function makeTemplate(): Promise<string> {
  folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-template-'));
  const path = join(folder, 'mirror.db');
  const database = await openDatabase(`file:${path}`);
  await database.close();
  return path;
}

afterAll(() => {
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
});
