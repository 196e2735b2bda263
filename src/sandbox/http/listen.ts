import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { SandboxAnswer, SandboxRequest } from './messages.ts';

export interface SandboxServer {
  /** The base address, `http://127.0.0.1:PORT/v1`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Resolves to the answer, to `reset` to break the socket, or to `hang` to leave the request unanswered. */
export type RequestHandler = (request: SandboxRequest) => Promise<SandboxAnswer | 'reset' | 'hang'>;

// Load balancers commonly keep an idle connection this long.
const KEEP_ALIVE_MS = 60_000;

/** Serves over HTTP. Port 0 selects a free port. @throws the system's error if the address is in use */
export async function listen(handler: RequestHandler, port: number, host: string): Promise<SandboxServer> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, response) => {
    answer(handler, incoming, response).catch((error: unknown) => {
      // A bug in the sandbox: report it in the answer, where a developer sees it first.
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
        // Unanswered requests and idle keep-alive connections would keep the server open.
        server.closeAllConnections();
      }),
  };
}

async function answer(
  handler: RequestHandler,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await buffer(incoming);
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(incoming.headers))
    headers[name] = Array.isArray(value) ? value.join(', ') : value;
  const request = { method: incoming.method ?? 'GET', path: incoming.url ?? '/', headers, body };

  const outcome = await handler(request);
  if (outcome === 'hang') return;
  if (outcome === 'reset') incoming.socket.resetAndDestroy();
  else if (!response.destroyed)
    response.writeHead(outcome.status, { ...outcome.headers }).end(outcome.bytes ?? outcome.body);
}
