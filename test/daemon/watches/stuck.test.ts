import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/core/clock.ts';
import { waitUntilStuck, STUCK_MS } from '../../../src/daemon/watches/stuck.ts';
import { daemonHouse } from '../../support/daemon.ts';

const SMALL = { sandbox: { conversations: [25] } };

test('a daemon is stuck after minutes without its database, but not in hours without work', async () => {
  const house = await daemonHouse(SMALL);
  const { clock } = house;
  const { daemon, database, stop } = await house.start();
  const over = new AbortController();
  let verdict: boolean | null = null;
  const watched = waitUntilStuck(daemon, { clock, signal: over.signal }).then((stuck) => (verdict = stuck));
  await clock.sleep(3 * HOUR);
  expect(verdict).toBeNull();

  const { query } = database;
  const answers = Promise.withResolvers<void>();
  const late: typeof query = async (...asked) => (await answers.promise, await query(...asked));
  Object.assign(database, { query: late });
  await clock.sleep(STUCK_MS - MINUTE);
  expect(verdict).toBeNull();
  await clock.sleep(2 * MINUTE);
  expect(verdict).toBe(true);
  answers.resolve();
  await watched;
  await stop();
});

test('a stopped daemon is not stuck', async () => {
  const { clock } = await daemonHouse(SMALL);
  const over = new AbortController();
  const watched = waitUntilStuck({ lastTickAt: clock.monotonic() }, { clock, signal: over.signal });
  over.abort();
  expect(await watched).toBe(false);
});

test('a daemon whose process was stopped for hours is not stuck when it runs again', async () => {
  const { clock } = await daemonHouse(SMALL);
  const over = new AbortController();
  const daemon = { lastTickAt: clock.monotonic() };
  let verdict: boolean | null = null;
  const watched = waitUntilStuck(daemon, { clock, signal: over.signal }).then((stuck) => (verdict = stuck));
  await clock.sleep(MINUTE);
  daemon.lastTickAt = clock.monotonic();

  clock.advance(3 * HOUR);
  await clock.sleep(STUCK_MS - MINUTE);
  expect(verdict).toBeNull();

  await clock.sleep(2 * MINUTE);
  expect(verdict).toBe(true);
  await watched;
});
