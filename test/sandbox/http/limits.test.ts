import { expect, test } from 'vitest';
import { DAY } from '../../../src/core/clock.ts';
import { createSandbox, type SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { ask } from './ask.ts';

const NOON = Date.UTC(2026, 4, 1, 12);

function timed(options: Partial<SandboxOptions> = {}) {
  const clock = { now: NOON };
  const sandbox = createSandbox({ conversations: 0, ...options, now: () => clock.now });
  /** Advances the clock by `ms`, sends a request and returns its answer. */
  const after = (ms: number) => {
    clock.now += ms;
    return ask(sandbox, '/inboxes');
  };
  const statuses = async (...waits: number[]) => {
    const all: number[] = [];
    for (const ms of waits) all.push((await after(ms)).status);
    return all;
  };
  return { sandbox, clock, after, statuses };
}

test('a request within a second of the one before is refused, even if that one was refused', async () => {
  const { statuses } = timed();
  expect(await statuses(0, 1000, 999, 1, 999, 1000, 5000)).toEqual([200, 200, 429, 429, 429, 200, 200]);
});

test('a rate of 2 asks for half a second between requests, and a rate of 0 for none', async () => {
  expect(await timed({ rate: 2 }).statuses(0, 500, 499, 500)).toEqual([200, 200, 429, 200]);
  expect(await timed({ rate: 0 }).statuses(0, 0, 0)).toEqual([200, 200, 200]);
});

test('the cap holds in any 24 hours, and refused requests do not count against it', async () => {
  const { statuses } = timed({ perDay: 3 });
  expect(await statuses(0, 1000, 500, 1000, 1000)).toEqual([200, 200, 429, 200, 429]);
  // The window slides: each place is free 24 hours after its request. The first arrived 3,500 ms ago.
  expect(await statuses(DAY - 3501)).toEqual([429]);
  // The first two places (0 s, 1 s) are free by now, the third (2.5 s) two seconds later. Then none is left.
  expect(await statuses(1001, 1000, 1000, 1000)).toEqual([200, 200, 200, 429]);
});

test('a place in the cap is free exactly 24 hours after its request, not a millisecond sooner', async () => {
  expect(await timed({ rate: 0, perDay: 1 }).statuses(0, DAY - 1, 1)).toEqual([200, 429, 200]);
});

test('the default cap is 5,000 requests a day', async () => {
  const { statuses } = timed();
  const day = await statuses(...Array.from({ length: 5001 }, () => 1000));
  expect(day.filter((status) => status === 200).length).toBe(5000);
  expect(day.at(-1)).toBe(429);
});

test('a request with a wrong key is refused before the limits and does not count against them', async () => {
  const { sandbox, statuses } = timed();
  expect(await statuses(0)).toEqual([200]);
  const wrong = await sandbox.handle({
    method: 'GET',
    path: '/v1/inboxes',
    headers: { authorization: 'Bearer wrong' },
  });
  expect(wrong.status).toBe(401);
  expect(await statuses(1000)).toEqual([200]);
});

test('a request that gets 404 or 400 counts against the limits', async () => {
  const { sandbox, clock, statuses } = timed({ perDay: 2 });
  expect((await ask(sandbox, '/nothing')).status).toBe(404);
  expect(await statuses(10)).toEqual([429]);
  clock.now += 1000;
  expect((await ask(sandbox, '/inboxes?limit=7')).status).toBe(400);
  expect(await statuses(1000)).toEqual([429]);
});

test('the retryAfter option makes a 429 carry no Retry-After, seconds or a date', async () => {
  expect((await refused({ retryAfter: null })).headers).not.toHaveProperty('retry-after');
  expect((await refused({ retryAfter: 'seconds' })).headers['retry-after']).toBe('1');
  expect((await refused({ retryAfter: 'seconds', perDay: 1 })).headers['retry-after']).toBe(
    String(DAY / 1000),
  );
  // One second after 12:00:00.001, rounded up to whole seconds.
  expect((await refused({ retryAfter: 'date' })).headers['retry-after']).toBe(
    'Fri, 01 May 2026 12:00:02 GMT',
  );
});

async function refused(options: Partial<SandboxOptions>) {
  const { after } = timed(options);
  await after(0);
  const answer = await after(1);
  expect(answer.status).toBe(429);
  return answer;
}
