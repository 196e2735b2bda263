import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import type Bottleneck from 'bottleneck';
import type { Clock } from '../../core/clock.ts';

/** The file of bottleneck without Redis. It is complete in itself: it imports nothing. */
const LIBRARY = 'bottleneck/light.js';

/**
 * Loads bottleneck with `clock` as its time. Bottleneck itself reads `Date.now()` and has no option for
 * another clock: once a person sets the wall clock back by an hour, even a limiter without `minTime` waits
 * that hour. It therefore gets a `Date` and a `setTimeout` of the clock's monotonic time.
 */
export function bottleneckOn(clock: Clock): typeof Bottleneck {
  const load = (compiled ??= compile());
  const module = { exports: {} };
  load(module, module.exports, { now: clock.monotonic }, timerOn(clock));
  return module.exports as typeof Bottleneck;
}

type Load = (module: object, exports: object, date: object, setTimeout: SetTimeout) => void;

/** Compiled once: each call makes another library, with its own time. */
let compiled: Load | undefined;

function compile(): Load {
  const path = createRequire(import.meta.url).resolve(LIBRARY);
  return compileFunction(readFileSync(path, 'utf8'), ['module', 'exports', 'Date', 'setTimeout'], {
    filename: path,
  }) as Load;
}

type SetTimeout = (run: () => void, ms: number) => void;

/**
 * Calls `run` no earlier than `ms` from now. One sleep can end 1 ms early, or after 24.8 days, Node's longest
 * timer.
 */
function timerOn({ monotonic, sleep }: Clock): SetTimeout {
  return (run, ms) => {
    // Bottleneck passes each job through several timers of 0 ms, to let other work run in between.
    if (ms <= 0) {
      setImmediate(run);
      return;
    }
    const due = monotonic() + ms;
    void (async () => {
      for (let left = ms; left > 0; left = due - monotonic()) await sleep(left);
      run();
    })();
  };
}
