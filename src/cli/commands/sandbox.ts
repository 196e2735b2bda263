import { type Command, InvalidArgumentError, Option } from 'commander';
import { codeOf, EXIT, MirrorError } from '../../core/errors.ts';
import { plural } from '../../core/humanize.ts';
import { SANDBOX_DEFAULTS } from '../../sandbox/options.ts';
import { type Io, printLine } from '../../session/terminal.ts';
import type { Runner } from '../options.ts';

interface SandboxFlags {
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

export function addSandbox(program: Command, run: Runner): void {
  const defaults = SANDBOX_DEFAULTS;
  program
    .command('sandbox')
    .summary('serve a local stand-in for the service')
    .description(
      'Serves a stand-in for the service from memory, with invented data and the limits of the service. ' +
        'Runs until Ctrl-C.',
    )
    .option('--port <n>', 'port to listen on; 0: any free port', wholeNumber(0, 65_535), 8788)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--key <key>', 'the only accepted API key', defaults.key)
    .option('--seed <n>', 'the same seed gives the same data', wholeNumber(0, 2 ** 31), defaults.seed)
    .option('--inboxes <n>', 'number of inboxes', wholeNumber(0, 10_000), 4)
    .option('--conversations <n>', 'conversations per inbox, on average', wholeNumber(0, 1_000_000), 50)
    .option('--users <n>', 'users per inbox', wholeNumber(0, 10_000), defaults.usersPerInbox)
    .option('--tags <n>', 'tags per inbox', wholeNumber(0, 10_000), defaults.tagsPerInbox)
    .option('--rate <n>', 'limit of requests per second; 0: none', decimal(0, 1_000_000), defaults.rate)
    .option(
      '--per-day <n>',
      'limit of requests in 24 hours; 0: none',
      wholeNumber(0, 1_000_000_000),
      defaults.perDay,
    )
    .option('--latency <ms>', 'shortest round trip', decimal(0, 60_000), defaults.latencyMs)
    .option(
      '--jitter <ms>',
      'random addition to a round trip, at most',
      decimal(0, 60_000),
      defaults.jitterMs,
    )
    .option(
      '--activity <n>',
      'changes per hour in all inboxes',
      decimal(0, 10_000_000),
      defaults.activityPerHour,
    )
    .option('--error-rate <share>', 'share of requests answered with 500', decimal(0, 1), defaults.errorRate)
    .addOption(
      new Option('--envelope <form>', 'where answers hold the results of a list: at the top, or in data')
        .choices(['top', 'data'])
        .default(defaults.envelope),
    )
    .addOption(
      new Option(
        '--id-type <type>',
        'JSON type of ids; mixed: numbers in lists of conversations, else strings',
      )
        .choices(['string', 'number', 'mixed'])
        .default(defaults.idType),
    )
    .addOption(
      new Option('--retry-after <form>', 'form of the Retry-After header on a 429')
        .choices(['none', 'seconds', 'date'])
        .default('none'),
    )
    .addHelpText('after', '\nExample:\n  inbox-mirror sandbox --conversations 500 --activity 600')
    .action((options: SandboxFlags) => run((io) => serveSandbox(io, options)));
}

function decimal(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d*\.?\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`expected a number from ${least} to ${most}.`);
    return value;
  };
}

function wholeNumber(least: number, most: number): (text: string) => number {
  const parse = decimal(least, most);
  return (text) => {
    const value = parse(text);
    if (!Number.isInteger(value)) throw new InvalidArgumentError('expected a whole number.');
    return value;
  };
}

async function serveSandbox(io: Io, options: SandboxFlags): Promise<number> {
  const { createSandbox } = await import('../../sandbox/sandbox.ts');
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
    const reason = codeOf(error) ?? String(error);
    throw new MirrorError(
      'USAGE',
      `Cannot listen on ${options.host} port ${options.port} (${reason}). Choose another port with --port.`,
      { cause: error },
    );
  });
  const inboxes = [...sandbox.world.inboxes.values()];
  const rows = inboxes.reduce((sum, inbox) => sum + inbox.conversations.size, 0);
  const data = `${plural(inboxes.length, 'inbox')} with ${plural(rows, 'conversation')}`;
  const variables = `INBOX_API_URL=${server.url} INBOX_API_KEY=${options.key}`;
  printLine(io.stdout, `The sandbox serves ${data} at ${server.url}\n`);
  printLine(io.stdout, `In another terminal:\n  ${variables} npx inbox-mirror sync\n`);
  if (options.activity === 0)
    printLine(io.stdout, 'The data does not change; `--activity 600` changes it 600 times an hour.');
  printLine(io.stdout, 'Ctrl-C stops it and discards its data.');
  await new Promise<void>((resolve) => {
    if (io.signal.aborted) resolve();
    else io.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.close();
  printLine(io.stdout, `Stopped after ${plural(sandbox.arrivals.length, 'request')}.`);
  return EXIT.done;
}
