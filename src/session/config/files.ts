import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf } from '../../core/errors.ts';
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
    return { text: readFileSync(resolve(folder, path), 'utf8'), path };
  } catch (error) {
    const cause = codeOf(error) ?? 'unknown error';
    faults.push(
      existsSync(resolve(folder, path))
        ? `${name}: cannot read ${path} (${cause})`
        : `${name}: expected the path of a file, absolute or from ${folder}, but no file can be read there ` +
            `(${cause}); its value is not shown here`,
    );
    return null;
  }
}
