'use strict';
// A fast sweep makes much short-lived garbage, for which V8 lets its young generation grow to 128 MB, though
// under 30 MB are live. This flag keeps it small, so that a sync stays under 200 MB (bench/README.md). V8 reads
// the flag only at the start.
require('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
