import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { MirrorError } from '../../core/errors.ts';

/** The path in a `file:` address, relative to the working directory. */
export function sqlitePath(url: string): string {
  return resolve(url.replace(/^file:(\/\/(?=\/))?/, ''));
}

/** Bytes that the mirror takes on disk: its file and the write-ahead log beside it. 0 where there is none. */
export function databaseBytes(path: string): number {
  const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return sizeOf(path) + sizeOf(`${path}-wal`);
}

/** Tells a file from another one of the same name; null where there is none. */
export function fileIdentity(path: string): string | null {
  const file = statSync(path, { throwIfNoEntry: false });
  return file === undefined ? null : `${file.dev}:${file.ino}`;
}

/** The content is private: the file is made with mode 0600, and SQLite gives its side files the same. */
export function makePrivateFile(path: string): void {
  try {
    if (existsSync(path)) return;
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600);
  } catch (error) {
    throw new MirrorError(
      'DATABASE',
      `Cannot make the database file ${path}: ${error instanceof Error ? error.message : String(error)}. ` +
        `Check that the folder ${dirname(path)} exists and may be written to, or set DATABASE_URL to another place.`,
      { cause: error },
    );
  }
}
