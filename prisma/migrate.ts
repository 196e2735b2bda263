/**
 * Writes the migration that brings the tables from the newest migration to models.prisma:
 *   node prisma/migrate.ts NAME      writes prisma/sqlite/migrations/<time>_NAME/migration.sql
 *   node prisma/migrate.ts --check   exits 1 where models and migrations disagree
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import { loadEngine, readMigrations } from '../src/store/migrate.ts';
import { schemaOf } from './schema.ts';

const provider = 'sqlite';
const [name] = process.argv.slice(2);
if (name === undefined) throw new Error('usage: node prisma/migrate.ts NAME | --check');

const folder = join(import.meta.dirname, provider, 'migrations');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'migration_lock.toml'), `provider = "${provider}"\n`);
const names = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();

const factory = new PrismaBetterSqlite3({ url: ':memory:' });
const connectToShadowDb = factory.connectToShadowDb.bind(factory);
// The engine replays a whole migration as one raw statement, which better-sqlite3 refuses; as a script it takes it.
factory.connectToShadowDb = async () => {
  const shadow = await connectToShadowDb();
  const executeRaw = shadow.executeRaw.bind(shadow);
  shadow.executeRaw = async (query) => {
    if (query.args.length > 0) return await executeRaw(query);
    await shadow.executeScript(query.sql);
    return 0;
  };
  return shadow;
};

const engine = await loadEngine(bindMigrationAwareSqlAdapterFactory(factory));
const { stdout, exitCode } = await engine.diff({
  from: { tag: 'migrations', ...readMigrations(folder, names) },
  to: { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content: schemaOf(provider) }] },
  script: true,
  exitCode: true,
  filters: { externalTables: [], externalEnums: [] },
});

if (exitCode === 0) console.log(`${provider}: models and migrations agree`);
else if (name === '--check') {
  console.error(
    `${provider}: models.prisma and the migrations disagree; run \`node prisma/migrate.ts NAME\`. Missing:\n${stdout ?? ''}`,
  );
  process.exitCode = 1;
} else {
  const stamp = new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14);
  const target = join(folder, `${stamp}_${name}`);
  mkdirSync(target);
  writeFileSync(join(target, 'migration.sql'), stdout ?? '');
  console.log(`wrote ${target}/migration.sql`);
}
