import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/** The variable that gives a thread or a child this process's compile cache, which neither inherits. */
export function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir();
  // Node.js adds the folder of its version.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
