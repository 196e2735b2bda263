import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import { PrismaPg } from '@prisma/adapter-pg';
import { onTestFinished } from 'vitest';
import { type Provider, shippedSchema } from '../../prisma/schema.ts';
import type { Sql } from '../../src/database/database.ts';
import { PrismaClient as PostgresClient } from '../../src/database/generated/postgresql/client.ts';
import { PrismaClient as SqliteClient } from '../../src/database/generated/sqlite/client.ts';
import { ON_SQLITE, PROVIDER, urlOf } from './provider.ts';

export interface Field {
  readonly name: string;
  readonly type: string;
  readonly optional: boolean;
}

/** A model or a view of the Prisma schema. `fields` leaves relations out. */
export interface Model {
  readonly name: string;
  readonly kind: 'model' | 'view';
  readonly fields: readonly Field[];
}

const SCALARS = new Set(['BigInt', 'Boolean', 'DateTime', 'Float', 'Int', 'Json', 'String']);

/** Every model and view of the Prisma schema. */
export function modelsOf(provider: Provider = PROVIDER): Model[] {
  const blocks = shippedSchema(provider).matchAll(/^(model|view) (\w+) \{\n(.*?)^\}/gms);
  return [...blocks].map(([, kind, name, body]) => ({
    name: name!,
    kind: kind as Model['kind'],
    fields: [...body!.matchAll(/^ {2}(\w+) +(\w+)(\??)(?= |$)/gm)]
      .map(([, field, type, mark]) => ({ name: field!, type: type!, optional: mark === '?' }))
      .filter(({ type }) => SCALARS.has(type)),
  }));
}

export interface Query {
  where?: Record<string, unknown>;
  orderBy?: Record<string, 'asc' | 'desc'>;
  select?: Record<string, true>;
}

/** The part of a Prisma client's model that these tests use. */
export interface Delegate {
  findMany(query: Query): Promise<Record<string, Date | null>[]>;
}

/**
 * A user's own Prisma client on the mirror's address, with Prisma's own adapter.
 * @param options on PostgreSQL, the adapter's connection option of this name
 */
export function stockClient(place: string, options?: string): Record<string, Delegate> {
  const client = ON_SQLITE
    ? new SqliteClient({ adapter: new PrismaBetterSqlite3({ url: urlOf(place) }) })
    : new PostgresClient({ adapter: new PrismaPg({ connectionString: place, options }) });
  onTestFinished(() => client.$disconnect());
  return client as unknown as Record<string, Delegate>;
}

/** An SQL expression for an instant's epoch ms, which reads any form of it. */
export function epochMs(column: string): string {
  return ON_SQLITE
    ? `CAST(ROUND((julianday(${column}) - 2440587.5) * 86400000) AS INTEGER)`
    : `CAST(ROUND(EXTRACT(EPOCH FROM ${column}) * 1000) AS bigint)`;
}

/** One column's instants, as SQL reads them: epoch ms. */
export async function bySql(
  sql: Sql,
  { table, column }: Column,
  rest = '',
  ...parameters: unknown[]
): Promise<(number | null)[]> {
  const rows = await sql.query<{ at: number | null }>(
    `SELECT ${epochMs(column)} AS at FROM ${table} ${rest}`,
    ...parameters,
  );
  return rows.map(({ at }) => at);
}

export interface Column {
  readonly table: string;
  readonly column: string;
}

/** Rows in no order: their instants in ascending order, null first. */
export function sorted(instants: readonly (number | null)[]): (number | null)[] {
  return instants.toSorted((a, b) => (a ?? -Infinity) - (b ?? -Infinity));
}

/** One column's instants, as Prisma reads them: epoch ms. */
export async function byPrisma(
  delegate: Delegate,
  column: string,
  query: object = {},
): Promise<(number | null)[]> {
  const rows = await delegate.findMany({ ...query, select: { [column]: true } });
  return rows.map((row) => row[column]?.getTime() ?? null);
}
