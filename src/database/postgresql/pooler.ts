import type { ClientBase } from 'pg';
import { MirrorError } from '../../core/errors.ts';
import { connectionTo, type PostgresAddress } from './address.ts';
import { MirrorClient } from './client.ts';

/** How often the two connections compare their sessions: other clients of a pooler may come between. */
const ROUNDS = 5;

/** A pooler without a free session lets the second connection wait; the check ends after this many ms. */
const PATIENCE_MS = 3000;

/**
 * Refuses a connection pooler that shares the server's sessions between transactions. It is known by two
 * connections that are in one session, or by one that changes its session. A direct connection costs one
 * query.
 * @param client an open connection, outside of a transaction
 * @throws MirrorError `CONFIG`
 */
export async function refuseTransactionPooling(client: ClientBase, address: PostgresAddress): Promise<void> {
  const { processID } = client as ClientBase & { readonly processID: number | null };
  const own = await sessionOf(client);
  // The login named the same process of the server, so no pooler is between.
  if (own === processID) return;
  const second = new MirrorClient({ ...connectionTo(address), query_timeout: PATIENCE_MS });
  // A broken connection fails its query.
  second.on('error', () => undefined);
  try {
    await second.connect();
    for (let round = 0; round < ROUNDS; round++) {
      const others = await sessionOf(second);
      const now = await sessionOf(client);
      if (others === now || now !== own) throw sharesSessions(address);
    }
  } catch (error) {
    // Without a second session there is nothing to compare: a pooler in session mode may have no other.
    if (error instanceof MirrorError) throw error;
  } finally {
    await second.end().catch(() => undefined);
  }
}

/** The id of the server's process. */
async function sessionOf(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ id: number }>('SELECT pg_backend_pid() AS id');
  return rows[0]?.id ?? 0;
}

function sharesSessions({ name }: PostgresAddress): MirrorError {
  return new MirrorError(
    'CONFIG',
    `DATABASE_URL (${name}) leads through a connection pooler in transaction mode: ` +
      'connections share sessions of the server. They would lose their settings, the schema among them, ' +
      'and two mirrors could write into one. Nothing was changed; set DATABASE_URL to the server itself, ' +
      'or set the pooler to session mode (PgBouncer: pool_mode = session).',
  );
}
