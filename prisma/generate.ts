/**
 * Writes prisma/<provider>/schema.prisma, which users give to the Prisma CLI, and generates one Prisma client
 * for each provider into src/database/generated. `npm ci` runs this. `prisma generate` downloads a schema
 * engine that it does not use. PRISMA_SCHEMA_ENGINE_BINARY, which names any existing program, prevents that
 * download. An installation then needs nothing but the package registry. CHECKPOINT_DISABLE keeps the CLI from
 * asking Prisma's server for a newer version, which tells that server about this machine.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROVIDERS, type Provider, ownSchema, shippedSchema } from './schema.ts';

const root = join(import.meta.dirname, '..');
const { bin } = createRequire(import.meta.url)('prisma/package.json') as { bin: { prisma: string } };
const prismaCli = join(root, 'node_modules/prisma', bin.prisma);

function generate(provider: Provider): void {
  writeFileSync(join(root, 'prisma', provider, 'schema.prisma'), shippedSchema(provider));
  const work = mkdtempSync(join(tmpdir(), 'inbox-mirror-generate-'));
  try {
    const schemaFile = join(work, 'schema.prisma');
    const made = join(work, 'client');
    writeFileSync(schemaFile, ownSchema(provider, made));
    execFileSync(process.execPath, [prismaCli, 'generate', '--schema', schemaFile], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        CHECKPOINT_DISABLE: '1',
      },
    });
    const target = join(root, 'src/database/generated', provider);
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    cpSync(made, target, { recursive: true });
    // Prisma writes the path of the temporary schema into the client. Remove it: it belongs to this machine.
    const classFile = join(target, 'internal/class.ts');
    writeFileSync(classFile, readFileSync(classFile, 'utf8').replaceAll(work, ''));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

for (const provider of PROVIDERS) generate(provider);
