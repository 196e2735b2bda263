import type { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { type Client, DatabaseError } from 'pg';
import Cursor from 'pg-cursor';
import { unlessAborted } from '../../core/abortable.ts';
import { SECOND } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import { APPLIED, refuseNewer, shippedMigrations } from '../../database/migrations/shipped.ts';
import {
  addressOf,
  connectionTo,
  type PostgresAddress,
  sessionOf,
} from '../../database/postgresql/address.ts';
import { MirrorClient } from '../../database/postgresql/client.ts';
import { postgresql } from '../../database/postgresql/dialect.ts';
import { asPostgresError } from '../../database/postgresql/errors.ts';
import { refuseTransactionPooling } from '../../database/postgresql/pooler.ts';
import { refuseHiddenSchema } from '../../database/postgresql/rights.ts';
import { endSession, type ServerSession, serverSession } from '../../database/postgresql/session.ts';
import {
  hintOf,
  type Missing,
  type NamedColumn,
  noMirrorYet,
  noRows,
  olderMirror,
  readOnlyHere,
  refuseNoStatement,
  severalStatements,
  wrongSql,
} from '../faults.ts';
import type { Cell, QueryResult, ReadLimits, ReadOnlyMirror } from '../result.ts';
import { type Batch, readBatch, ROWS_AT_FIRST, rowsOf } from './batches.ts';
import { refuseLongMessages } from './long-messages.ts';
import { isJson, parserOf } from './values.ts';

const SESSION = [
  'default_transaction_read_only = on',
  // A reader that pauses between rows keeps its connection.
  'idle_in_transaction_session_timeout = 0',
  // All rows are read. By default the planner expects that a cursor reads a tenth of them.
  'cursor_tuple_fraction = 1.0',
  'bytea_output = hex',
  // In a plain string, a backslash is a character.
  'standard_conforming_strings = on',
];

/** A session in a read-only transaction. */
interface ReadSession {
  readonly client: Client;
  /** The mirror, for messages. */
  readonly name: string;
  readonly signal: AbortSignal | undefined;
  /** Aborted when the connection breaks. The driver's cursor may miss that after its last row. */
  readonly broken: AbortController;
  /** The names of the migrations that the mirror has. */
  applied: readonly string[];
}

/**
 * Opens the mirror in a separate session with a read-only transaction. No query can leave the transaction and
 * continue.
 * @param signal ends the session at any moment, and the statement in it
 * @param limits that a statement cannot change
 * @throws MirrorError `USAGE` if there is no mirror yet, `DATABASE` if a newer program has migrated it or it
 *   cannot be read
 */
export async function openPostgresReadOnly(
  url: string,
  signal?: AbortSignal,
  limits: ReadLimits = {},
): Promise<ReadOnlyMirror> {
  const address = addressOf(url);
  const client = clientOf(address);
  const broken = new AbortController();
  client.on('error', (error) => broken.abort(error));
  const session: ReadSession = {
    client,
    name: address.name,
    signal,
    broken,
    applied: [],
  };
  let onServer: ServerSession | undefined;
  let ended: Promise<void> | undefined;
  const disconnect = (): void => {
    // In the middle of a query, this cuts the connection.
    void client.end().catch(() => undefined);
    if (onServer !== undefined) ended = endSession(address, onServer);
  };
  signal?.addEventListener('abort', disconnect);
  const close = async (): Promise<void> => {
    signal?.removeEventListener('abort', disconnect);
    await (signal?.aborted === true ? ended : client.end());
  };
  try {
    onServer = await beginReading(session, address, limits);
  } catch (error) {
    await close();
    throw signal?.aborted === true ? signal.reason : asPostgresError(error, address.name);
  }
  return {
    dialect: postgresql,
    query: (sql, values = []) => runQuery(session, sql, values),
    async holdStill() {
      await unlessAborted(client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'), signal);
    },
    close,
  };
}

/**
 * Connects, checks that the database holds a mirror of this program or an older one, and begins the
 * transaction.
 * @throws MirrorError `USAGE` if there is no mirror yet, `DATABASE` if a newer program has migrated it or the
 *   role may not use its schema
 */
async function beginReading(
  session: ReadSession,
  address: PostgresAddress,
  { ms, charactersOfRow }: ReadLimits,
): Promise<ServerSession> {
  const { client, name, signal } = session;
  await unlessAborted(client.connect(), signal);
  // The server sends nothing between the login and the first statement: the next byte begins a message.
  if (charactersOfRow !== undefined) refuseLongMessages(connectionOf(client).stream, charactersOfRow);
  await unlessAborted(refuseTransactionPooling(client, address), signal);
  await unlessAborted(client.query(sessionOf(address, [...SESSION, ...timeoutAfter(ms)])), signal);
  // Otherwise the server notices a cut connection only when it sends rows. Some servers refuse the setting.
  await unlessAborted(
    client.query(`SET client_connection_check_interval = '1s'`).catch(ignoreRefusal),
    signal,
  );
  const texts = async (text: string): Promise<string[]> => {
    const { rows } = await unlessAborted(client.query<[string]>({ text, rowMode: 'array' }), signal);
    return rows.map(([first]) => first);
  };
  const tables = await texts(postgresql.tableNames);
  if (!tables.includes('conversations')) {
    await refuseHiddenSchema(
      async (sql, values) => (await unlessAborted(client.query(sql, values), signal)).rows,
      address,
    );
    throw noMirrorYet(name);
  }
  session.applied = tables.includes('_prisma_migrations') ? await texts(APPLIED) : [];
  refuseNewer(name, session.applied, shippedMigrations(postgresql));
  const onServer = await unlessAborted(serverSession(client), signal);
  await unlessAborted(client.query('BEGIN READ ONLY'), signal);
  return onServer;
}

/** The server waits a second longer than the caller, whose error is the clearer one. */
function timeoutAfter(limitMs: number | undefined): string[] {
  return limitMs === undefined ? [] : [`statement_timeout = ${Math.ceil(limitMs) + SECOND}`];
}

async function runQuery(session: ReadSession, sql: string, values: readonly Cell[]): Promise<QueryResult> {
  const { client, signal, broken } = session;
  refuseNoStatement(sql);
  // One prepared statement cannot contain a second one that would end the transaction first.
  const cursor = client.query(
    new Cursor<Cell[]>(sql, [...values], {
      rowMode: 'array',
      types: { getTypeParser: parserOf },
    }),
  );
  // The server names its reason between two reads, then cuts the connection.
  cursor.on('error', (error: DatabaseError) => {
    if (error.severity === 'FATAL') broken.abort(error);
  });
  const next = async (rows: number): Promise<Batch> => {
    try {
      return await unlessAborted(unlessAborted(readBatch(cursor, rows), broken.signal), signal);
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : await asFault(session, sql, error);
    }
  };
  // A statement without rows is never executed: COPY … TO PROGRAM has effects even in a read-only
  // transaction.
  if (!(await unlessAborted(returnsRows(client, cursor), signal))) throw noRows();
  const first = await next(ROWS_AT_FIRST);
  return {
    columns: first.fields.map((field) => ({ name: field.name, isJson: isJson(field.dataTypeID) })),
    rows: rowsOf(first.rows, async (rows) => (await next(rows)).rows),
  };
}

/** @throws MirrorError `DATABASE` if the address names a file that is missing, such as a certificate */
function clientOf(address: PostgresAddress): Client {
  try {
    return new MirrorClient(connectionTo(address));
  } catch (error) {
    throw asPostgresError(error, address.name);
  }
}

/** The driver's connection, which its types leave out. With TLS its stream is the decrypted one. */
function connectionOf(client: Client): EventEmitter & { readonly stream: Readable } {
  return (client as Client & { readonly connection: EventEmitter & { readonly stream: Readable } })
    .connection;
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof DatabaseError)) throw error;
}

/**
 * Waits for the server's description of the statement, which arrives before its execution. True for a wrong
 * statement: its error arrives when it is read.
 */
async function returnsRows(client: Client, cursor: Cursor<Cell[]>): Promise<boolean> {
  const connection = connectionOf(client);
  return await new Promise((resolve) => {
    const yes = (): void => settle(true);
    const no = (): void => settle(false);
    // The connection outlives the query, so the listeners must go.
    const settle = (answer: boolean): void => {
      connection.off('rowDescription', yes).off('noData', no);
      cursor.off('error', yes);
      resolve(answer);
    };
    connection.once('rowDescription', yes).once('noData', no);
    cursor.once('error', yes);
  });
}

/** Missing rights, tables and schemas: here the person's SQL is at fault, not the mirror. */
const OF_THE_SQL: ReadonlySet<string> = new Set(['42501', '42P01', '3F000']);

/** @returns the error to throw. The failed statement has ended the transaction. */
async function asFault(
  { client, name, applied }: ReadSession,
  sql: string,
  error: unknown,
): Promise<unknown> {
  const failure = asPostgresError(error, name);
  if (!(error instanceof DatabaseError)) return failure;
  const { code = '', message, position, hint } = error;
  if (code === '25006') return readOnlyHere(error);
  // A statement with `$1`. A pooler has other errors with this code.
  const lacksParameters = code === '08P01' && error.routine === 'exec_bind_message';
  if (failure instanceof MirrorError && !lacksParameters && !OF_THE_SQL.has(code)) return failure;
  if (code === '42601' && message.includes('multiple commands')) return severalStatements(error);
  const missing = missingIn(error);
  const older = missing === null ? null : olderMirror({ dialect: postgresql, name, applied }, missing, sql);
  if (older !== null) return older;
  return wrongSql(sql, {
    message,
    at: position === undefined ? null : unitsBefore(sql, Number(position) - 1),
    hint: hint ?? (missing === null ? null : await nearNames(client, sql, missing)),
    cause: error,
  });
}

/** Converts the server's count of characters to UTF-16 units. */
function unitsBefore(text: string, characters: number): number {
  return Array.from(text).slice(0, characters).join('').length;
}

/** The table or the column that the statement names and the database lacks; null for another error. */
function missingIn({ code, message }: DatabaseError): Missing | null {
  const name = /"(.*)"|column (\S+) does not/.exec(message);
  if (name === null || (code !== '42P01' && code !== '42703')) return null;
  return { kind: code === '42P01' ? 'table' : 'column', name: name[1] ?? name[2] ?? '' };
}

/** A hint for an error to which the server adds none: it suggests similar columns itself, but no tables. */
async function nearNames(client: Client, sql: string, { kind, name }: Missing): Promise<string> {
  // After an error, the transaction accepts only this statement.
  await client.query('ROLLBACK');
  const { rows } = await client.query<[string, string, string]>({
    text: postgresql.allColumns,
    rowMode: 'array',
  });
  return hintOf(kind, name, sql, rows satisfies NamedColumn[]);
}
