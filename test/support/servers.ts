import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { LOCALHOST } from './certificates.ts';

async function listenOn(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** Serves over http. @returns the port on 127.0.0.1 */
export const serveHttp = async (listener: RequestListener): Promise<number> =>
  await listenOn(createServer(listener));

/** Serves a sandbox over https, with a certificate of an authority that no system knows. */
export async function serveHttps(sandbox: Sandbox, certificate = LOCALHOST): Promise<number> {
  return await listenOn(
    createSecureServer(certificate, (request, response) => {
      const headers = request.headers as Record<string, string | undefined>;
      void sandbox
        .handle({ method: request.method ?? '', path: request.url ?? '', headers })
        .then((answer) => response.writeHead(answer.status, { ...answer.headers }).end(answer.body));
    }),
  );
}

/**
 * A proxy for http and https, and the requests that it has received, with the user that they name. It alone
 * knows the host `service.example`, which is this machine.
 */
export async function serveProxy(): Promise<{ port: number; seen: string[] }> {
  const seen: string[] = [];
  const userOf = (header: string | undefined): string =>
    Buffer.from(header?.replace('Basic ', '') ?? '', 'base64').toString();
  const proxy = createServer((request, response) => {
    const { authorization = '', 'proxy-authorization': user } = request.headers;
    seen.push(`${request.method} ${request.url} as ${userOf(user)}`);
    void fetch((request.url ?? '').replace('service.example', '127.0.0.1'), {
      headers: { authorization },
    }).then(async (answer) => response.writeHead(answer.status).end(await answer.text()));
  });
  const sockets = new Set<Socket>();
  proxy.on('connect', (request, socket: Socket) => {
    const [host = '', port = ''] = (request.url ?? '').split(':');
    seen.push(`CONNECT ${request.url} as ${userOf(request.headers['proxy-authorization'])}`);
    if (host === 'denied.example') {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const upstream = connect(Number(port), host === 'service.example' ? '127.0.0.1' : host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) sockets.add(end.on('error', () => socket.destroy()));
  });
  const port = await listenOn(proxy);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { port, seen };
}
