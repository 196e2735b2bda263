import { Client, type QueryArrayResult, types } from 'pg';
import Cursor from 'pg-cursor';
import { MirrorError } from '../core/errors.ts';
import { postgresql } from './dialect-postgresql.ts';
import { addressOf, connectionTo, sessionOf } from './postgres-address.ts';
import { asPostgresError } from './postgres-errors.ts';
import { type Cell, type QueryResult, READ_ONLY, type ReadOnlyMirror, noMirrorYet, noRows } from './query-result.ts';

/** Rows that are asked of the server at a time. */
const ROWS_AT_ONCE = 500;
/** Whoever reads slowly, page by page, must not lose the connection. */
const SESSION = [
  'default_transaction_read_only = on',
  'idle_in_transaction_session_timeout = 0',
  // All rows are read; of a cursor the planner thinks that a tenth will do.
  'cursor_tuple_fraction = 1.0',
  // Of the daily views the planner guesses costs for which it would compile them first.
  'jit = off',
];
const { BOOL, BYTEA, FLOAT4, FLOAT8, INT2, INT4, INT8, JSON: JSON_TEXT, JSONB, NUMERIC, OID, TIMESTAMPTZ } = types.builtins;
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
 * @throws MirrorError `USAGE` where there is no mirror yet, `DATABASE`
 */
export async function openPostgresReadOnly(url: string): Promise<ReadOnlyMirror> {
  const address = addressOf(url);
  const client = new Client(connectionTo(address));
  // What breaks the connection fails the query that needs it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(sessionOf(address, SESSION));
    const { rowCount } = await client.query(`SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'conversations'`, [
      address.schema,
    ]);
    if (rowCount === 0) throw noMirrorYet(address.name);
    await client.query('BEGIN READ ONLY');
  } catch (error) {
    await client.end();
    throw asPostgresError(error, address.name);
  }
  return {
    dialect: postgresql,
    async query(sql) {
      // As one prepared statement, which holds no second one that could end the transaction first.
      const cursor = client.query(
        new Cursor<Cell[]>(sql, [], { rowMode: 'array', types: { getTypeParser: (type) => PARSERS.get(type) ?? String } }),
      );
      const first = await inWords(address.name, () => read(cursor));
      if (first.fields.length === 0) throw noRows();
      return {
        columns: first.fields.map((field) => ({ name: field.name, isJson: JSON_TYPES.has(field.dataTypeID) })),
        rows: rowsOf(first.rows, () => inWords(address.name, () => read(cursor))),
      };
    },
    close: () => client.end(),
  };
}

async function read(cursor: Cursor<Cell[]>): Promise<{ rows: Cell[][]; fields: QueryArrayResult['fields'] }> {
  return await new Promise((resolve, reject) => {
    cursor.read(ROWS_AT_ONCE, (error, rows, result) => {
      if (error instanceof Error) reject(error);
      else resolve({ rows, fields: result.fields });
    });
  });
}

async function* rowsOf(first: Cell[][], next: () => Promise<{ rows: Cell[][] }>): QueryResult['rows'] & AsyncGenerator<Cell[]> {
  for (let rows = first; rows.length > 0; rows = rows.length < ROWS_AT_ONCE ? [] : (await next()).rows) yield* rows;
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

async function inWords<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const failure = asPostgresError(error, name);
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!(error instanceof Error) || (failure instanceof MirrorError && !/^(25006|42501)$/.test(code))) throw failure;
    const message = code === '25006' ? READ_ONLY : `The SQL cannot be run: ${error.message}.`;
    throw new MirrorError('USAGE', message, { cause: error });
  }
}
