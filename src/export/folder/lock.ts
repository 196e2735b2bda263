import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../../core/errors.ts';
import { SECOND } from '../../core/clock.ts';
import { asOutput } from './files.ts';

/** The file that an export has while it changes the folder. A killed export leaves it. */
const LOCK = '.manifest.lock.partial';

/** A lock that has not changed for 10 s was left by a killed export: an export has it for milliseconds. */
const STALE_MS = 10 * SECOND;

/** Milliseconds between two looks at the lock of another export. */
const LOOK_MS = 10;

/**
 * Runs `work` while no other export changes the folder, which exists.
 * @throws MirrorError `OUTPUT` if the folder cannot be written
 */
export async function withFolderLock<Result>(
  folder: string,
  work: () => Promise<Result>,
  staleMs: number = STALE_MS,
): Promise<Result> {
  const lock = join(folder, LOCK);
  const owner = randomUUID();
  await asOutput(`The file ${lock} cannot be made`, () => takeLock(lock, owner, staleMs));
  try {
    return await work();
  } finally {
    if ((await ownerOf(lock)) === owner) await rm(lock, { force: true });
  }
}

async function takeLock(lock: string, owner: string, staleMs: number): Promise<void> {
  let other = await ownerOf(lock);
  let since = performance.now();
  while (!(await makeLock(lock, owner))) {
    const present = await ownerOf(lock);
    if (present !== other) {
      other = present;
      since = performance.now();
    } else if (performance.now() - since > staleMs) await removeStale(lock, `${lock}.${owner}`, other);
    else await sleep(LOOK_MS);
  }
}

/** @returns false if another export has the lock @throws an error of the file system */
async function makeLock(lock: string, owner: string): Promise<boolean> {
  try {
    const file = await open(lock, 'wx', 0o600);
    try {
      await file.writeFile(owner);
    } catch (error) {
      // A full disk: an empty lock would make every export wait.
      await rm(lock, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes the lock of a killed export. Another process may have replaced it since. Only one process can
 * rename a file, so it looks again at the file that it has, and puts back a lock that is in use.
 */
async function removeStale(lock: string, aside: string, stale: string | null): Promise<void> {
  try {
    await rename(lock, aside);
    if ((await ownerOf(aside)) !== stale) await link(aside, lock);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(codeOf(error) ?? '')) throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** The export that has written a lock; null if there is none. */
async function ownerOf(lock: string): Promise<string | null> {
  try {
    return await readFile(lock, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
