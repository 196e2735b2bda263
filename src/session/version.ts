import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version in package.json, which is two folders up from src/session, and from dist/session. */
export function programVersion(): string {
  const file = join(import.meta.dirname, '../../package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
