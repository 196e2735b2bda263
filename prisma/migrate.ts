/**
 * Writes, for each provider, the migration from its newest migration to models.prisma:
 *   node prisma/migrate.ts NAME      writes prisma/<provider>/migrations/<time>_NAME/migration.sql
 *   node prisma/migrate.ts --check   exits 1 if models and migrations differ
 * The migrations run against an SQLite database in memory and a private PostgreSQL server (embedded.ts).
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  ColumnTypeEnum,
  type SqlMigrationAwareDriverAdapterFactory,
  bindMigrationAwareSqlAdapterFactory,
} from '@prisma/driver-adapter-utils';
import { type FieldDef, type QueryConfig, type QueryResult, types } from 'pg';
import { loadEngine, readMigrations } from '../src/database/migrations/schema-engine.ts';
import { startServer } from './embedded.ts';
import { migrationSchema, type Provider, PROVIDERS } from './schema.ts';

const CHAR: number = types.builtins.CHAR;
const [name] = process.argv.slice(2);
if (name === undefined) throw new Error('usage: node prisma/migrate.ts NAME | --check');
const stamp = new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14);

async function migrate(
  provider: Provider,
  factory: SqlMigrationAwareDriverAdapterFactory,
  wanted: string,
): Promise<void> {
  const folder = join(import.meta.dirname, provider, 'migrations');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'migration_lock.toml'), `provider = "${provider}"\n`);
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  const engine = await loadEngine(bindMigrationAwareSqlAdapterFactory(factory));
  const { stdout, exitCode } = await engine.diff({
    from: { tag: 'migrations', ...readMigrations(folder, names) },
    to: { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content: migrationSchema(provider) }] },
    script: true,
    exitCode: true,
    filters: { externalTables: [], externalEnums: [] },
  });

  if (exitCode === 0) console.log(`${provider}: models and migrations agree`);
  else if (wanted === '--check') {
    console.error(
      `${provider}: models.prisma and the migrations differ; ` +
        `run \`node prisma/migrate.ts NAME\`. Missing:\n${stdout ?? ''}`,
    );
    process.exitCode = 1;
  } else {
    const target = join(folder, `${stamp}_${wanted}`);
    mkdirSync(target);
    writeFileSync(join(target, 'migration.sql'), stdout ?? '');
    console.log(`wrote ${target}/migration.sql`);
  }
}

function inMemory(): SqlMigrationAwareDriverAdapterFactory {
  const factory = new PrismaBetterSqlite3({ url: ':memory:' });
  const connectToShadowDb = factory.connectToShadowDb.bind(factory);
  // The engine runs a whole migration as one raw statement, which better-sqlite3 refuses. Run it as a
  // script.
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
  return factory;
}

/**
 * Reads columns of PostgreSQL's internal type "char" as text: the engine queries them, the adapter does not
 * know them.
 */
function onServer(connectionString: string): SqlMigrationAwareDriverAdapterFactory {
  // The engine leaves its connections open, and the server ends them when it stops.
  const ignore = (): void => undefined;
  const factory = new PrismaPg({ connectionString }, { onPoolError: ignore, onConnectionError: ignore });
  const connectToShadowDb = factory.connectToShadowDb.bind(factory);
  factory.connectToShadowDb = async () => {
    const shadow = await connectToShadowDb();
    const pool = shadow.underlyingDriver();
    pool.on('error', ignore);
    const query = pool.query.bind(pool) as (config: QueryConfig) => Promise<QueryResult>;
    let characters: FieldDef[] = [];
    const asText = async (config: QueryConfig): Promise<QueryResult> => {
      const result = await query(config);
      // A script of several statements returns several results without `fields`; the engine ignores them.
      characters = (result.fields ?? []).filter(({ dataTypeID }) => dataTypeID === CHAR);
      for (const field of characters) field.dataTypeID = types.builtins.TEXT;
      return result;
    };
    Object.assign(pool, { query: asText });
    const queryRaw = shadow.queryRaw.bind(shadow);
    shadow.queryRaw = async (statement) => {
      const result = await queryRaw(statement);
      for (const { name: column } of characters)
        result.columnTypes[result.columnNames.indexOf(column)] = ColumnTypeEnum.Character;
      return result;
    };
    return shadow;
  };
  return factory;
}

const server = await startServer();
try {
  const factories = { sqlite: inMemory, postgresql: () => onServer(server.url('postgres')) };
  for (const provider of PROVIDERS) await migrate(provider, factories[provider](), name);
} finally {
  await server.stop();
  server.remove();
}
