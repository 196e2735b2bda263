import { expect, onTestFinished, test, vi } from 'vitest';
import { HOUR } from '../../../src/core/clock.ts';
import { freshMirrorFile } from '../../support/template.ts';
import { benchOf, gapsOf, OK, times } from './bench.ts';

test('waiting manual requests overtake probes, and probes overtake scheduled requests', async () => {
  const { start, sandbox, clock, arrived } = benchOf();
  const { ask } = await start(await freshMirrorFile());
  const scheduled = [1, 2].map(() => ask({ reason: 'schedule', path: '/inboxes/1' }));
  await arrived(1);
  // The second request is at the gate before the others are queued.
  await clock.sleep(500);
  const asked = [
    ask({ reason: 'schedule', path: '/inboxes/1' }),
    ask({ reason: 'probe', path: '/inboxes/2' }),
    ask({ reason: 'manual', path: '/inboxes/3' }),
    ask({ reason: 'resync', path: '/inboxes/4' }),
  ];
  await Promise.all([...scheduled, ...asked]);

  const order = sandbox.arrivals.map(({ path }) => /inboxes\/(\d)/.exec(path)?.[1]).join('');
  expect(order).toBe('113421');
});

test('the gate sends requests with the same reason in the order in which they were queued', async () => {
  const { start, sandbox } = benchOf();
  const { ask } = await start(await freshMirrorFile());
  await Promise.all([1, 2, 3, 4, 5].map((n) => ask({ path: `/inboxes/${n}` })));

  expect(sandbox.arrivals.map(({ path }) => /inboxes\/(\d)/.exec(path)?.[1]).join('')).toBe('12345');
});

test('the gate has at most four requests under way at once', async () => {
  const { start, sandbox, clock } = benchOf();
  const { ask } = await start(await freshMirrorFile(), { way: () => [0, 20_000] });
  sandbox.script(() => OK);
  await times(10, () => ask({ way: () => [0, 0] }));
  const asked = Promise.all(Array.from({ length: 6 }, () => ask()));

  await clock.sleep(19_000);

  expect(sandbox.arrivals).toHaveLength(14);
  await asked;
});

test.each([
  ['behind a spaced-out request', 0],
  ['for the answer to the request before it', 20_000],
])('a caller that is cancelled while waiting %s leaves at once and sends nothing', async (_where, back) => {
  const { start, sandbox, clock, arrived } = benchOf();
  const { ask } = await start(await freshMirrorFile());
  const stop = new AbortController();
  const first = ask({ way: () => [0, back] });
  const second = ask();
  const cancelled = [ask({ signal: stop.signal }), ask({ signal: stop.signal })];
  await arrived(1);

  const before = clock.monotonic();
  stop.abort(new Error('called off'));
  const ends = await Promise.allSettled(cancelled);

  expect(ends).toMatchObject([{ reason: { message: 'called off' } }, { reason: { message: 'called off' } }]);
  expect(clock.monotonic() - before).toBeLessThanOrEqual(1001);
  await Promise.all([first, second]);
  expect(sandbox.arrivals).toHaveLength(2);
});

test('a cancelled caller at the head of the queue leaves at once and lets the next one pass', async () => {
  const { start, sandbox, clock, arrived } = benchOf();
  sandbox.script(() =>
    sandbox.arrivals.length === 2 ? { status: 429, headers: { 'retry-after': '3600' } } : OK,
  );
  const { ask, reported } = await start(await freshMirrorFile());
  const first = ask({ way: () => [0, 20_000] });
  await arrived(1);
  const behindAnswer = new AbortController();
  const waiting = ask({ signal: behindAnswer.signal });
  await clock.sleep(1000);
  behindAnswer.abort(new Error('called off'));
  await expect(waiting).rejects.toThrow('called off');
  expect(clock.monotonic()).toBe(1000);
  await first;

  const inPause = new AbortController();
  const paused = ask({ signal: inPause.signal });
  await reported(1);
  const next = ask();
  const from = clock.monotonic();
  inPause.abort(new Error('called off'));
  await expect(paused).rejects.toThrow('called off');

  expect(clock.monotonic() - from).toBeLessThan(120_000);
  await next;
  expect(sandbox.arrivals).toHaveLength(3);
});

test('a caller that is cancelled before its request leaves costs the next caller no gap', async () => {
  const { start, sandbox, clock } = benchOf();
  const { ask } = await start(await freshMirrorFile());
  await ask();
  const stop = new AbortController();
  const cancelled = ask({ signal: stop.signal });
  const next = ask();
  await clock.sleep(500);

  stop.abort(new Error('called off'));

  await expect(cancelled).rejects.toThrow('called off');
  await next;
  expect(gapsOf(sandbox)).toEqual([1000]);
});

test('a caller that is cancelled in the queue leaves the ledger alone, for its database may be closed', async () => {
  const { start, clock, arrived } = benchOf();
  const { ask, ledger } = await start(await freshMirrorFile());
  const first = ask({ way: () => [0, 3 * HOUR] });
  const second = ask();
  await arrived(1);
  const stop = new AbortController();
  const cancelled = [1, 2].map(() => ask({ signal: stop.signal }));
  await clock.sleep(2 * HOUR);
  const asked = vi.spyOn(ledger, 'budgetLeft');

  stop.abort(new Error('called off'));

  await Promise.allSettled(cancelled);
  await Promise.all([first, second]);
  await clock.sleep(HOUR);
  expect(asked).not.toHaveBeenCalled();
});

test('a caller that is cancelled before its request never enters the queue', async () => {
  const { start, sandbox } = benchOf();
  const { ask } = await start(await freshMirrorFile());

  await expect(ask({ signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow('too late');
  expect(sandbox.arrivals).toHaveLength(0);
});

test('the gate reads the answer to a sent request even if its caller is cancelled', async () => {
  const { start, arrived } = benchOf();
  const { ask, database } = await start(await freshMirrorFile(), { way: () => [0, 5000] });
  const stop = new AbortController();
  const asked = ask({ signal: stop.signal });
  await arrived(1);

  stop.abort(new Error('called off'));

  expect(await asked).toMatchObject({ ok: true });
  expect(await database.query('SELECT status FROM requests')).toEqual([{ status: 200 }]);
});

test('a caller that is cancelled while its retry waits leaves at once', async () => {
  const { start, sandbox } = benchOf();
  sandbox.script(() => ({ status: 500 }));
  const { ask, reported } = await start(await freshMirrorFile());
  const stop = new AbortController();
  const asked = ask({ signal: stop.signal });
  await reported(1);

  stop.abort(new Error('called off'));

  await expect(asked).rejects.toThrow('called off');
  expect(sandbox.arrivals.length).toBeLessThanOrEqual(2);
});

test('after the system clock is set back by an hour, the gate sends the next requests as before', async () => {
  const { start, clock } = benchOf();
  const { ask } = await start(await freshMirrorFile());
  await ask();
  const { now } = Date;
  const setBack = vi.spyOn(Date, 'now').mockImplementation(() => now() - HOUR);
  onTestFinished(() => setBack.mockRestore());

  await times(2, () => ask());

  expect(clock.monotonic()).toBeLessThan(3000);
});
