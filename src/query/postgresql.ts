import type { EventEmitter } from 'node:events';
import { Client, DatabaseError, type QueryArrayResult, types } from 'pg';
import Cursor from 'pg-cursor';
import { unlessAborted } from '../core/abortable.ts';
import { MirrorError } from '../core/errors.ts';
import { APPLIED, refuseNewer, shippedMigrations } from '../database/migrations.ts';
import { addressOf, connectionTo, type PostgresAddress, sessionOf } from '../database/postgresql/address.ts';
import { postgresql } from '../database/postgresql/dialect.ts';
import { asPostgresError } from '../database/postgresql/errors.ts';
import {
  hintOf,
  type NamedColumn,
  noMirrorYet,
  noRows,
  readOnlyHere,
  refuseEmpty,
  severalStatements,
  wrongSql,
} from './faults.ts';
import { AT_ONCE, type Cell, charactersOf, type ReadOnlyMirror } from './result.ts';

/** As long as it is not known how large the rows are. */
const ROWS_AT_FIRST = 50;

/** Each time costs the way to the server and back. */
const MOST_ROWS = 1000;

/** Whoever reads slowly, page by page, must not lose the connection. */
const SESSION = [
  'default_transaction_read_only = on',
  'idle_in_transaction_session_timeout = 0',
  // All rows are read; of a cursor the planner thinks that a tenth will do.
  'cursor_tuple_fraction = 1.0',
  // Of the daily views the planner guesses costs for which it would compile them first.
  'jit = off',
  'bytea_output = hex',
];
const {
  BOOL,
  BYTEA,
  FLOAT4,
  FLOAT8,
  INT2,
  INT4,
  INT8,
  JSON: JSON_TEXT,
  JSONB,
  NUMERIC,
  OID,
  TIMESTAMPTZ,
} = types.builtins;
const JSON_TYPES: ReadonlySet<number> = new Set([JSON_TEXT, JSONB]);

/** Cells as the same query gives them on SQLite; what has no such form is the server's text. */
const PARSERS: ReadonlyMap<number, (text: string) => Cell> = new Map<number, (text: string) => Cell>([
  [BOOL, (text) => text === 't'],
  [BYTEA, (text) => Buffer.from(text.slice(2), 'hex')],
  [TIMESTAMPTZ, asInstant],
  ...[INT2, INT4, INT8, OID].map((type) => [type, asInteger] as const),
  ...[FLOAT4, FLOAT8, NUMERIC].map((type) => [type, asNumber] as const),
]);

/**
 * Opens the mirror for reading only: a session of its own in a read-only transaction, which no statement can leave and go on.
 * @param signal ends the session at any moment; the server stops what it is doing for it
 * @throws MirrorError `USAGE` where there is no mirror yet, `DATABASE` also where a newer program has made it
 */
export async function openPostgresReadOnly(url: string, signal?: AbortSignal): Promise<ReadOnlyMirror> {
  const address = addressOf(url);
  const client = clientOf(address);
  // What breaks the connection fails the query that needs it.
  client.on('error', () => undefined);
  // In the middle of a query this cuts the connection.
  const hangUp = (): void => void client.end().catch(() => undefined);
  signal?.addEventListener('abort', hangUp);
  const close = async (): Promise<void> => {
    signal?.removeEventListener('abort', hangUp);
    if (signal?.aborted !== true) await client.end();
  };
  try {
    await unlessAborted(client.connect(), signal);
    await unlessAborted(client.query(sessionOf(address, SESSION)), signal);
    // Else a server looks for whoever asks only when it has rows for them. One that cannot look says so.
    await unlessAborted(
      client.query(`SET client_connection_check_interval = '1s'`).catch(ignoreRefusal),
      signal,
    );
    const texts = async (text: string): Promise<string[]> =>
      (await unlessAborted(client.query<[string]>({ text, rowMode: 'array' }), signal)).rows.map(
        ([first]) => first,
      );
    const tables = await texts(postgresql.tableNames);
    if (!tables.includes('conversations')) throw noMirrorYet(address.name);
    const applied = tables.includes('_prisma_migrations') ? await texts(APPLIED) : [];
    refuseNewer(address.name, applied, shippedMigrations(postgresql));
    await unlessAborted(client.query('BEGIN READ ONLY'), signal);
  } catch (error) {
    await close();
    throw signal?.aborted === true ? signal.reason : asPostgresError(error, address.name);
  }
  return {
    dialect: postgresql,
    async query(sql) {
      refuseEmpty(sql);
      // As one prepared statement, which holds no second one that could end the transaction first.
      const cursor = client.query(
        new Cursor<Cell[]>(sql, [], {
          rowMode: 'array',
          types: { getTypeParser: (type) => PARSERS.get(type) ?? String },
        }),
      );
      const next = async (rows: number): Promise<Batch> => {
        try {
          return await unlessAborted(read(cursor, rows), signal);
        } catch (error) {
          throw signal?.aborted === true
            ? signal.reason
            : await asFault(client, { name: address.name, sql, error });
        }
      };
      // Never begun: what gives no rows only does something, and COPY … TO PROGRAM may do it in a read-only transaction, too.
      if (!(await unlessAborted(givesRows(client, cursor), signal))) throw noRows();
      const first = await next(ROWS_AT_FIRST);
      return {
        columns: first.fields.map((field) => ({
          name: field.name,
          isJson: JSON_TYPES.has(field.dataTypeID),
        })),
        rows: rowsOf(first.rows, async (rows) => (await next(rows)).rows),
      };
    },
    close,
  };
}

/** @throws MirrorError `DATABASE` where the address names files, such as of a certificate, that are not there */
function clientOf(address: PostgresAddress): Client {
  try {
    return new Client(connectionTo(address));
  } catch (error) {
    throw asPostgresError(error, address.name);
  }
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof DatabaseError)) throw error;
}

/** Waits for what the server says of the statement before it is executed; one that is wrong fails when it is read. */
async function givesRows(client: Client, cursor: Cursor<Cell[]>): Promise<boolean> {
  const { connection } = client as Client & { readonly connection: EventEmitter };
  return await new Promise((resolve) => {
    const yes = (): void => settle(true);
    const no = (): void => settle(false);
    // The connection outlives the query.
    const settle = (answer: boolean): void => {
      connection.off('rowDescription', yes).off('noData', no);
      cursor.off('error', yes);
      resolve(answer);
    };
    connection.once('rowDescription', yes).once('noData', no);
    cursor.once('error', yes);
  });
}

interface Batch {
  readonly rows: Cell[][];
  readonly fields: QueryArrayResult['fields'];
}

async function read(cursor: Cursor<Cell[]>, rows: number): Promise<Batch> {
  return await new Promise((resolve, reject) => {
    cursor.read(rows, (error, found, result) => {
      if (error instanceof Error) reject(error);
      else resolve({ rows: found, fields: result.fields });
    });
  });
}

async function* rowsOf(first: Cell[][], next: (rows: number) => Promise<Cell[][]>): AsyncGenerator<Cell[]> {
  let asked = ROWS_AT_FIRST;
  for (let rows = first; ; rows = await next(asked)) {
    for (const row of rows) yield row;
    if (rows.length < asked) return;
    const characters = rows.reduce((sum, row) => sum + charactersOf(row), 0);
    asked = Math.max(
      1,
      Math.min(MOST_ROWS, Math.floor((AT_ONCE.characters * rows.length) / Math.max(1, characters))),
    );
  }
}

function asInteger(text: string): Cell {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** A whole number keeps its digits; a fraction is as exact as on SQLite. */
function asNumber(text: string): Cell {
  if (/^-?\d+$/.test(text)) return asInteger(text);
  return Number.isFinite(Number(text)) ? Number(text) : text;
}

function asInstant(text: string): Cell {
  const instant = new Date(text);
  return Number.isNaN(instant.getTime()) ? text : instant.toISOString();
}

/** @returns what to throw; the transaction is at its end then */
async function asFault(
  client: Client,
  { name, sql, error }: { name: string; sql: string; error: unknown },
): Promise<unknown> {
  const failure = asPostgresError(error, name);
  if (!(error instanceof DatabaseError)) return failure;
  const { code = '', message, position, hint } = error;
  if (code === '25006') return readOnlyHere(error);
  if (failure instanceof MirrorError && code !== '42501') return failure;
  if (code === '42601' && message.includes('multiple commands')) return severalStatements(error);
  return wrongSql(sql, {
    said: message,
    at: position === undefined ? null : unitsBefore(sql, Number(position) - 1),
    hint: hint ?? (await ownHint(client, sql, error)),
    cause: error,
  });
}

/** What the server counts in characters, in UTF-16 units. */
function unitsBefore(text: string, characters: number): number {
  return Array.from(text).slice(0, characters).join('').length;
}

/** The server knows near columns, but no near tables. */
async function ownHint(
  client: Client,
  sql: string,
  { code, message }: DatabaseError,
): Promise<string | null> {
  const name = /"(.*)"|column (\S+) does not/.exec(message);
  if (name === null || (code !== '42P01' && code !== '42703')) return null;
  // The failed statement has ended its transaction for all but this.
  await client.query('ROLLBACK');
  const { rows } = await client.query<[string, string, string]>({
    text: postgresql.allColumns,
    rowMode: 'array',
  });
  return hintOf(
    code === '42P01' ? 'table' : 'column',
    name[1] ?? name[2] ?? '',
    sql,
    rows satisfies NamedColumn[],
  );
}
