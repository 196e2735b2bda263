import { expect, test } from 'vitest';
import { freshMirrorFile } from '../../support/template.ts';
import { benchOf, OK, times } from './bench.ts';

test("a person's request overtakes the probes, and probes overtake the scheduled requests, that wait", async () => {
  const { start, sandbox } = benchOf();
  const { ask } = await start(await freshMirrorFile());
  const asked = [
    ...Array.from({ length: 3 }, () => ask({ reason: 'schedule', path: '/inboxes/1' })),
    ask({ reason: 'probe', path: '/inboxes/2' }),
    ask({ reason: 'manual', path: '/inboxes/3' }),
    ask({ reason: 'resync', path: '/inboxes/4' }),
  ];
  await Promise.all(asked);

  const order = sandbox.arrivals.map(({ path }) => /inboxes\/(\d)/.exec(path)?.[1]).join('');
  // One had left and the next stood at the gate before the others came.
  expect(order).toBe('113421');
});

test('of requests with the same reason, the first to come goes first', async () => {
  const { start, sandbox } = benchOf();
  const { ask } = await start(await freshMirrorFile());
  await Promise.all([1, 2, 3, 4, 5].map((n) => ask({ path: `/inboxes/${n}` })));

  expect(sandbox.arrivals.map(({ path }) => /inboxes\/(\d)/.exec(path)?.[1]).join('')).toBe('12345');
});

test('no more than four requests are under way at once', async () => {
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
  ['for its turn behind one that is spaced out', 0],
  ['for the answer to the request before', 20_000],
])('whoever is called off while waiting %s leaves at once and sends nothing', async (_where, back) => {
  const { start, sandbox, clock, arrived } = benchOf();
  const { ask } = await start(await freshMirrorFile());
  const stop = new AbortController();
  const first = ask({ way: () => [0, back] });
  const second = ask();
  const called = [ask({ signal: stop.signal }), ask({ signal: stop.signal })];
  await arrived(1);

  const before = clock.monotonic();
  stop.abort(new Error('called off'));
  const ends = await Promise.allSettled(called);

  expect(ends).toMatchObject([{ reason: { message: 'called off' } }, { reason: { message: 'called off' } }]);
  expect(clock.monotonic() - before).toBeLessThanOrEqual(1001);
  await Promise.all([first, second]);
  expect(sandbox.arrivals).toHaveLength(2);
});

test('the head of the line, called off while it waits for an answer, a gap or a pause, leaves at once and lets the next one through', async () => {
  const { start, sandbox, clock, arrived } = benchOf();
  sandbox.script(() =>
    sandbox.arrivals.length === 2 ? { status: 429, headers: { 'retry-after': '3600' } } : OK,
  );
  const { ask, told } = await start(await freshMirrorFile());
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
  await told(1);
  const next = ask();
  const from = clock.monotonic();
  inPause.abort(new Error('called off'));
  await expect(paused).rejects.toThrow('called off');

  expect(clock.monotonic() - from).toBeLessThan(120_000);
  await next;
  expect(sandbox.arrivals).toHaveLength(3);
});

test('whoever is called off before it came never gets in line', async () => {
  const { start, sandbox } = benchOf();
  const { ask } = await start(await freshMirrorFile());

  await expect(ask({ signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow('too late');
  expect(sandbox.arrivals).toHaveLength(0);
});

test('a request that has left is read to its end though its caller is called off', async () => {
  const { start, arrived } = benchOf();
  const { ask, database } = await start(await freshMirrorFile(), { way: () => [0, 5000] });
  const stop = new AbortController();
  const asked = ask({ signal: stop.signal });
  await arrived(1);

  stop.abort(new Error('called off'));

  expect(await asked).toMatchObject({ ok: true });
  expect(await database.query('SELECT status FROM requests')).toEqual([{ status: 200 }]);
});

test('whoever is called off while its retry waits leaves at once', async () => {
  const { start, sandbox } = benchOf();
  sandbox.script(() => ({ status: 500 }));
  const { ask, told } = await start(await freshMirrorFile());
  const stop = new AbortController();
  const asked = ask({ signal: stop.signal });
  await told(1);

  stop.abort(new Error('called off'));

  await expect(asked).rejects.toThrow('called off');
  expect(sandbox.arrivals.length).toBeLessThanOrEqual(2);
});
