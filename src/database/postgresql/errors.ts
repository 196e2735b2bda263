import { MirrorError } from '../../core/errors.ts';

const UNREACHABLE =
  'cannot be reached. Check that the server runs and that DATABASE_URL names the right host and port. Nothing is lost; run the command again then';
const CUT =
  'has closed the connection, or is just starting or stopping. Nothing is lost; run the command again';

/** The server's SQLSTATE, the system's error code or the driver's words, against what it means to a person. First match wins. */
const CAUSES: [RegExp, string][] = [
  [
    /^28(000|P01)|client password must be|no password supplied/i,
    'refuses this user or password. Check both in DATABASE_URL; special characters in them are written as %XX',
  ],
  [
    /^3D000/,
    'does not exist: the server has no database of this name. Make it (`createdb`), or set DATABASE_URL to another',
  ],
  [
    /^(42501|3F000)|permission denied/i,
    'gives this user too few rights. Let the user own the schema, or make and change tables in it',
  ],
  [
    /^2BP01/,
    'has views of your own on views of the mirror, which this program has newer ones of. Nothing was changed; drop yours, run the command again, and make them anew',
  ],
  [
    /^42P07/,
    'has a table or view that is not the mirror’s but has the name of one of its own. Rename it, or give the mirror a schema of its own (?schema=inbox_mirror)',
  ],
  [
    /^53300|^53400/,
    'takes no more connections. Nothing is lost; close some, or raise the server’s max_connections',
  ],
  [
    /^53100|no space left/i,
    'cannot grow: the disk is full. Nothing is lost; free some space and run the command again',
  ],
  [
    /^53/,
    'is short of memory or another resource. Nothing is lost; run the command again when the server is less busy',
  ],
  [/^25006/, 'is read-only here: a stand-by server, or set so. Set DATABASE_URL to the primary server'],
  [
    /^55P03/,
    'is locked by another program. Nothing is lost; end what holds the lock and run the command again',
  ],
  [/^55|^40/, 'is being changed or closed by somebody else. Nothing is lost; run the command again'],
  [
    /^57014/,
    'has stopped the statement: it took longer than the server allows, or somebody cancelled it. Nothing is lost',
  ],
  [
    /^(58|XX00[12]|F0)/,
    'cannot read or write its files. Nothing that was applied is lost; the server’s own log says more',
  ],
  [
    /TlsConnectionError|SSL|certificate|^ENOENT.* open /i,
    'cannot be reached over a secure connection. Check sslmode and sslrootcert in DATABASE_URL, and the server’s certificate',
  ],
  [
    /^(ECONNRESET|EPIPE|08|57P|25P03)|ConnectionClosed|connection terminated (?!due)|not queryable|connection error/i,
    CUT,
  ],
  [
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)|DatabaseNotReachable|SocketTimeout|timeout/i,
    UNREACHABLE,
  ],
];

/** What the adapter tells of a failure. */
interface AdapterCause {
  readonly kind?: string;
  readonly originalCode?: string;
  readonly originalMessage?: string;
}

/** A database failure as a sentence; anything that is no database failure comes back as it is. */
export function asPostgresError(error: unknown, name: string): unknown {
  if (error instanceof MirrorError || !(error instanceof Error)) return error;
  const cause = (error.cause ?? {}) as AdapterCause;
  const code = cause.originalCode ?? ('code' in error ? String(error.code) : '');
  const text = `${code} ${cause.kind ?? ''} ${cause.originalMessage ?? error.message}`.trim();
  const known = CAUSES.find(([pattern]) => pattern.test(text));
  if (known === undefined) return error;
  // The adapter's own words for a kind of failure tell nothing more; the schema engine's go on with its inner places.
  const [said = ''] = (
    cause.originalMessage ?? (error.message === cause.kind ? '' : error.message || code)
  ).split('\n');
  return new MirrorError('DATABASE', `The database ${name} ${known[1]}${said === '' ? '' : ` (${said})`}.`, {
    cause: error,
  });
}
