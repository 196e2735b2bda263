import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Linux keeps this folder in memory. In a container it can be as small as 64 MB. */
const IN_MEMORY = '/dev/shm';
/** Less than this leaves no room for the mirrors of all workers, in bytes. */
const ENOUGH = 2 * 1024 ** 3;

/**
 * The folder for the files of tests. In memory a disk sync is free, so mirrors keep the settings that the
 * program gives them. A killed process loses no more there than on a disk.
 */
export const SCRATCH = hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir();

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= ENOUGH;
}
