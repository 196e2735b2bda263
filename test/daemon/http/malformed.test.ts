import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { served } from './served.ts';

/** Sends the bytes, and returns the whole answer. */
async function send(url: string, bytes: string): Promise<{ status: number; head: string; json: unknown }> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  socket.write(bytes);
  const answer = await text(socket);
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), json: JSON.parse(body) };
}

const CLOSE = 'Host: 127.0.0.1\r\nConnection: close\r\n\r\n';
const ESCAPE = 'The path contains an invalid %-escape; write a literal % as %25.';
const INVALID = 'This is not a valid request of HTTP/1.1.';

test.each([
  ['a % alone in its path', `GET /% HTTP/1.1\r\n${CLOSE}`, 400, ESCAPE],
  ['an escape that is not UTF-8', `GET /%ff?since_id=0 HTTP/1.1\r\n${CLOSE}`, 400, ESCAPE],
  ['a line that is no header', 'GET / HTTP/1.1\r\nno header\r\n\r\n', 400, INVALID],
  ['a handshake of TLS', '\u0016\u0003\u0001 hello', 400, INVALID],
  [
    'no header Host',
    'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n',
    421,
    'This daemon does not answer to the host name "". If it should, add the name to HTTP_ALLOWED_HOSTS.',
  ],
  [
    'an unknown expectation',
    `GET /healthz HTTP/1.1\r\nExpect: foo\r\n${CLOSE}`,
    417,
    'This daemon meets no expectation but 100-continue; leave the header Expect out.',
  ],
  [
    'headers of 20,000 bytes',
    `GET / HTTP/1.1\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
    431,
    'The headers of this request are too long; send at most 16384 bytes.',
  ],
  [
    'headers without an end',
    'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n',
    408,
    'This request did not arrive in time; send its headers within 5 s.',
  ],
])('a request with %s gets an error in the documented form', async (_what, bytes, status, error) => {
  const { url } = await served();
  const answer = await send(url, bytes);
  expect(answer).toMatchObject({ status, json: { error } });
  for (const header of ['cache-control: no-store', 'x-content-type-options: nosniff'])
    expect(answer.head).toContain(header);
  expect(answer.head).toContain('content-type: application/json; charset=utf-8');
});

test('a client that resets its connection does not disturb the next one', async () => {
  const { url, ask } = await served();
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  socket.write('GET / HTTP/1.1\r\n');
  socket.resetAndDestroy();
  expect((await ask('/healthz')).status).toBe(200);
});

test('a page of an id of 5,000 characters is looked for, and not found', async () => {
  const { ask } = await served();
  const { status, body } = await ask(`/inboxes/${'x'.repeat(5000)}`, { headers: { accept: 'text/html' } });
  expect([status, body]).toEqual([
    404,
    expect.stringContaining('The mirror has nothing under this address.'),
  ]);
});

test('a browser gets a page for a path with an invalid escape', async () => {
  const { ask } = await served();
  const { status, headers, body } = await ask('/%', { headers: { accept: 'text/html' } });
  expect([status, headers['content-type']]).toEqual([400, 'text/html; charset=utf-8']);
  expect(body).toContain('<h1>This request is wrong</h1>');
  expect(body).toContain(ESCAPE);
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'content-security-policy': expect.stringMatching(/^default-src 'none';/),
    'x-content-type-options': 'nosniff',
  });
});
