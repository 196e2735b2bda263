import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { inject, onTestFinished } from 'vitest';
import { isPostgres } from '../../src/database/open.ts';

/** The database that this run uses. Each database is a project in `vitest.config.ts`. */
export const PROVIDER = (process.env['TEST_PROVIDER'] ?? 'sqlite') as 'sqlite' | 'postgresql';
export const ON_SQLITE = PROVIDER === 'sqlite';

/** The name of the database that has the tables and no rows. */
export const TEMPLATE = 'mirror_template';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address of the server of `postgres-server.ts`, with `DATABASE` in place of a database name. */
    postgres: string;
  }
}

/** The DATABASE_URL of a test's mirror. `place` is a path on SQLite and an address on PostgreSQL. */
export function urlOf(place: string): string {
  return isPostgres(place) ? place : `file:${place}`;
}

export function postgresUrl(database: string): string {
  return inject('postgres').replace('DATABASE', database);
}

/** The address of a new, empty database that is dropped after the test. */
export async function newPostgresDatabase(): Promise<string> {
  const name = await createDatabase('template1');
  onTestFinished(() => onServer(`DROP DATABASE ${name} WITH (FORCE)`));
  return postgresUrl(name);
}

/** Copies a database and returns the name of the copy. */
export async function createDatabase(template: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY WAL_LOG`);
  return name;
}

/** Runs statements as the server's first user. */
export async function onServer(sql: string, url = postgresUrl('postgres')): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
