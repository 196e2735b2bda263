import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { served } from '../daemon/http/served.ts';
import { cpuMs } from '../support/cpu.ts';

/** A page may hold the daemon's thread for at most this many ms of its CPU time at once: its tick is later by that. */
const MOST_AT_ONCE_MS = 100;

/** The longest time, in ms of CPU, in which `work` let nothing else of this thread run. */
async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = cpuMs();
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) {
      await turn();
      const now = cpuMs();
      longest = Math.max(longest, now - last);
      last = now;
    }
  })();
  await work().finally(() => over.abort());
  await watching;
  return longest;
}

test('a page asked ten times a second makes no tick of the daemon late', async () => {
  const { ask, sync, clock } = await served();
  await sync();
  for (const path of ['/', '/people', '/feed', '/ask', '/engine']) {
    const visit = async (): Promise<void> => {
      clock.advance(100);
      expect((await ask(path, { headers: { accept: 'text/html' } })).status).toBe(200);
    };
    // It loads the page's code.
    await visit();
    const held = await longestHold(async () => {
      for (let nth = 0; nth < 10; nth += 1) await visit();
    });
    expect(held, path).toBeLessThan(MOST_AT_ONCE_MS);
  }
});
