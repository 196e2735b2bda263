import { createServer, type Socket } from 'node:net';
import { Client } from 'pg';
import { onTestFinished } from 'vitest';

/** A session of the server, past its login, and the client that uses it now. */
interface ServerSession {
  readonly stream: Socket;
  client: PooledClient | null;
}

interface PooledClient {
  readonly socket: Socket;
  session: ServerSession | null;
  /** Bytes that wait for a session. */
  waiting: Buffer[];
}

const SSL_REQUEST = 80_877_103;

/** The answer to a login, with a number of a process that is not the server's, as PgBouncer gives it. */
const WELCOME = Buffer.concat([
  message('R', Buffer.from([0, 0, 0, 0])),
  message('K', Buffer.from([0x7f, 0, 0, 1, 0, 0, 0, 1])),
  message('Z', Buffer.from('I')),
]);

type PoolMode = 'transaction' | 'session';

/** The address of `url` through a pooler, see {@link startPooler}. */
export async function listenAsPooler(
  url: string,
  options: { mode: PoolMode; sessions: number },
): Promise<string> {
  return (await startPooler(url, options)).address;
}

/**
 * Listens in front of a PostgreSQL server, as PgBouncer does: a client has a session of the server until its
 * transaction ends, or until it disconnects. `restartAs` ends all connections to clients, and
 * changes the mode.
 * @param sessions of the server; transactions use them in turn
 */
export async function startPooler(
  url: string,
  { mode, sessions }: { mode: PoolMode; sessions: number },
): Promise<{ readonly address: string; restartAs(next: PoolMode): void }> {
  const sockets = new Set<Socket>();
  const waiting: PooledClient[] = [];
  const idle = await Promise.all(Array.from({ length: sessions }, () => openSession(url, release)));
  function assign(): void {
    while (idle.length > 0 && waiting.length > 0) {
      const [session, client] = [idle.shift()!, waiting.shift()!];
      session.client = client;
      client.session = session;
      for (const bytes of client.waiting.splice(0)) session.stream.write(bytes);
    }
  }
  function release(session: ServerSession): void {
    if (session.client === null) return;
    if (mode === 'session' && !session.client.socket.destroyed) return;
    session.client.session = null;
    session.client = null;
    idle.push(session);
    assign();
  }
  const server = createServer((socket) => {
    const client: PooledClient = { socket, session: null, waiting: [] };
    sockets.add(socket);
    let isIn = false;
    socket.on('error', () => undefined);
    socket.on('close', () => client.session !== null && release(client.session));
    socket.on('data', (bytes) => {
      if (!isIn) {
        isIn = bytes.readUInt32BE(4) !== SSL_REQUEST;
        socket.write(isIn ? WELCOME : 'N');
      } else if (bytes[0] === 'X'.charCodeAt(0)) socket.end();
      else if (client.session !== null) client.session.stream.write(bytes);
      else {
        client.waiting.push(bytes);
        if (!waiting.includes(client)) waiting.push(client);
        assign();
      }
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const place = server.address();
  const address = new URL(url);
  address.port = String(typeof place === 'object' && place !== null ? place.port : 0);
  return {
    address: address.href,
    restartAs(next) {
      mode = next;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
  };
}

/** @param onReady called when the server has answered outside of a transaction */
async function openSession(url: string, onReady: (session: ServerSession) => void): Promise<ServerSession> {
  const client = new Client(url) as Client & { readonly connection: { readonly stream: Socket } };
  await client.connect();
  const { stream } = client.connection;
  stream.removeAllListeners('data').removeAllListeners('close');
  onTestFinished(() => void stream.destroy());
  const session: ServerSession = { stream, client: null };
  let rest = Buffer.alloc(0);
  stream.on('data', (bytes: Buffer) => {
    session.client?.socket.write(bytes);
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      const end = rest.readUInt32BE(1) + 1;
      const isReady = rest.toString('latin1', 0, 1) === 'Z' && rest.toString('latin1', 5, 6) === 'I';
      rest = rest.subarray(end);
      if (isReady) onReady(session);
    }
  });
  return session;
}

function message(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length + 4);
  return Buffer.concat([Buffer.from(type), length, content]);
}
