import { afterEach, expect, test, vi } from 'vitest';
import { createSandbox, type ScriptedOutcome } from '../../../src/sandbox/sandbox.ts';
import { ask, KEY, pageIn, UNLIMITED } from './ask.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('the sandbox answers alike over HTTP and without a socket, and records arrivals in order', async () => {
  const sandbox = createSandbox({ ...UNLIMITED });
  const serving = await sandbox.listen();
  expect(serving.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  const answer = await fetch(`${serving.url}/inboxes?limit=100`, { headers: KEY });
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(await answer.text()).toBe((await ask(sandbox, '/inboxes?limit=100')).body);
  expect((await fetch(`${serving.url}/inboxes`)).status).toBe(401);
  await serving.close();
  expect(sandbox.arrivals.map(({ method, path, status }) => `${method} ${path} ${status}`)).toEqual([
    'GET /v1/inboxes?limit=100 200',
    'GET /v1/inboxes?limit=100 200',
    'GET /v1/inboxes 401',
  ]);
});

test('listening on a taken port fails, and close frees the port', async () => {
  const sandbox = createSandbox({ ...UNLIMITED });
  const first = await sandbox.listen();
  const port = Number(new URL(first.url).port);
  await expect(sandbox.listen(port)).rejects.toThrow('EADDRINUSE');
  await fetch(`${first.url}/inboxes`, { headers: KEY });
  await first.close();
  await (await sandbox.listen(port)).close();
});

test('a script runs first and can answer, reset, hang or leave the request to the sandbox', async () => {
  const sandbox = createSandbox({ ...UNLIMITED });
  const serving = await sandbox.listen();
  const script: ScriptedOutcome[] = [
    { status: 503, headers: { 'x-cause': 'script' }, body: '<html>' },
    'reset',
    'hang',
    { status: 204 },
  ];
  sandbox.script(() => script.shift());
  const get = (signal?: AbortSignal) =>
    fetch(`${serving.url}/inboxes`, { headers: KEY, ...(signal === undefined ? {} : { signal }) });

  const canned = await get();
  expect([canned.status, canned.headers.get('x-cause'), await canned.text()]).toEqual([
    503,
    'script',
    '<html>',
  ]);
  await expect(get()).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } });
  const giveUp = new AbortController();
  const hung = get(giveUp.signal);
  await expect.poll(() => sandbox.arrivals.length, { interval: 1 }).toBe(3);
  giveUp.abort();
  await expect(hung).rejects.toThrow('aborted');
  expect((await get()).status).toBe(204);
  expect((await get()).status).toBe(200);
  expect(sandbox.arrivals.map(({ status }) => status)).toEqual([503, null, null, 204, 200]);
  await serving.close();
});

test('close breaks a hanging request', async () => {
  const sandbox = createSandbox({ ...UNLIMITED });
  const serving = await sandbox.listen();
  sandbox.script(() => 'hang');
  const hung = expect(fetch(`${serving.url}/inboxes`, { headers: KEY })).rejects.toThrow('fetch failed');
  await expect.poll(() => sandbox.arrivals.length, { interval: 1 }).toBe(1);
  await serving.close();
  await hung;
});

test('a script runs before key and limits are checked, sees the arrival and can be removed', async () => {
  const sandbox = createSandbox({ now: () => 0 });
  const seen: string[] = [];
  sandbox.script(({ method, path, headers }) => {
    seen.push(`${sandbox.arrivals.length} ${method} ${path} ${headers.authorization}`);
    return { status: 418 };
  });
  expect(
    (await sandbox.handle({ method: 'GET', path: '/v1/inboxes', headers: { authorization: 'no key' } }))
      .status,
  ).toBe(418);
  expect((await ask(sandbox, '/inboxes')).status).toBe(418);
  expect((await ask(sandbox, '/inboxes')).status).toBe(418);
  expect(seen[0]).toBe('1 GET /v1/inboxes no key');
  sandbox.script(undefined);
  // Scripted requests with the right key count as arrivals, so this one comes too soon after them.
  expect((await ask(sandbox, '/inboxes')).status).toBe(429);
});

test('without a socket a reset rejects with ECONNRESET', async () => {
  const sandbox = createSandbox();
  sandbox.script(() => 'reset');
  await expect(ask(sandbox, '/inboxes')).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('the sandbox checks limits at arrival, half of the latency before its answer arrives', async () => {
  vi.useFakeTimers({ now: 0 });
  const sandbox = createSandbox({ latencyMs: 200 });
  const answered: [number, number][] = [];
  const send = async () => {
    const { status } = await ask(sandbox, '/inboxes');
    answered.push([Date.now(), status]);
  };
  void send();
  await vi.advanceTimersByTimeAsync(999);
  void send();
  await vi.advanceTimersByTimeAsync(1000);
  void send();
  await vi.advanceTimersByTimeAsync(1000);
  expect(sandbox.arrivals.map(({ at }) => at)).toEqual([100, 1099, 2099]);
  expect(answered).toEqual([
    [200, 200],
    [1199, 429],
    [2199, 200],
  ]);
});

test('an answer shows the world as its request found it, without later changes', async () => {
  vi.useFakeTimers({ now: 0 });
  const sandbox = createSandbox({ ...UNLIMITED, latencyMs: 200, inboxes: 1, conversations: 0 });
  const asked = ask(sandbox, '/inboxes');
  await vi.advanceTimersByTimeAsync(50);
  sandbox.world.addInbox();
  await vi.advanceTimersByTimeAsync(100);
  sandbox.world.addInbox();
  await vi.advanceTimersByTimeAsync(100);
  expect(pageIn(await asked).results.length).toBe(2);
});

test('jitter shifts arrivals, so that requests sent a second apart can arrive too close', async () => {
  vi.useFakeTimers({ now: 0 });
  const sandbox = createSandbox({ latencyMs: 20, jitterMs: 100 });
  for (let left = 40; left > 0; left--) {
    void ask(sandbox, '/inboxes');
    await vi.advanceTimersByTimeAsync(1000);
  }
  const ways = sandbox.arrivals.map(({ at }, nth) => at - 1000 * nth);
  expect(Math.min(...ways)).toBeGreaterThanOrEqual(10);
  expect(Math.max(...ways)).toBeLessThanOrEqual(61);
  expect(new Set(ways).size).toBeGreaterThan(10);
  expect(sandbox.arrivals.some(({ status }) => status === 429)).toBe(true);
});
