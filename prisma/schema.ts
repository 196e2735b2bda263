import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TABLE_SENTENCES, VIEW_SENTENCES } from '../src/database/catalogue.ts';

export const PROVIDERS = ['sqlite', 'postgresql'] as const;
export type Provider = (typeof PROVIDERS)[number];

/** The schema of this program's own client, which Prisma generates into the folder `output`. */
export function ownSchema(provider: Provider, output: string): string {
  const generator = ['importFileExtension = "ts"', `output = ${JSON.stringify(output)}`];
  return schemaOf(provider, { generator });
}

/** The schema in the package, for the Prisma CLI of its users (prisma.config.ts). */
export function shippedSchema(provider: Provider): string {
  return (
    '// Made from prisma/models.prisma and prisma/views.prisma. Use it to read: only inbox-mirror may migrate.\n\n' +
    schemaOf(provider, { generator: ['output = env("INBOX_MIRROR_CLIENT")'] })
  );
}

/**
 * The schema that the migrations lead to. The databases have no foreign keys. PostgreSQL stores days as
 * dates; in the clients they are texts on both databases, because Prisma has no type for a day without a
 * time.
 */
export function migrationSchema(provider: Provider): string {
  const schema = schemaOf(provider, { datasource: ['relationMode = "prisma"'] });
  return provider === 'sqlite' ? schema : schema.replaceAll(/^( +day +)String/gm, '$1DateTime @db.Date');
}

/** The shared models and views, each with its sentence, and the given further lines of the two blocks. */
function schemaOf(
  provider: Provider,
  { generator = ['output = "./client"'], datasource = [] }: { generator?: string[]; datasource?: string[] },
): string {
  const models = ['models.prisma', 'views.prisma'].map((name) =>
    readFileSync(join(import.meta.dirname, name), 'utf8')
      .replaceAll(
        /^(model|view) (\w+)/gm,
        (line, _kind, called: string) => `/// ${sentenceOf(called)}\n${line}`,
      )
      // Prisma's default on PostgreSQL is a timestamp without time zone. SQLite has no such types.
      .replaceAll(/^ +\w+ +DateTime\??/gm, (line) =>
        provider === 'postgresql' ? `${line} @db.Timestamptz(3)` : line,
      ),
  );
  return [
    block('generator client', ['provider = "prisma-client"', 'previewFeatures = ["views"]', ...generator]),
    block('datasource db', [`provider = "${provider}"`, ...datasource]),
    ...models,
  ].join('\n');
}

function block(head: string, lines: readonly string[]): string {
  return `${head} {\n${lines.map((line) => `  ${line}\n`).join('')}}\n`;
}

function sentenceOf(name: string): string {
  const sentence = TABLE_SENTENCES[name] ?? VIEW_SENTENCES[name];
  if (sentence === undefined) throw new Error(`src/database/catalogue.ts has no sentence for ${name}`);
  return sentence;
}
