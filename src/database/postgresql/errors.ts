import { codeOf, MirrorError } from '../../core/errors.ts';
import { adapterError, causeOf } from '../adapter.ts';

const UNREACHABLE =
  'cannot be reached. Nothing is lost. Check that the server runs and that DATABASE_URL names ' +
  'the right host and port, then run the command again';
const CUT =
  'has closed the connection, or is just starting or stopping. Nothing is lost; run the command again';
const SILENT =
  'has left a statement without an answer. Nothing is lost. Check the server, and any proxy or tunnel in ' +
  'front of it, then run the command again';
const UNSAFE =
  'cannot be reached over a secure connection. ' +
  'Check sslmode and sslrootcert in DATABASE_URL, and the server’s certificate';

/** For a standby server, and for a setting of the server, the database or the role. */
export const READ_ONLY =
  'is read-only here: it is a standby server, or is set to be read-only. ' +
  'Set DATABASE_URL to the primary server';

/** A missing table. No retry helps if it is one of the mirror's (`lost-tables.ts`). */
const DAMAGE = /^42P01/;

/** The DETAIL of these names the views in the way. That of others can repeat a value of the mirror. */
const NAMES_VIEWS = /^2BP01/;

/**
 * SQLSTATEs, system error codes and texts of the driver, with their meaning for the user. The first match
 * wins.
 */
const CAUSES: [RegExp, string][] = [
  // The form of Node's errors of files: the driver reads those of certificates.
  [/^(E[A-Z]+) +\1: /, UNSAFE],
  // Servers in other languages translate these sentences, but not the name of the file.
  [
    /pg_hba\.conf (?!.*"\[local\]").*(no encryption|SSL off)$/i,
    'wants TLS: it admits no unencrypted connection of this host and user to this database. ' +
      'Add sslmode=verify-full&sslrootcert=FILE to DATABASE_URL, where FILE has the certificate of the ' +
      'server’s authority; or let the server’s pg_hba.conf admit the connection',
  ],
  [
    /^28000 .*pg_hba\.conf/,
    'does not admit this host, user or database: the server’s pg_hba.conf has no rule that does. ' +
      'Check DATABASE_URL, or have a rule added there',
  ],
  [
    /^28(000|P01)|client password must be|no password supplied/i,
    'refuses this user or password. Check both in DATABASE_URL; write special characters in them as %XX',
  ],
  [
    /^3D000/,
    'does not exist: the server has no database of this name. ' +
      'Create it (`createdb`), or set DATABASE_URL to another',
  ],
  [
    /^(42501|3F000)|permission denied/i,
    'gives this user too few rights. If it only reads, grant it SELECT on the tables and views. ' +
      'If it syncs, make it the owner of the schema and of its tables and views. ' +
      'If another user restored them, restore them again with `pg_restore --no-owner --role=USER`',
  ],
  [
    DAMAGE,
    'has lost a table of the mirror: the schema was renamed, removed or replaced. ' +
      'Put the schema back or restore a backup, then start the program again',
  ],
  [
    NAMES_VIEWS,
    'has views of your own that read views of the mirror, and this program must replace those. ' +
      'Nothing was changed; drop your views, run the command again, then create them again',
  ],
  [
    /^42P07/,
    'has another program’s table or view with a name that the mirror needs. ' +
      'Rename it, or give the mirror a separate schema (?schema=inbox_mirror)',
  ],
  [
    /^53300|^53400/,
    'accepts no more connections. Nothing is lost; close some, or raise the server’s max_connections',
  ],
  [
    /^53100|no space left/i,
    'cannot grow: the disk is full. Nothing is lost; free some space and run the command again',
  ],
  [
    /^53/,
    'is short of memory or another resource. Nothing is lost; ' +
      'run the command again when the server is less busy',
  ],
  [/^25006/, READ_ONLY],
  [
    /^55P03/,
    'is locked by another program. Nothing is lost; ' +
      'end the program that holds the lock, then run the command again',
  ],
  [/^55|^40/, 'is being changed or closed by another program. Nothing is lost; run the command again'],
  [
    /^57014/,
    'has stopped the statement: it took longer than the server allows, or another user cancelled it. ' +
      'Nothing is lost; run the command again, or raise the server’s statement_timeout',
  ],
  [
    /^25P04/,
    'has ended the transaction: it took longer than its transaction_timeout allows. ' +
      'Nothing is lost; raise this setting of the role, the database or the server, then run the command ' +
      'again',
  ],
  [
    /^(58|XX00[12]|F0)/,
    'cannot read or write its files. Nothing that was applied is lost; the server’s log has the details',
  ],
  [/^no answer for /, SILENT],
  [/TlsConnectionError|SSL|certificate/i, UNSAFE],
  [/^(ECONNRESET|EPIPE|08|57P|25P03)|ConnectionClosed/i, CUT],
  [/connection terminated (?!due)|not queryable|connection error/i, CUT],
  [/DatabaseNotReachable|timeout/i, UNREACHABLE],
  // Any other code of the system, such as EMFILE. Node's own begin with ERR_.
  [/^E(?!RR_)[A-Z_]+(?!\S)/, UNREACHABLE],
];

/**
 * A known database failure as a `DATABASE` error with a message for the user; every other error unchanged.
 */
export function asPostgresError(thrown: unknown, name: string): unknown {
  if (thrown instanceof MirrorError || !(thrown instanceof Error)) return thrown;
  const error = adapterError(thrown) ?? thrown;
  const cause = causeOf(thrown);
  const code = codeIn(thrown);
  const text = `${code} ${cause.kind ?? ''} ${cause.originalMessage ?? error.message}`.trim();
  const known = CAUSES.find(([pattern]) => pattern.test(text));
  if (known === undefined) return thrown;
  // A message that only repeats the kind adds nothing. The schema engine's messages continue with its source
  // lines.
  const message = cause.originalMessage ?? (error.message === cause.kind ? '' : error.message || code);
  const [firstLine = ''] = message.split('\n');
  const views = NAMES_VIEWS.test(text) && cause.detail ? `: ${cause.detail.replaceAll('\n', '; ')}` : '';
  const detail = firstLine === '' ? '' : ` (${firstLine}${views})`;
  return new MirrorError('DATABASE', `The database ${name} ${known[1]}${detail}.`, {
    isDamage: DAMAGE.test(text),
    cause: thrown,
  });
}

/** The SQLSTATE, or the code of the system or the driver; empty if there is none. */
export function codeIn(thrown: Error): string {
  return causeOf(thrown).originalCode ?? codeOf(adapterError(thrown) ?? thrown) ?? '';
}
