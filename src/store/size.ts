import { statSync } from 'node:fs';

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
