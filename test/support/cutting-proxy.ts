import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * Listens in front of a PostgreSQL server and passes everything on. It cuts a connection when the client
 * sends a text that matches.
 * @returns the address of `url` through the proxy
 */
export async function listenAndCut(url: string, text: RegExp): Promise<string> {
  return await listenBefore(url, text, (client) => client.destroy());
}

/**
 * As {@link listenAndCut}, but the first connection whose text matches stays open, and the server receives
 * nothing more from it.
 */
export async function listenAndHang(url: string, text: RegExp): Promise<string> {
  let hangs = false;
  return await listenBefore(url, text, (client, pass) => {
    if (hangs) return pass();
    hangs = true;
    client.removeAllListeners('data').resume();
  });
}

async function listenBefore(
  url: string,
  text: RegExp,
  onMatch: (client: Socket, pass: () => void) => void,
): Promise<string> {
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
    let sent = '';
    client.on('data', (bytes) => {
      sent += bytes.toString('latin1');
      const pass = (): void => void behind.write(bytes);
      if (text.test(sent)) onMatch(client, pass);
      else pass();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const place = server.address();
  const through = new URL(url);
  through.port = String(typeof place === 'object' && place !== null ? place.port : 0);
  return through.href;
}
