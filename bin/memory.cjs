'use strict';
// A fast sweep and an export make much short-lived garbage. V8 lets its young generation grow to 128 MB for it, and
// its old one to up to four times what is live, though under 30 MB are. These flags keep both small, so that these
// commands stay under 200 MB (bench/README.md). V8 reads them only at the start.
var v8 = require('node:v8');
v8.setFlagsFromString('--semi-space-growth-factor=1');
v8.setFlagsFromString('--heap-growing-percent=100');
