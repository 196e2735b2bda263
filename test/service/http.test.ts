import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import {
  createServer as createSocketServer,
  connect as connectSocket,
  type AddressInfo,
  type Socket,
} from 'node:net';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import { constants, createGzip, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { type Answer, createHttp, type Http, NoAnswer } from '../../src/service/http.ts';

const KEY = 'k3y-that/must+not=leak"\\';
/** Only the answer is awaited briefly: a busy machine needs time to connect. */
const QUICK = { connectMs: 10_000, requestMs: 200 };
const MB = 1024 * 1024;

/** A real server and an HTTP client for it. */
async function serve(
  listener: RequestListener,
  timeOuts?: { connectMs: number; requestMs: number },
): Promise<{ http: Http; sockets: Set<Socket> }> {
  const { url, sockets } = await listening(listener);
  const http = createHttp(url, () => KEY, timeOuts === undefined ? {} : { timeOuts });
  onTestFinished(() => http.close());
  return { http, sockets };
}

async function listening(listener: RequestListener): Promise<{ url: string; sockets: Set<Socket> }> {
  const server = createServer(listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, sockets };
}

const answer =
  (status: number, body: string | Buffer, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) =>
    response.writeHead(status, headers).end(body);

async function failureOf(promise: Promise<Answer>): Promise<NoAnswer> {
  const error: unknown = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NoAnswer);
  expectNoKey(error);
  return error as NoAnswer;
}

/** Checks every form in which an error can reach a log. */
function expectNoKey(error: unknown): void {
  const shown = [
    inspect(error, { depth: 10, showHidden: true }),
    JSON.stringify(error),
    String(error),
    (error as Error).stack ?? '',
  ];
  for (const text of shown) {
    expect(text).not.toContain('k3y-that');
    expect(text).not.toContain('Bearer');
  }
  expect((error as Error).cause).toBeUndefined();
}

test('a request carries the key only as a bearer token and escapes its query', async () => {
  const seen: { url: string; headers: NodeJS.Dict<string | string[]>; method: string }[] = [];
  const { http } = await serve((request, response) => {
    seen.push({ url: request.url ?? '', headers: request.headers, method: request.method ?? '' });
    response.end('{}');
  });
  await http.get('/inboxes', { limit: '100', next_page: 'a+b/c=&d e' });

  const [{ url, headers, method } = { url: '', headers: {}, method: '' }] = seen;
  expect(method).toBe('GET');
  expect(headers['authorization']).toBe(`Bearer ${KEY}`);
  const { authorization: _, ...others } = headers;
  expect(url + JSON.stringify(others)).not.toContain('k3y');
  expect(new URL(url, 'http://x').searchParams.get('next_page')).toBe('a+b/c=&d e');
  expect(url).toMatch(/^\/v1\/inboxes\?limit=100&next_page=/);
});

test('a request names the program and its version', async () => {
  const seen: (string | undefined)[] = [];
  const { url } = await listening((request, response) => {
    seen.push(request.headers['user-agent']);
    response.end('{}');
  });
  const http = createHttp(url, () => KEY, { userAgent: 'inbox-mirror/1.2.3' });
  onTestFinished(() => http.close());
  await http.get('/a', {});

  expect(seen).toEqual(['inbox-mirror/1.2.3']);
});

test('the client reads the key again for every request', async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('{}');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  let key = 'old';
  const http = createHttp(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, () => key);
  onTestFinished(() => {
    http.close();
    server.close();
  });
  await http.get('/a', {});
  key = 'new';
  await http.get('/a', {});

  expect(seen).toEqual(['Bearer old', 'Bearer new']);
});

test('the client returns status, text and relevant headers, also of an error answer', async () => {
  const { http } = await serve(
    answer(429, '{"Message":"ä"}', {
      'retry-after': '7',
      location: '/x',
      date: 'Mon, 02 Mar 2026 08:00:40 GMT',
    }),
  );

  expect(await http.get('/a', {})).toEqual({
    status: 429,
    body: '{"Message":"ä"}',
    mark: null,
    retryAfter: '7',
    location: '/x',
    date: 'Mon, 02 Mar 2026 08:00:40 GMT',
  });
});

test('consecutive requests use one connection', async () => {
  const { http, sockets } = await serve(answer(200, '{"a":1}'));
  await http.get('/a', {});
  await http.get('/a', {});
  await http.get('/a', {});

  expect(sockets.size).toBe(1);
});

test.each([500, 503, 429, 413, 408])('the client sends no retry by itself after a %i', async (status) => {
  let requests = 0;
  const { http } = await serve((_request, response) => {
    requests += 1;
    response.writeHead(status, { 'retry-after': '0' }).end();
  });

  expect(await http.get('/a', {})).toMatchObject({ status, body: '' });
  expect(requests).toBe(1);
});

test.each([301, 302, 303, 307, 308])('the client sends its key to no %i target', async (status) => {
  const asked: string[] = [];
  const { http } = await serve((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(status, { location: '/elsewhere' }).end();
  });

  expect(await http.get('/a', {})).toMatchObject({ status, location: '/elsewhere' });
  expect(asked).toEqual(['/v1/a']);
});

test('the client masks the key in an error answer or a redirect that repeats it', async () => {
  const echo: RequestListener = ({ headers }, response) =>
    response
      .writeHead(403, { location: `/login?token=${encodeURIComponent(KEY)}` })
      .end(`${headers.authorization ?? ''} ${JSON.stringify({ Message: KEY })}`);
  const { http } = await serve(echo);

  const { body, location } = await http.get('/a', {});

  expect(`${body}${location ?? ''}`).not.toContain('k3y');
  expect(body).toBe('Bearer [key] {"Message":"[key]"}');
  expect(location).toBe('/login?token=[key]');
});

test('the error for a missing answer names the time-out, without the key', async () => {
  const { http } = await serve(() => undefined, QUICK);

  expect((await failureOf(http.get('/a', {}))).message).toBe('no answer within under 1 s');
});

test('the client gives up an answer that still trickles in after the time-out', async () => {
  const { http } = await serve((_request, response) => {
    const drip = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(drip));
  }, QUICK);

  expect((await failureOf(http.get('/a', {}))).message).toBe('no answer within under 1 s');
});

/** The port of a listener that accepts no connection, because its thread sleeps. */
async function sleepingListener(): Promise<number> {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
     });`,
    { eval: true },
  );
  onTestFinished(async () => {
    await worker.terminate();
  });
  const [port] = (await once(worker, 'message')) as [number];
  return port;
}

test('the error for a connection time-out differs from that for a missing answer', async () => {
  const port = await sleepingListener();
  // The operating system accepts some connections for the listener. Once its queue is full, one waits.
  const waiting = Array.from({ length: 8 }, () =>
    connectSocket(port, '127.0.0.1').on('error', () => undefined),
  );
  onTestFinished(() => {
    for (const socket of waiting) socket.destroy();
  });
  await Promise.race(waiting.map((socket) => once(socket, 'connect')));
  const http = createHttp(`http://127.0.0.1:${port}/v1`, () => KEY, {
    timeOuts: { connectMs: 200, requestMs: 5000 },
  });
  onTestFinished(() => http.close());

  expect((await failureOf(http.get('/a', {}))).message).toBe('no connection within under 1 s');
});

test('the error for a refused port has the system’s code', async () => {
  // No program listens on port 1. A port that a test has released could already be another test's.
  const http = createHttp('http://127.0.0.1:1/v1', () => KEY);
  onTestFinished(() => http.close());

  expect((await failureOf(http.get('/a', {}))).message).toContain('ECONNREFUSED');
});

test('the error for an unknown host has the system’s code', async () => {
  const http = createHttp('http://no-such-host.invalid/v1', () => KEY, {
    timeOuts: { connectMs: 5000, requestMs: 5000 },
  });
  onTestFinished(() => http.close());

  expect((await failureOf(http.get('/a', {}))).message).toMatch(/ENOTFOUND|EAI_AGAIN/);
});

test('a connection that is reset before the answer counts as no answer', async () => {
  const { http } = await serve(({ socket }) => socket.resetAndDestroy());

  expect((await failureOf(http.get('/a', {}))).message).toContain('ECONNRESET');
});

test.each([
  ['with a length', { 'content-length': '1000' }],
  ['in chunks', {}],
])('a body %s that breaks off counts as no answer, not as a short one', async (_how, headers) => {
  const { http } = await serve((_request, response) => {
    response.writeHead(200, headers);
    response.write('{"results":[');
    setImmediate(() => response.destroy());
  });

  await failureOf(http.get('/a', {}));
});

test('an answer that is not HTTP counts as no answer', async () => {
  const server = createSocketServer((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const http = createHttp(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, () => KEY);
  onTestFinished(() => {
    http.close();
    server.close();
  });

  await failureOf(http.get('/a', {}));
});

test('the error for a key that no header can hold does not show the key', async () => {
  const http = createHttp('http://127.0.0.1:9/v1', () => 'k3y-that\nmust');
  onTestFinished(() => http.close());

  await failureOf(http.get('/a', {}));
});

test('the client cuts off interim answers without end', async () => {
  let sent = 0;
  const { http } = await serve((_request, response) => {
    const push = (): void => {
      if (response.destroyed) return;
      response.writeProcessing();
      sent += 1;
      setImmediate(push);
    };
    push();
  });

  expect((await failureOf(http.get('/a', {}))).message).toContain('more than 20 interim answers');
  expect(sent).toBeLessThan(10_000);
});

test('the client takes an answer after a few interim ones', async () => {
  const { http } = await serve((_request, response) => {
    for (let nth = 0; nth < 20; nth += 1) response.writeProcessing();
    response.end('{}');
  });

  expect(await http.get('/a', {})).toMatchObject({ status: 200, body: '{}' });
});

test('the client decompresses a compressed answer', async () => {
  const { http } = await serve(answer(200, gzipSync('{"ä":1}'), { 'content-encoding': 'gzip' }));

  expect((await http.get('/a', {})).body).toBe('{"ä":1}');
});

test('a damaged compressed answer counts as no answer', async () => {
  const { http } = await serve(
    answer(200, gzipSync('{"a":1}'.repeat(1000)).subarray(0, 40), { 'content-encoding': 'gzip' }),
  );

  await failureOf(http.get('/a', {}));
});

test('the client reads an answer of exactly 16 MB and cuts off one that is a byte larger', async () => {
  const { http } = await serve((request, response) => {
    response.end(Buffer.alloc(16 * MB + (request.url?.endsWith('more') ? 1 : 0), 'x'));
  });

  expect((await http.get('/just', {})).body.length).toBe(16 * MB);
  expect((await failureOf(http.get('/more', {}))).message).toBe('the answer was above 16 MB and was cut off');
});

test('the client cuts off an endless answer while it arrives', async () => {
  let sent = 0;
  const { http } = await serve((_request, response) => {
    const push = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(MB))) sent += 1;
      if (!response.destroyed) response.once('drain', push);
    };
    push();
  });

  await failureOf(http.get('/a', {}));
  expect(sent).toBeLessThan(40);
});

test('the client cuts off a compressed answer at 16 MB of its text, with little memory', async () => {
  let taken = 0;
  const { http } = await serve((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    const packed = createGzip({ level: constants.Z_BEST_SPEED });
    packed.pipe(response);
    const push = (): void => {
      for (let some = 0; some < 4; some += 1) {
        taken += 1;
        if (response.destroyed || taken > 512) return void packed.end();
        if (!packed.write(Buffer.alloc(MB))) return void packed.once('drain', push);
      }
      setImmediate(push);
    };
    push();
  });
  const before = process.memoryUsage().rss;

  expect((await failureOf(http.get('/a', {}))).message).toBe('the answer was above 16 MB and was cut off');

  expect(process.memoryUsage().rss - before).toBeLessThan(150 * MB);
});

test.each([
  ['as it is', 200, `<title>${'x'.repeat(195)}${KEY}</title>`],
  ['in a text that is no JSON', 200, `{"cut": ["${KEY}`],
  ['in a name of an error', 500, `{"${KEY}": 1}`],
])('no answer contains the key, %s', async (_form, status, body) => {
  const { http } = await serve(answer(status, body));
  const { body: read } = await http.get('/a', {});
  expect(read).not.toContain('k3y');
  expect(read).toContain('[key]');
});

test('an answer without the key is the same text, digit by digit', async () => {
  const body = '{"id": 9007199254740993,  "n": 1.50, "t": "\\u0041 k3y"}';
  const { http } = await serve(answer(200, body));
  expect((await http.get('/a', {})).body).toBe(body);
});

test.each([
  ['the password', 'http', 'mirror', 'pr0xy/pa55'],
  ['the password', 'https', 'mirror', 'pr0xy/pa55'],
  ['the token in place of a login', 'http', 'pr0xy/pa55', ''],
  ['the token in place of a login', 'https', 'pr0xy/pa55', ''],
])('%s of a proxy of %s that repeats it is in no answer and no error', async (_, scheme, user, password) => {
  const credentials = Buffer.from(`${user}:${password}`).toString('base64');
  const server = createServer((request, response) =>
    response
      .writeHead(403, { location: '/?login=pr0xy%2Fpa55' })
      .end(`${request.headers['proxy-authorization'] ?? ''} pr0xy/pa55`),
  ).on('connect', ({ headers }, socket) =>
    socket.end(`HTTP/1.1 407 ${headers['proxy-authorization'] ?? ''} pr0xy/pa55\r\n\r\n`),
  );
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const login = [user, password].map(encodeURIComponent).join(':');
  const proxy = `http://${login}@127.0.0.1:${(server.address() as AddressInfo).port}`;
  const http = createHttp(`${scheme}://service.example/v1`, () => KEY, {
    network: { proxyEnv: { [`${scheme}_proxy`]: proxy }, authority: null },
  });
  onTestFinished(() => {
    http.close();
    server.close();
    server.closeAllConnections();
  });

  const said = await http.get('/a', {}).then(JSON.stringify, String);

  expect(said).toContain('[key]');
  expect(said).toMatch(/403|407/);
  for (const secret of [credentials, credentials.slice(12), 'pr0xy', 'pa55'])
    expect(said).not.toContain(secret);
});

test('a short user name of a proxy is no secret', async () => {
  const server = createServer((_, response) => response.writeHead(403).end('no access for mirror'));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const proxy = `http://mirror@127.0.0.1:${(server.address() as AddressInfo).port}`;
  const http = createHttp('http://service.example/v1', () => KEY, {
    network: { proxyEnv: { http_proxy: proxy }, authority: null },
  });
  onTestFinished(() => http.close());
  expect(await http.get('/a', {})).toMatchObject({ body: 'no access for mirror' });
});
