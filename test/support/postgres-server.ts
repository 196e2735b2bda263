import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { startServer } from '../../prisma/embedded.ts';
import { shapeOf } from './postgres-pool.ts';
import { TEMPLATE, onServer } from './provider.ts';

/** Starts one PostgreSQL server for all tests of a run, with an empty mirror as a template. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = await startServer([
    'max_connections=200',
    'autovacuum=off',
    'jit=off',
    'synchronous_commit=off',
    'full_page_writes=off',
  ]);
  await onServer(`CREATE DATABASE ${TEMPLATE}`, server.url('postgres'));
  // In a separate process, because vitest's module runner cannot load the schema engine.
  execFileSync(process.execPath, [
    join(import.meta.dirname, 'child-sync.ts'),
    'open-only',
    server.url(TEMPLATE),
  ]);
  const client = new Client(server.url(TEMPLATE));
  await client.connect();
  provide('templateShape', await shapeOf(client));
  await client.end();
  provide('postgres', server.url('DATABASE'));
  return async () => {
    await server.stop();
    server.remove();
  };
}
