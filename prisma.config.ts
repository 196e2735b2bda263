import { join, resolve } from 'node:path';
import { defineConfig } from 'prisma/config';

/**
 * Lets the Prisma CLI read a mirror: `npx prisma validate`, `generate` and `studio`, in a clone or with
 * `--config node_modules/inbox-mirror/prisma.config.ts` (docs/prisma.md). DATABASE_URL, which `.env` may hold,
 * names the mirror; INBOX_MIRROR_CLIENT names the folder for the generated client.
 */
try {
  process.loadEnvFile();
} catch {
  // Without a `.env`, only the environment counts.
}
const url = process.env['DATABASE_URL'] || 'file:./mirror.db';
const provider = /^postgres(ql)?:/.test(url) ? 'postgresql' : 'sqlite';
process.env['INBOX_MIRROR_CLIENT'] = resolve(process.env['INBOX_MIRROR_CLIENT'] ?? 'generated/inbox-mirror');

// These commands do not use the schema engine; any program in its place saves its download.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

export default defineConfig({
  schema: join(import.meta.dirname, 'prisma', provider, 'schema.prisma'),
  // Studio expects `file://`.
  datasource: { url: provider === 'sqlite' ? `file://${resolve(url.replace(/^file:/, ''))}` : url },
});
