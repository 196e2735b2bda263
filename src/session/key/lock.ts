import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { SECOND } from '../../core/clock.ts';
import { codeOf } from '../../core/errors.ts';

/** A process waits about this many ms for another one that writes the record: that takes less than one. */
const LONGEST_WAIT_MS = 500;

/**
 * A lock that is more than this many ms old, or from the future because the clock was set back, belongs to a
 * process that has died.
 */
const STALE_MS = SECOND;

const SLEEPER = new Int32Array(new SharedArrayBuffer(4));

/** Runs `work` while no other process holds the lock, or without it if none can be had in time. */
export function locked(lock: string, work: () => void): void {
  const owner = randomUUID();
  const isMine = takesLock(lock, owner);
  try {
    work();
  } finally {
    if (isMine && ownerOf(lock) === owner) rmSync(lock, { force: true });
  }
}

function takesLock(lock: string, owner: string): boolean {
  for (let waitedMs = 0; waitedMs <= LONGEST_WAIT_MS; waitedMs += 1) {
    try {
      writeFileSync(lock, owner, { flag: 'wx', mode: 0o600 });
      return true;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    if (isStale(lock)) removeStale(lock, `${lock}.${owner}`);
    else Atomics.wait(SLEEPER, 0, 0, 1);
  }
  return false;
}

function isStale(lock: string): boolean {
  const takenAt = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? null;
  return takenAt !== null && Math.abs(Date.now() - takenAt) > STALE_MS;
}

/**
 * Removes a stale lock. Another process may have replaced it since it was looked at. Only one process can
 * rename a file, so it looks again at the file that it has, and puts back a lock that is in use.
 */
function removeStale(lock: string, aside: string): void {
  try {
    renameSync(lock, aside);
    if (!isStale(aside)) linkSync(aside, lock);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(codeOf(error) ?? '')) throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** The process that has written a lock; null if there is none. */
function ownerOf(lock: string): string | null {
  try {
    return readFileSync(lock, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
