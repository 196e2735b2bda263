#!/usr/bin/env node
'use strict';
// Old syntax on purpose: an old Node must be able to print the sentence below.
var needed = [22, 18];
var found = process.versions.node.split('.').map(Number);
if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  process.stderr.write(
    'inbox-mirror needs Node.js ' + needed.join('.') + ' or newer, but this is ' + process.versions.node +
      '. Install a newer one from https://nodejs.org.\n'
  );
  process.exit(2);
}
// Only for the commands that sweep or export many rows: once a flag is set, V8 rejects its code cache, which
// costs 25 ms a thread.
if (/^(start|sync|resync|demo|export)$/.test(process.argv[2])) require('./memory.cjs');
require('./compile-cache.cjs');
var path = require('node:path');
// A clone runs its source directly; the published package has only the build.
var source = path.join(__dirname, '..', 'src', 'cli', 'main.ts');
var built = path.join(__dirname, '..', 'dist', 'cli', 'main.js');
var entry = require('node:fs').existsSync(source) ? source : built;
void import(require('node:url').pathToFileURL(entry).href);
