import { connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * Listens in front of a PostgreSQL server and passes everything on. It cuts a connection when the client
 * sends a text that matches.
 * @returns the address of `url` through the proxy
 */
export async function listenAndCut(url: string, text: RegExp): Promise<string> {
  const address = new URL(url);
  const server = createServer((client) => {
    const behind = connect(Number(address.port), address.hostname);
    for (const [from, to] of [
      [client, behind],
      [behind, client],
    ] as const) {
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
    }
    behind.pipe(client);
    client.on('data', (bytes) => {
      if (text.test(bytes.toString('latin1'))) client.destroy();
      else behind.write(bytes);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const place = server.address();
  const through = new URL(url);
  through.port = String(typeof place === 'object' && place !== null ? place.port : 0);
  return through.href;
}
