import { extname } from 'node:path';
import type { Io } from '../session/terminal.ts';

/**
 * How a person runs this program again: by `npx` in a clone and where npx has run it, else by its name.
 * @param file of the program; the sources of a clone end in `.ts`
 */
export function ownCommand({ env }: Pick<Io, 'env'>, file = import.meta.filename): string {
  const isClone = extname(file) === '.ts';
  return isClone || env['npm_command'] === 'exec' ? 'npx inbox-mirror' : 'inbox-mirror';
}
