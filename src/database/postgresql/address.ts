/** The place of a mirror on a PostgreSQL server. */
export interface PostgresAddress {
  /** For the driver; it includes the password. */
  readonly connectionString: string;
  /** The name of the database. The driver would leave some of its characters as %XX. */
  readonly database: string;
  readonly schema: string;
  /** For messages; it has no password. */
  readonly name: string;
}

/** The values of `sslmode` that node-postgres treats as `verify-full`, each with a warning on stderr. */
const CHECKED_MODES: ReadonlySet<string> = new Set(['prefer', 'require', 'verify-ca']);

/**
 * The `sslmode` of an address, if it promises a weaker check of the server's certificate than the driver
 * makes; null if it says what the driver does.
 */
export function weakSslMode({ searchParams }: URL): string | null {
  if (searchParams.getAll('uselibpqcompat').at(-1) === 'true') return null;
  const mode = searchParams.getAll('sslmode').at(-1) ?? '';
  return CHECKED_MODES.has(mode) ? mode : null;
}

/** @param url must be valid (session/config/database-url.ts) */
export function addressOf(url: string): PostgresAddress {
  const address = new URL(url);
  const { searchParams: parameters } = address;
  const schema = parameters.get('schema') ?? 'public';
  // The driver does not know this parameter.
  parameters.delete('schema');
  // The configuration has warned of it (`sslModeWarnings`).
  if (weakSslMode(address) !== null) parameters.set('sslmode', 'verify-full');
  const connectionString = address.href;
  const user = address.username === '' ? '' : `${decodeURIComponent(address.username)}@`;
  const host = address.host === '' ? (parameters.get('host') ?? 'localhost') : address.host;
  return {
    connectionString,
    database: decodeURIComponent(address.pathname.slice(1)),
    schema,
    name: `postgresql://${user}${host}${address.pathname}?schema=${schema}`,
  };
}

/** The options of every client (client.ts). */
export function connectionTo({ connectionString, database }: PostgresAddress) {
  // Without keep-alive, a statement would wait two hours for a server whose machine is gone.
  const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
  return {
    connectionString,
    database,
    application_name: 'inbox-mirror',
    connectionTimeoutMillis: 10_000,
    ...keepAlive,
  };
}

/** A statement waits at most 10 s for a lock, as on SQLite. */
const LOCK_TIMEOUT_MS = 10_000;

/**
 * A transaction that has waited for its lock must see the rows committed meanwhile. Under a stricter level it
 * would not, and two processes would get the same slot.
 */
const ISOLATION = 'read committed';

/**
 * The first statement of each connection. It is not a start-up parameter, because connection poolers refuse
 * settings there. Prisma's adapter reads every instant as ISO 8601 in UTC, so the session sets both, whatever
 * the role or the database has set: in another style, 2 March would be read as 3 February. With fewer digits,
 * the server's time would be rounded. The planner overestimates the cost of the views: with `jit`, it would
 * compile a query for seconds that takes milliseconds.
 * @param more further settings
 */
export function sessionOf({ schema }: PostgresAddress, more: readonly string[]): string {
  const settings = [
    `search_path = "${schema}"`,
    `TimeZone = 'UTC'`,
    `DateStyle = 'ISO'`,
    'extra_float_digits = 1',
    'jit = off',
    `lock_timeout = ${LOCK_TIMEOUT_MS}`,
    `default_transaction_isolation = '${ISOLATION}'`,
    ...more,
  ];
  return settings.map((setting) => `SET ${setting}`).join('; ');
}
