import { MirrorError } from '../core/errors.ts';

/** The oldest Node.js that runs the SQLite driver; `engines` in package.json. */
const OLDEST = { major: 22, minor: 18 };

/** @throws MirrorError `CONFIG` on an older Node.js, which would crash in the SQLite driver */
export function refuseOldNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return;
  throw new MirrorError(
    'CONFIG',
    `inbox-mirror needs Node.js ${OLDEST.major}.${OLDEST.minor} or newer, but this is ${version}.`,
  );
}
