import type { ClientBase } from 'pg';
import { connectionTo, type PostgresAddress } from './address.ts';
import { MirrorClient } from './client.ts';

/** A session of the server. A process id alone may name another session later. */
export interface ServerSession {
  readonly pid: number;
  /** When it began, in s since 1970, in the server's own digits. */
  readonly began: string;
}

/** Ending a session takes at most this many ms; a server that is out of reach runs nothing for this one. */
const PATIENCE_MS = 3000;

/** The session of an open connection. */
export async function serverSession(client: ClientBase): Promise<ServerSession> {
  const { rows } = await client.query<ServerSession>(
    `SELECT pid, CAST(extract(epoch FROM backend_start) AS text) AS began
     FROM pg_stat_activity WHERE pid = pg_backend_pid()`,
  );
  return rows[0] ?? { pid: 0, began: '' };
}

/**
 * Ends a session of the same role from a second connection. A statement that runs in it ends at once,
 * whatever it has set. A failure is not reported: the session has lost its client in any case.
 */
export async function endSession(address: PostgresAddress, { pid, began }: ServerSession): Promise<void> {
  let second: MirrorClient | undefined;
  try {
    second = new MirrorClient({
      ...connectionTo(address),
      connectionTimeoutMillis: PATIENCE_MS,
      query_timeout: PATIENCE_MS,
    });
    // A broken connection fails its query.
    second.on('error', () => undefined);
    await second.connect();
    await second.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE pid = $1 AND CAST(extract(epoch FROM backend_start) AS text) = $2`,
      [pid, began],
    );
  } catch {
    // The server ends the session itself when it notices that the connection is cut.
  } finally {
    await second?.end().catch(() => undefined);
  }
}
