import { once } from 'node:events';
import { type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { deliverChanges } from '../../../src/daemon/webhook/deliver.ts';
import type { Post } from '../../../src/daemon/webhook/send.ts';
import { postByHttp } from '../../../src/daemon/webhook/post.ts';
import { targetOf } from '../../../src/mirror/history/deliveries.ts';
import { mirrorOn } from '../../../src/mirror/mirror.ts';
import { LOCALHOST } from '../../support/certificates.ts';
import { testLog } from '../../support/log.ts';
import { quickMirror } from '../../support/template.ts';
import { answering, BEGUN, changed, SECRET, silentListener } from './receiver.ts';

describe('the outcome of a delivery', () => {
  test.each([
    ['very long', (response: ServerResponse) => void response.writeHead(200).end('x'.repeat(1_000_000))],
    [
      'cut off',
      (response: ServerResponse) =>
        void response.writeHead(200, { 'content-length': 9 }).write('x', () => response.destroy()),
    ],
    [
      'in a broken encoding',
      (response: ServerResponse) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
    ],
  ])('is read from the head of an answer whose body is %s', async (_body, answer) => {
    expect(await postByHttp(await answering(answer), {}, '{}')).toEqual({
      status: 200,
      retryAfter: undefined,
      date: expect.any(String) as unknown,
      problem: null,
    });
  });

  test('names the setting for a certificate of one’s own authority', async () => {
    const server = createSecureServer(LOCALHOST, (_, response) => response.end()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as { port: number }).port}/`;
    expect(await postByHttp(url, {}, '{}')).toMatchObject({
      status: null,
      problem: expect.stringMatching(/UNABLE_TO_\w+: the certificate.*NODE_EXTRA_CA_CERTS/),
    });
  });

  test.each([
    ['https://other.example/hook?token=t0p', 'leads to https://other.example'],
    ['//user:t0p@other.example:8443/t0p', 'leads to http://other.example:8443'],
    ['/hook/?token=t0p', 'leads to another path of the same origin'],
    ['mailto:t0p@other.example', 'leads to another address'],
    ['https://[t0p', 'leads to another address'],
    [`https://${'a'.repeat(5000)}.example/`, `leads to https://${'a'.repeat(92)}…`],
  ])('names the origin, and no secret, of a redirect to %s', async (location, target) => {
    const url = await answering((response) => void response.writeHead(301, { location }).end());
    expect(await postByHttp(url, {}, '{}')).toMatchObject({
      status: 301,
      problem: `HTTP 301: redirects are not followed, and this one ${target}`,
    });
  });

  test('is the HTTP status alone if the answer leads nowhere', async () => {
    const url = await answering((response) => void response.writeHead(304).end());
    expect(await postByHttp(url, {}, '{}')).toMatchObject({ status: 304, problem: null });
  });

  test.each([
    [
      'with 413',
      (response: ServerResponse) => void response.writeHead(413).end(() => response.socket?.destroy()),
    ],
    ['without an answer', (response: ServerResponse) => void response.socket?.destroy()],
  ])('is 413 if the receiver closes %s before it has read a long body', async (_how, answer) => {
    const long = 'x'.repeat(8_000_000);
    expect(await postByHttp(await answering(answer), {}, long)).toMatchObject({ status: 413 });
  });

  test('is a failure if the receiver closes without an answer to a short body', async () => {
    const url = await answering((response) => void response.socket?.destroy());
    expect(await postByHttp(url, {}, '{}')).toMatchObject({ status: null });
  });

  test.each([
    ['receiver', {}],
    ['proxy for http', { http_proxy: 'http' }],
    ['proxy for https', { https_proxy: 'https' }],
  ])('is 504 if the %s does not answer in time', async (_who, proxies) => {
    const late = new AbortController();
    const timeOut = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal);
    onTestFinished(() => timeOut.mockRestore());
    const silent = await silentListener(() => late.abort(new DOMException('', 'TimeoutError')));
    const [[name, scheme] = []] = Object.entries(proxies);
    const answer =
      name === undefined
        ? postByHttp(silent, {}, '{}')
        : postByHttp(`${scheme}://receiver.example/`, {}, '{}', undefined, { [name]: silent });
    expect(await answer).toMatchObject({ status: 504, problem: 'no answer (ETIMEDOUT)' });
    expect(timeOut).toHaveBeenCalledWith(15_000);
  });

  test('is known before a receiver has read a long body, and a later stop of the daemon is no error', async () => {
    const [cut, closed] = [new AbortController(), Promise.withResolvers<void>()];
    const url = await answering((response) => {
      response.writeHead(413).end();
      response.socket?.once('close', closed.resolve).pause();
    });
    const long = 'x'.repeat(20_000_000);
    expect(await postByHttp(url, {}, long, cut.signal)).toMatchObject({ status: 413 });
    cut.abort();
    await closed.promise;
  });

  test('is a failure after interim answers without end', async () => {
    const url = await answering((response) => {
      for (let nth = 0; nth < 21; nth += 1) response.writeProcessing();
    });
    expect(await postByHttp(url, {}, '{}')).toMatchObject({
      status: null,
      problem: 'no answer (INTERIM_ANSWERS)',
    });
  });

  test('is neither recorded nor logged when the daemon ends before the answer', async () => {
    const mirror = await quickMirror();
    await mirror.sync();
    const asked = Promise.withResolvers<void>();
    const url = await answering(() => asked.resolve());
    const [stop, cut] = [new AbortController(), new AbortController()];
    const { log, lines } = testLog('trace');
    await mirror.writer.deliveries.write(targetOf(url), BEGUN, mirror.clock.now());
    await changed(mirror, 5);
    const webhook = { url, secret: SECRET };
    const post: Post = (...request) => postByHttp(...request, cut.signal);
    const ended = deliverChanges({
      mirror: mirror.writer,
      clock: mirror.clock,
      log,
      post,
      webhook,
      signal: stop.signal,
    });
    await asked.promise;
    stop.abort();
    cut.abort();
    await ended;
    expect(await mirrorOn(mirror.database).deliveries.read(targetOf(url))).toEqual(BEGUN);
    expect(lines).toEqual([]);
  });
});
