import { join, resolve } from 'node:path';
import type { Environment } from './environment.ts';

/**
 * The folder for what the user's mirrors share: INBOX_STATE_DIR, relative to `folder`, or the system's place
 * for such files. Null if the environment names none, as for a service without HOME.
 */
export function stateFolder(
  env: Environment,
  folder: string,
  platform: NodeJS.Platform = process.platform,
): string | null {
  const set = (name: string): string | null => env[name]?.trim() || null;
  const own = set('INBOX_STATE_DIR');
  if (own !== null) return resolve(folder, own);
  const home = set('HOME');
  const inHome = (...path: string[]): string | null => (home === null ? null : join(home, ...path));
  const places: Partial<Record<NodeJS.Platform, string | null>> = {
    darwin: inHome('Library', 'Application Support'),
    win32: set('LOCALAPPDATA'),
  };
  const base = platform in places ? places[platform] : (set('XDG_STATE_HOME') ?? inHome('.local', 'state'));
  return base == null ? null : join(base, 'inbox-mirror');
}
