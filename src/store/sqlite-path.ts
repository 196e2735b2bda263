import { resolve } from 'node:path';

/** The path in a `file:` address, relative to the working directory. */
export function sqlitePath(url: string): string {
  return resolve(url.replace(/^file:(\/\/(?=\/))?/, ''));
}
