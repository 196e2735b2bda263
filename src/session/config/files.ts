import { closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { SECOND } from '../../core/clock.ts';
import { codeOf, messageOf } from '../../core/errors.ts';
import type { Environment } from './environment.ts';

/** The text of the file that a variable names, and the path as the variable has it. */
export interface NamedFile {
  readonly text: string;
  readonly path: string;
}

/**
 * Reads the file that the variable `name` names, relative to `folder`. Null if the variable is blank, and,
 * with a fault, if the file cannot be read. The fault shows the path of an existing file only: another text
 * may be the secret itself, in the wrong variable.
 */
export function readNamedFile(
  env: Environment,
  folder: string,
  name: string,
  faults: string[],
): NamedFile | null {
  const path = env[name]?.trim() ?? '';
  if (path === '') return null;
  try {
    return { text: readSettingsFile(resolve(folder, path)).toString(), path };
  } catch (error) {
    const cause = codeOf(error) ?? messageOf(error);
    faults.push(
      existsSync(resolve(folder, path))
        ? `${name}: cannot read ${path} (${cause})`
        : `${name}: expected the path of a file, absolute or from ${folder}, but no file can be read there ` +
            `(${cause}); its value is not shown here`,
    );
    return null;
  }
}

/** A pipe must end within this many ms: without a writer it would hold the program for ever. */
const PATIENCE_MS = 5 * SECOND;

/** A pipe is looked at once in this many ms. */
const LOOK_MS = 10;

/** At most this many bytes are read: a device such as `/dev/zero` has no end. */
const MOST_BYTES = 4 * 1024 * 1024;

/** At most this many bytes are read at a time. */
const PART_BYTES = 4096;

/**
 * The bytes or the error of each pipe, by device and inode: a pipe gives its text once, and a process asks
 * again.
 */
const pipes = new Map<string, Buffer | Error>();

/**
 * The bytes of a file of settings or of a secret. It may be a pipe, such as the `/dev/fd/63` of a shell's
 * `<(…)`; this process then keeps the text.
 * @throws Error if it cannot be read, or if a pipe does not end in time
 */
export function readSettingsFile(path: string, patienceMs = PATIENCE_MS): Buffer {
  const stats = statSync(path);
  if (!stats.isFIFO()) return readToEnd(path);
  const id = `${stats.dev}:${stats.ino}`;
  let given = pipes.get(id);
  if (given === undefined) {
    try {
      given = readPipe(path, patienceMs);
    } catch (error) {
      given = error as Error;
    }
    pipes.set(id, given);
  }
  if (given instanceof Error) throw given;
  return given;
}

function readToEnd(path: string): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    const parts = [];
    for (let bytes = 0; bytes <= MOST_BYTES;) {
      const part = Buffer.alloc(PART_BYTES);
      const length = readSync(descriptor, part);
      if (length === 0) return Buffer.concat(parts);
      parts.push(part.subarray(0, length));
      bytes += length;
    }
    throw tooLong();
  } finally {
    closeSync(descriptor);
  }
}

function tooLong(): Error {
  const most = MOST_BYTES / (1024 * 1024);
  return new Error(`it has more than ${most} MB; settings, secrets and certificates are shorter`);
}

/** Reads until the last writer has closed the pipe. A pipe without a first writer looks closed, too. */
function readPipe(path: string, patienceMs: number): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const parts: Buffer[] = [];
    let bytes = 0;
    const until = performance.now() + patienceMs;
    while (performance.now() < until) {
      const part = readPart(descriptor);
      if (part?.length === 0 && bytes > 0) return Buffer.concat(parts);
      if (part !== null && part.length > 0) {
        parts.push(part);
        bytes += part.length;
        if (bytes > MOST_BYTES) throw tooLong();
      } else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
    }
    throw new Error(
      `it is a pipe, and no program has written its text and closed it within ${patienceMs / SECOND} s`,
    );
  } finally {
    closeSync(descriptor);
  }
}

/** Empty without a writer; null if a writer has written nothing more so far. */
function readPart(descriptor: number): Buffer | null {
  const part = Buffer.alloc(PART_BYTES);
  try {
    return part.subarray(0, readSync(descriptor, part));
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return null;
    throw error;
  }
}
