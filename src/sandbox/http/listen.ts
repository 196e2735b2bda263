import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { SandboxAnswer, SandboxRequest } from './messages.ts';

export interface Listening {
  /** The base address, `http://127.0.0.1:PORT/v1`. */
  readonly url: string;
  close(): Promise<void>;
}

/** What becomes of a request: an answer, a broken socket, or nothing ever. */
export type Receive = (request: SandboxRequest) => Promise<SandboxAnswer | 'reset' | 'hang'>;

// As long as load balancers commonly keep an idle connection.
const KEEP_ALIVE_MS = 60_000;

/** Serves over HTTP. `port` 0 takes a free one. @throws the system's error when the address is taken. */
export async function listen(receive: Receive, port: number, host: string): Promise<Listening> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, response) => {
    answer(receive, incoming, response).catch((error: unknown) => {
      // A fault of the sandbox itself: said where a developer looks first, in the answer.
      if (!response.headersSent && !response.destroyed)
        response.writeHead(500).end(`the sandbox failed: ${String(error)}`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${name}:${bound}/v1`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        // Hung and idle kept-alive connections would keep the server open.
        server.closeAllConnections();
      }),
  };
}

async function answer(receive: Receive, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(incoming);
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(incoming.headers))
    headers[name] = Array.isArray(value) ? value.join(', ') : value;
  const request = { method: incoming.method ?? 'GET', path: incoming.url ?? '/', headers, body };

  const outcome = await receive(request);
  if (outcome === 'hang') return;
  if (outcome === 'reset') incoming.socket.resetAndDestroy();
  else if (!response.destroyed) response.writeHead(outcome.status, { ...outcome.headers }).end(outcome.body);
}
