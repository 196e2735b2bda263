'use strict';
// Keeps compiled modules between runs: `--help` answers in half the time. Without a folder Node.js takes one
// in /tmp and runs the code that lies there; another user of the machine can put code there first.
// NODE_COMPILE_CACHE overrides this.
const { existsSync, lstatSync, mkdirSync, statSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { dirname, isAbsolute, join } = require('node:path');

/** The user's folder for caches; null if the environment names none, as for a service without HOME. */
function cacheFolder({ HOME = '', XDG_CACHE_HOME = '' }) {
  if (isAbsolute(XDG_CACHE_HOME)) return join(XDG_CACHE_HOME, 'inbox-mirror');
  const caches = process.platform === 'darwin' ? 'Library/Caches' : '.cache';
  return isAbsolute(HOME) ? join(HOME, caches, 'inbox-mirror') : null;
}

const isOwn = (found) => found.isDirectory() && found.uid === process.getuid();

/** Makes the folder, below one of this user only: with `sudo -E`, HOME is another user's. */
function isMade(folder) {
  try {
    for (const made of [dirname(folder), folder])
      if (!existsSync(made) && isOwn(statSync(dirname(made)))) mkdirSync(made, { mode: 0o700 });
    const found = lstatSync(folder);
    return isOwn(found) && (found.mode & 0o022) === 0;
  } catch {
    return false;
  }
}

// On Windows each user has a folder for temporary files.
if (process.platform === 'win32') enableCompileCache();
else {
  const folder = cacheFolder(process.env);
  if (folder !== null && isMade(folder)) enableCompileCache(folder);
}
