// Preloaded with `--import`: a thread of the process takes at least 400 ms inside the native code that loads
// SQLite's driver, because it loads it again and again.
import { isMainThread } from 'node:worker_threads';

const LOADING_MS = 400;

if (!isMainThread) {
  const load = process.dlopen.bind(process);
  process.dlopen = (module, ...file) => {
    for (const began = performance.now(); performance.now() - began < LOADING_MS;)
      load({ exports: {} }, ...file);
    load(module, ...file);
  };
}
