import { EXIT, MirrorError } from '../../core/errors.ts';
import { plural } from '../../core/humanize.ts';
import { createSandbox } from '../../sandbox/sandbox.ts';
import { type Io, printLine } from '../../session/terminal.ts';

/** The options of `inbox-mirror sandbox`, as given. */
export interface SandboxCommand {
  readonly port: number;
  readonly host: string;
  readonly key: string;
  readonly seed: number;
  readonly inboxes: number;
  readonly conversations: number;
  readonly users: number;
  readonly tags: number;
  readonly rate: number;
  readonly perDay: number;
  readonly latency: number;
  readonly jitter: number;
  readonly activity: number;
  readonly errorRate: number;
  readonly envelope: 'data' | 'top';
  readonly idType: 'string' | 'number' | 'mixed';
  readonly retryAfter: 'none' | 'seconds' | 'date';
}

/** Serves the stand-in service until the program is asked to stop. */
export async function serveSandbox(io: Io, options: SandboxCommand): Promise<number> {
  const sandbox = createSandbox({
    key: options.key,
    seed: options.seed,
    inboxes: options.inboxes,
    conversations: options.conversations,
    usersPerInbox: options.users,
    tagsPerInbox: options.tags,
    rate: options.rate,
    perDay: options.perDay,
    latencyMs: options.latency,
    jitterMs: options.jitter,
    activityPerHour: options.activity,
    errorRate: options.errorRate,
    envelope: options.envelope,
    idType: options.idType,
    retryAfter: options.retryAfter === 'none' ? null : options.retryAfter,
  });
  const server = await sandbox.listen(options.port, options.host).catch((error: unknown) => {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new MirrorError(
      'USAGE',
      `Cannot listen on ${options.host} port ${options.port} (${reason}). Choose another with --port.`,
      { cause: error },
    );
  });
  const inboxes = [...sandbox.world.inboxes.values()];
  const rows = inboxes.reduce((sum, inbox) => sum + inbox.conversations.size, 0);
  printLine(
    io.stdout,
    `The sandbox serves ${plural(inboxes.length, 'inbox')} with ${plural(rows, 'conversation')} at ${server.url}\n`,
  );
  printLine(
    io.stdout,
    `In another terminal:\n  INBOX_API_URL=${server.url} INBOX_API_KEY=${options.key} npx inbox-mirror sync\n`,
  );
  printLine(io.stdout, 'Ctrl-C stops it; its data is gone then.');
  await new Promise<void>((resolve) => {
    if (io.signal.aborted) resolve();
    else io.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.close();
  printLine(io.stdout, `Stopped after ${plural(sandbox.arrivals.length, 'request')}.`);
  return EXIT.done;
}
