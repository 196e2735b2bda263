import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const PROVIDERS = ['sqlite', 'postgresql'] as const;
export type Provider = (typeof PROVIDERS)[number];

/**
 * The Prisma schema of a provider: its datasource and the shared models. `output` is the generated client's
 * folder.
 */
export function schemaOf(provider: Provider, output = './client'): string {
  const read = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');
  const models = read('models.prisma').replace(
    'importFileExtension = "ts"',
    `importFileExtension = "ts"\n  output = ${JSON.stringify(output)}`,
  );
  // Prisma's default on PostgreSQL is a timestamp without time zone. SQLite has no such types.
  const typed =
    provider === 'postgresql'
      ? models.replaceAll(/^( +\w+ +DateTime\??)/gm, '$1 @db.Timestamptz(3)')
      : models;
  return `${read(`${provider}/datasource.prisma`)}\n${typed}`;
}
