import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  bindSqlAdapterFactory,
  DriverAdapterError,
  type Error as AdapterError,
  type ErrorCapturingSqlDriverAdapter,
  type Result as AdapterResult,
  type SqlDriverAdapterFactory,
  type SqlQuery,
} from '@prisma/driver-adapter-utils';
import { type MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import { statementsOn } from '../adapter.ts';
import type { Sql } from '../database.ts';
import type { Dialect } from '../dialect.ts';

const NO_FILTERS = { externalTables: [], externalEnums: [] };

interface Transaction {
  readonly dialect: Dialect;
  /** Called once no other process can migrate. Without a missing migration it returns false. */
  readonly prepare: (tx: Sql) => Promise<boolean>;
  /** Called in the transaction after the migrations. */
  readonly finish: (tx: Sql) => Promise<void>;
}

/** Applies the missing ones of the named migrations, all in one transaction. */
export async function applyMigrations(
  { folder, names }: { readonly folder: string; readonly names: string[] },
  factory: SqlDriverAdapterFactory,
  { dialect, prepare, finish }: Transaction,
): Promise<void> {
  const adapters = bindSqlAdapterFactory(factory);
  const connection = await adapters.connect();
  if (!connection.ok) throw asThrown(connection.error, adapters);
  const adapter = connection.value;
  const tx = statementsOn(throwing(adapter, adapters), dialect);
  // The engine repeats an error of the database without its code.
  let failure: AdapterError | null = null;
  const watched =
    <Query, Value>(call: (query: Query) => Promise<AdapterResult<Value>>) =>
    async (query: Query) => {
      const result = await call(query);
      failure = result.ok ? null : result.error;
      return result;
    };
  Object.assign(adapter, {
    executeRaw: watched(adapter.executeRaw),
    queryRaw: watched(adapter.queryRaw),
    executeScript: watched(adapter.executeScript),
  });
  // Two processes may start at once, and one may be killed half-way. The lock admits one at a time; the
  // transaction applies all migrations or none.
  try {
    for (const statement of dialect.beginMigration) await tx.execute(statement);
    if (await prepare(tx)) {
      const engine = await loadEngine({ ...adapters, connect: () => Promise.resolve(connection) });
      await engine.applyMigrations({ migrationsList: readMigrations(folder, names), filters: NO_FILTERS });
      await finish(tx);
    }
    await tx.execute('COMMIT');
  } catch (error) {
    await tx.execute('ROLLBACK').catch(() => undefined);
    throw failure === null ? error : asThrown(failure, adapters);
  } finally {
    await adapter.dispose();
  }
}

type Statements = Pick<ErrorCapturingSqlDriverAdapter, 'executeRaw' | 'queryRaw'>;

/** The adapter's statements, as they are now, with errors that are thrown. */
function throwing({ executeRaw, queryRaw }: Statements, adapters: Registry) {
  const valueOf = async <Value>(result: Promise<AdapterResult<Value>>): Promise<Value> => {
    const settled = await result;
    if (!settled.ok) throw asThrown(settled.error, adapters);
    return settled.value;
  };
  return {
    executeRaw: (query: SqlQuery) => valueOf(executeRaw(query)),
    queryRaw: (query: SqlQuery) => valueOf(queryRaw(query)),
  };
}

type Registry = Pick<ReturnType<typeof bindSqlAdapterFactory>, 'errorRegistry'>;

/** The error that the driver has thrown: the adapter passes on only its number. */
function thrownAs(number: number, { errorRegistry }: Registry): unknown {
  return errorRegistry.consumeError(number)?.error;
}

/** The error to throw for an error that the adapter returns. */
function asThrown(error: AdapterError, adapters: Registry): unknown {
  const thrown = error.kind === 'GenericJs' ? thrownAs(error.id, adapters) : undefined;
  return thrown ?? new DriverAdapterError(error);
}

/** Prisma's schema engine, in this process. Also used by `prisma/migrate.ts` to write new migrations. */
export async function loadEngine(adapters: object): Promise<SchemaEngine> {
  const { SchemaEngine } = await (engineModule ??= instantiate());
  return await SchemaEngine.new({ datamodels: undefined }, () => undefined, adapters);
}

/**
 * The one instance of this process. The engine's JavaScript half knows only the last instance and would free
 * the objects of an earlier one in it.
 */
let engineModule: ReturnType<typeof instantiate> | undefined;

async function instantiate(): Promise<typeof import('@prisma/schema-engine-wasm/schema_engine_bg')> {
  const engine = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  const file = fileURLToPath(
    new URL('schema_engine_bg.wasm', import.meta.resolve('@prisma/schema-engine-wasm')),
  );
  const imports = { './schema_engine_bg.js': withUnrefTimers(engine) };
  const { instance } = await WebAssembly.instantiate(readFileSync(file), imports);
  engine.__wbg_set_wasm(instance.exports);
  (instance.exports['__wbindgen_start'] as () => void)();
  return engine;
}

/**
 * Calls `unref()` on the engine's timers: it never clears its lock time-out, which would keep the process
 * alive.
 */
function withUnrefTimers(imports: object): WebAssembly.ModuleImports {
  const entries = Object.entries(imports).map(([name, value]) => {
    if (!name.startsWith('__wbg_setTimeout')) return [name, value];
    return [name, (callback: () => void, ms: number) => setTimeout(callback, ms).unref()];
  });
  return Object.fromEntries(entries) as WebAssembly.ModuleImports;
}

/** The migrations in the form that the engine expects. */
export function readMigrations(folder: string, names: string[]): MigrationList {
  return {
    baseDir: folder,
    lockfile: {
      path: 'migration_lock.toml',
      content: readFileSync(join(folder, 'migration_lock.toml'), 'utf8'),
    },
    shadowDbInitScript: '',
    migrationDirectories: names.map((name) => ({
      path: name,
      migrationFile: {
        path: 'migration.sql',
        content: { tag: 'ok', value: readFileSync(join(folder, name, 'migration.sql'), 'utf8') },
      },
    })),
  };
}
