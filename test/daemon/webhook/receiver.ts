import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished } from 'vitest';
import { deliverChanges } from '../../../src/daemon/webhook/deliver.ts';
import { postByHttp } from '../../../src/daemon/webhook/post.ts';
import { testLog } from '../../support/log.ts';
import type { TestMirror } from '../../support/mirror.ts';

export const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes long').toString('base64')}`;

/** A target that has accepted no change yet. */
export const BEGUN = { lastId: 0, failures: 0, retryAt: null, cause: null, setAside: 0, setAsideId: null };

export interface Taken {
  readonly id: string;
  readonly changes: number[];
}

type MaybePromise<Result> = Result | Promise<Result>;

/** A receiver that checks each signature and answers with what `answer` returns. */
export async function receiver(
  answer: (
    nth: number,
    ids: number[],
  ) => MaybePromise<{ status: number; retryAfter?: string } | 'reset'> = () => ({
    status: 204,
  }),
) {
  const taken: Taken[] = [];
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const { data } = JSON.parse(body) as { data: { changes: { id: number }[] } };
      const ids = data.changes.map((change) => change.id);
      const outcome = await answer(asked.push(String(request.headers['webhook-id'])), ids);
      if (outcome === 'reset') return request.socket.destroy();
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      // The timestamp is of the test clock, so the check is that the signature covers id, time and body.
      const [id, time] = [headers['webhook-id']!, headers['webhook-timestamp']!];
      expect(headers['webhook-signature']).toBe(
        new Webhook(SECRET).sign(id, new Date(Number(time) * 1000), body),
      );
      if (outcome.status < 300) taken.push({ id, changes: ids });
      return response
        .writeHead(
          outcome.status,
          outcome.retryAfter === undefined ? {} : { 'retry-after': outcome.retryAfter },
        )
        .end();
    })();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/hook?token=t0p`, taken, asked };
}

/** The URL of a server whose answers `answer` writes. */
export async function answering(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => answer(response)).listen(0, '127.0.0.1');
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

/** The URL of a listener that never answers. It calls `onAsked` once a request arrives. */
export async function silentListener(onAsked: () => void): Promise<string> {
  const server = createTcpServer((socket) => {
    onTestFinished(() => void socket.destroy());
    socket.once('data', onAsked);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

export function deliver(mirror: TestMirror, url: string) {
  const { writer, clock } = mirror;
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const { log, lines } = testLog();
  const post: typeof postByHttp = (...request) => clock.hold(() => postByHttp(...request));
  const ended = deliverChanges({
    mirror: writer,
    clock,
    log,
    post,
    webhook: { url, secret: SECRET },
    signal: stop.signal,
  });
  return { lines, stop: async () => (stop.abort(), await ended) };
}

export async function changed(mirror: TestMirror, events: number): Promise<number[]> {
  mirror.sandbox.applyEvents(events);
  await mirror.sync();
  return (await mirror.database.query<{ id: number }>('SELECT id FROM changes ORDER BY id')).map(
    ({ id }) => id,
  );
}

export async function until(
  mirror: TestMirror,
  isSo: () => boolean | Promise<boolean>,
  everyMs = 1000,
): Promise<void> {
  for (let polls = 0; !(await isSo()); polls += 1) {
    if (polls === 5000) throw new Error('the condition never held');
    await mirror.clock.sleep(everyMs);
  }
}
