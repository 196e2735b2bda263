'use strict';
// V8 lets its young generation grow to 128 MB where a fast walk makes much short-lived garbage, though hardly 30 MB are live.
// Kept from growing, a sync stays under 200 MB (bench/README.md). V8 heeds this only as long as the generation is young itself: at the start.
require('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
