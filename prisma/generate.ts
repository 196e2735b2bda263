/**
 * Makes the Prisma clients in src/database/generated from the one copy of the models, a client per provider.
 * `npm ci` runs it. `prisma generate` wants to download a schema engine that generating does not use; naming any
 * existing program as that engine spares the download, so nothing beyond the package registry is reached.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROVIDERS, type Provider, schemaOf } from './schema.ts';

const root = join(import.meta.dirname, '..');
const { bin } = createRequire(import.meta.url)('prisma/package.json') as { bin: { prisma: string } };
const prismaCli = join(root, 'node_modules/prisma', bin.prisma);

function generate(provider: Provider): void {
  const work = mkdtempSync(join(tmpdir(), 'inbox-mirror-generate-'));
  try {
    const schemaFile = join(work, 'schema.prisma');
    const made = join(work, 'client');
    writeFileSync(schemaFile, schemaOf(provider, made));
    execFileSync(process.execPath, [prismaCli, 'generate', '--schema', schemaFile], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: '1' },
    });
    const target = join(root, 'src/database/generated', provider);
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    cpSync(made, target, { recursive: true });
    // Prisma writes the temporary schema's place into the client; the copy must not carry a path of this machine.
    const classFile = join(target, 'internal/class.ts');
    writeFileSync(classFile, readFileSync(classFile, 'utf8').replaceAll(work, ''));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

for (const provider of PROVIDERS) generate(provider);
