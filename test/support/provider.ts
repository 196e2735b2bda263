import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { inject, onTestFinished } from 'vitest';
import { isPostgres } from '../../src/database/open.ts';

/** Which database this run of the contract suite is on; each is a project of `vitest.config.ts`. */
export const PROVIDER = (process.env['TEST_PROVIDER'] ?? 'sqlite') as 'sqlite' | 'postgresql';
export const ON_SQLITE = PROVIDER === 'sqlite';

/** The database that has the tables and nothing in them. */
export const TEMPLATE = 'mirror_template';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address of the server that `postgres-server.ts` has started, with `DATABASE` for the database. */
    postgres: string;
  }
}

/** The DATABASE_URL of a test's mirror: tests name it by its path on SQLite, by its address on PostgreSQL. */
export function urlOf(place: string): string {
  return isPostgres(place) ? place : `file:${place}`;
}

export function postgresUrl(database: string): string {
  return inject('postgres').replace('DATABASE', database);
}

/** The address of a new, empty database that is gone after the test. */
export async function newPostgresDatabase(): Promise<string> {
  const name = await createDatabase('template1');
  onTestFinished(() => onServer(`DROP DATABASE ${name} WITH (FORCE)`));
  return postgresUrl(name);
}

/** Makes a copy of a database and says its name. */
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
