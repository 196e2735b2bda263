import dns from 'node:dns';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import fastify from 'fastify';
import { expect, onTestFinished, test, vi } from 'vitest';
import { closeAnswers, limitRequests } from '../../../src/daemon/http/limits.ts';
import { oneAtATime } from '../../../src/daemon/http/one-at-a-time.ts';
import { type Answered, type Served, served } from './served.ts';

/** Opens connections that send nothing, and returns the ones that are open when the last one is. */
async function idle(all: Served, count: number, from: string): Promise<Socket[]> {
  const { hostname: host, port } = new URL(all.url);
  const opened = Array.from({ length: count }, () =>
    connect({ host, port: Number(port), localAddress: from }).on('error', () => undefined),
  );
  onTestFinished(() => opened.forEach((socket) => socket.destroy()));
  await Promise.all(opened.map((socket) => once(socket, 'connect')));
  return opened;
}

/** A mirror whose `/changes` answer only after `release()`. */
async function stalled(): Promise<{ all: Served; release(): void; reads: () => number }> {
  const gate = Promise.withResolvers<[]>();
  let reads = 0;
  const all = await served({}, { changes: () => ((reads += 1), gate.promise) });
  return { all, release: () => gate.resolve([]), reads: () => reads };
}

/** Sends requests and waits until those that are refused at once have their answers. */
async function crowd(all: Served, count: number, from: string): Promise<Promise<Answered>[]> {
  const answers: Promise<Answered>[] = [];
  for (let sent = 0; sent < count; sent += 1) answers.push(all.ask('/changes', { from }));
  // A connection that opened later is served later.
  await all.ask('/healthz', { from });
  return answers;
}

const counted = (answers: Answered[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

test.each(['127.0.0.1', '127.0.0.2'])(
  'while one client keeps 200 idle connections, the health checks of %s are answered',
  async (from) => {
    const all = await served();
    await idle(all, 200, '127.0.0.1');
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect([200, 503], path).toContain((await all.ask(path, { from })).status);
  },
);

test('with HTTP_HOST=localhost no address of this machine is without the limits', async () => {
  // A machine whose name `localhost` has both addresses of loopback, as most do.
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];
  const real = dns.lookup;
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation((...given: unknown[]) => {
    const [name, options, answer] = given as [string, { all?: boolean }, (...found: unknown[]) => void];
    if (name === 'localhost' && options.all === true) setImmediate(answer, null, addresses);
    else Reflect.apply(real, dns, given);
  });
  onTestFinished(() => lookup.mockRestore());
  const all = await served({}, { host: 'localhost' });
  const { port } = new URL(all.url);
  const other = connect({ host: '::1', port: Number(port) });
  onTestFinished(() => void other.destroy());
  await expect(once(other, 'connect')).rejects.toMatchObject({
    code: expect.stringMatching(/ECONNREFUSED|EADDRNOTAVAIL/),
  });
  expect((await all.ask('/healthz')).status).toBe(200);
});

test('idle connections of many clients close, the longest idle first, before a new one is refused', async () => {
  const { all, release } = await stalled();
  const [busy] = await crowd(all, 1, '127.0.0.1');
  const groups = [];
  for (const from of ['127.0.0.3', '127.0.0.4', '127.0.0.5']) groups.push(await idle(all, 50, from));
  expect((await all.ask('/healthz')).status).toBe(200);
  const [first = [], , last = []] = groups;
  await Promise.all(
    first.slice(0, 40).map(async (socket) => socket.destroyed || (await once(socket, 'close'))),
  );
  expect(last.filter(({ destroyed }) => destroyed)).toEqual([]);
  release();
  expect((await busy)?.status, 'a connection with a request in progress is kept').toBe(200);
});

test('a half-sent request is cut off after a few seconds', async () => {
  const all = await served();
  const [slow] = await idle(all, 1, '127.0.0.1');
  slow?.resume().write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n');
  const since = performance.now();
  await once(slow!, 'close');
  expect(performance.now() - since).toBeLessThan(9000);
});

test('a client with 40 requests in progress gets 429 for more, others and /healthz do not', async () => {
  const { all, release } = await stalled();
  const answers = await crowd(all, 45, '127.0.0.1');
  expect((await all.ask('/healthz')).status).toBe(200);
  const other = all.ask('/changes', { from: '127.0.0.2' });
  const refused = await all.ask('/changes');
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
  release();
  const settled = await Promise.all(answers);
  expect([counted(settled, 200), counted(settled, 429)]).toEqual([40, 5]);
  expect((await other).status).toBe(200);
  expect((await all.ask('/changes')).status, 'the places are free again').toBe(200);
});

test('with 80 requests in progress any further one gets 503, and /healthz 200', async () => {
  const { all, release } = await stalled();
  const answers = [
    ...(await crowd(all, 40, '127.0.0.1')),
    ...(await crowd(all, 40, '127.0.0.2')),
    ...(await crowd(all, 5, '127.0.0.3')),
  ];
  const refused = await all.ask('/status.json', { from: '127.0.0.4' });
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect((await all.ask('/healthz', { from: '127.0.0.4' })).status).toBe(200);
  expect((await all.ask('/readyz', { from: '127.0.0.4' })).json).toHaveProperty('ready');
  release();
  const settled = await Promise.all(answers);
  expect([counted(settled, 200), counted(settled, 503)]).toEqual([80, 5]);
});

/** Begins logins that never send their token, from an address, and returns the first line of each answer. */
async function halfLogins(all: Served, count: number, from: string): Promise<() => string[]> {
  const lines: string[] = [];
  for (const socket of await idle(all, count, from)) {
    socket.once('data', (data) => lines.push(String(data).split('\r\n')[0] ?? ''));
    socket.write('POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n');
    socket.write('content-type: application/x-www-form-urlencoded\r\n\r\n');
  }
  await all.ask('/healthz', { from });
  return () => lines;
}

test('clients without the token take at most 20 places, and those that have it get the others', async () => {
  const token = 't0ken.of~endpoints';
  const all = await served({}, { token });
  const refusals = [
    await halfLogins(all, 40, '127.0.0.2'),
    await halfLogins(all, 40, '127.0.0.3'),
    await halfLogins(all, 10, '127.0.0.4'),
  ];
  const headers = { authorization: `Bearer ${token}` };
  for (const path of ['/changes', '/status.json', '/metrics'])
    for (const from of ['127.0.0.1', '127.0.0.2'])
      expect((await all.ask(path, { headers, from })).status, `${path} from ${from}`).toBe(200);
  const answered = refusals.map((lines) => [...new Set(lines())]);
  expect(answered).toEqual([
    ['HTTP/1.1 429 Too Many Requests'],
    ['HTTP/1.1 429 Too Many Requests'],
    ['HTTP/1.1 503 Service Unavailable'],
  ]);
  expect(refusals.map((lines) => lines().length)).toEqual([30, 30, 10]);
});

/** Lets no answer close that waits for another one of its connection, as Node.js 22 does. */
function asNode22(server: Server): void {
  server.on('request', (_request, answer) => {
    if (answer.socket === null) answer.destroy = () => answer;
  });
}

test('requests that a client sends at once and leaves give their places back', async () => {
  const server = fastify({ forceCloseConnections: true });
  onTestFinished(() => server.close());
  asNode22(server.server);
  closeAnswers(server.server);
  limitRequests(server, () => true);
  let arrived = 0;
  server.get('/', () => ((arrived += 1), new Promise(() => undefined)));
  const { port, hostname } = new URL(await server.listen({ port: 0, host: '127.0.0.1' }));
  const opened = once(server.server, 'connection') as Promise<[Socket]>;
  const crowded = (): Socket =>
    connect(Number(port), hostname, function (this: Socket) {
      this.write('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'.repeat(40));
    });
  const leaver = crowded();
  await expect.poll(() => arrived).toBe(40);
  leaver.destroy();
  const [left] = await opened;
  await once(left, 'close');
  const next = crowded();
  onTestFinished(() => void next.destroy());
  await expect.poll(() => arrived).toBe(80);
});

test('/changes reads the database for one request at a time, and not for a client that has left', async () => {
  const { all, release, reads } = await stalled();
  const [first] = await crowd(all, 1, '127.0.0.1');
  const [leaver] = await idle(all, 1, '127.0.0.1');
  leaver?.write('GET /changes HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  const [last] = await crowd(all, 1, '127.0.0.1');
  await expect.poll(reads).toBe(1);
  leaver?.destroy();
  await once(leaver!, 'close');
  await all.ask('/healthz');
  release();
  await Promise.all([first, last]);
  expect(reads()).toBe(2);
});

test('after a read of /changes the queue rests as long as the read took', async () => {
  const reads = oneAtATime(5000);
  const { signal } = new AbortController();
  const spans: { from: number; to: number }[] = [];
  const blocking = async (): Promise<[]> => {
    const from = performance.now();
    while (performance.now() < from + 60);
    spans.push({ from, to: performance.now() });
    return [];
  };
  await Promise.all([reads.next(signal, blocking), reads.next(signal, blocking)]);
  const [first, second] = spans;
  expect((second?.from ?? 0) - (first?.to ?? 0)).toBeGreaterThanOrEqual(55);
});
