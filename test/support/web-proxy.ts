import { createServer, request as send } from 'node:http';
import { onTestFinished } from 'vitest';

/** The answer of a proxy whose daemon is away. */
export const BAD_GATEWAY = { status: 502, body: '<title>502 Bad Gateway</title><h1>502 Bad Gateway</h1>' };

export interface WebProxy {
  readonly url: string;
  /** The proxy's own answer in place of the daemon's; null: it passes requests on. */
  answerItself(answer: { readonly status: number; readonly body: string } | null): void;
  /** The requests whose path begins so: all of them, and those in progress. */
  count(path: string): { readonly asked: number; readonly open: number };
}

/** Listens in front of a daemon's pages, as Caddy and nginx do. Its own answers begin with a cut of all connections. */
export async function listenBeforePages(url: string): Promise<WebProxy> {
  let own: Parameters<WebProxy['answerItself']>[0] = null;
  const asked: string[] = [];
  const open = new Set<string>();
  const server = createServer((request, response) => {
    const { url: path = '/', method, headers } = request;
    asked.push(path);
    if (own !== null)
      return void response.writeHead(own.status, { 'content-type': 'text/html' }).end(own.body);
    const key = `${path} ${asked.length}`;
    open.add(key);
    const onward = send(new URL(path, url), { method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.flushHeaders();
      answer.on('error', () => response.destroy()).pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.once('close', () => {
      open.delete(key);
      onward.destroy();
    });
    return void request.pipe(onward);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const place = server.address();
  const count = (all: Iterable<string>, path: string): number =>
    [...all].filter((one) => one.startsWith(path)).length;
  return {
    url: `http://127.0.0.1:${typeof place === 'object' && place !== null ? place.port : 0}`,
    answerItself(answer) {
      own = answer;
      if (own !== null) server.closeAllConnections();
    },
    count: (path) => ({ asked: count(asked, path), open: count(open, path) }),
  };
}
