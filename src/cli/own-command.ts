import { extname } from 'node:path';
import type { Io } from '../session/terminal.ts';

/** How a person runs this program again: by `npx` in a clone and where npx has run it, else by its name. */
export function ownCommand({ env }: Pick<Io, 'env'>): string {
  const isClone = extname(import.meta.filename) === '.ts';
  return isClone || env['npm_command'] === 'exec' ? 'npx inbox-mirror' : 'inbox-mirror';
}
