/** Where a mirror lies on a PostgreSQL server. */
export interface PostgresAddress {
  /** For the driver, password included. */
  readonly connectionString: string;
  readonly schema: string;
  /** For messages: without the password. */
  readonly name: string;
}

/** @param url as `config.ts` has checked it */
export function addressOf(url: string): PostgresAddress {
  const address = new URL(url);
  const { searchParams: parameters } = address;
  const schema = parameters.get('schema') ?? 'public';
  // The driver knows no such parameter.
  parameters.delete('schema');
  const connectionString = address.href;
  const user = address.username === '' ? '' : `${decodeURIComponent(address.username)}@`;
  const host = address.host === '' ? (parameters.get('host') ?? 'localhost') : address.host;
  return {
    connectionString,
    schema,
    name: `postgresql://${user}${host}${address.pathname}?schema=${schema}`,
  };
}

/** What the driver is told, whoever opens the connection. */
export function connectionTo({ connectionString }: PostgresAddress) {
  // A server whose machine is gone says nothing: without these looks a statement would wait for it for two hours.
  const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
  return {
    connectionString,
    application_name: 'inbox-mirror',
    connectionTimeoutMillis: 10_000,
    ...keepAlive,
  };
}

/** As long as on SQLite a statement waits for what another has locked. */
const LOCK_TIMEOUT_MS = 10_000;
/** Under a stricter one a transaction that has waited for its lock would not see what was done meanwhile: two would be granted one slot. */
const ISOLATION = 'read committed';

/**
 * The statement that each new connection begins with; poolers between us and the server refuse such settings among the start-up
 * parameters. Prisma's adapter takes every instant for UTC and for ISO 8601, so that is what the server must speak, whatever a role or a
 * database is set to: in another style the second of March would be read as the third of February.
 * @param more further settings
 */
export function sessionOf({ schema }: PostgresAddress, more: readonly string[]): string {
  const settings = [
    `search_path = "${schema}"`,
    `TimeZone = 'UTC'`,
    `DateStyle = 'ISO'`,
    `lock_timeout = ${LOCK_TIMEOUT_MS}`,
    `default_transaction_isolation = '${ISOLATION}'`,
    ...more,
  ];
  return settings.map((setting) => `SET ${setting}`).join('; ');
}
