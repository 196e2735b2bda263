import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Runner } from '../../session/terminal.ts';
import type { SandboxCommand } from '../commands/sandbox.ts';

const number =
  (least: number, most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d*\.?\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`expected a number from ${least} to ${most}.`);
    return value;
  };
const whole =
  (least: number, most: number) =>
  (text: string): number => {
    const value = number(least, most)(text);
    if (!Number.isInteger(value)) throw new InvalidArgumentError('expected a whole number.');
    return value;
  };

export function addSandbox(program: Command, run: Runner): void {
  program
    .command('sandbox')
    .summary('a stand-in of the service to develop and try against')
    .description(
      'Serves the whole interface from memory with invented data: pages, limits, errors and all. Runs until Ctrl-C.',
    )
    .option('--port <n>', 'port to listen on; 0 takes a free one', whole(0, 65_535), 8788)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--key <key>', 'the API key that it takes', 'sandbox-key')
    .option('--seed <n>', 'same seed, same data', whole(0, 2 ** 31), 1)
    .option('--inboxes <n>', 'how many inboxes', whole(0, 10_000), 4)
    .option('--conversations <n>', 'conversations per inbox, on average', whole(0, 1_000_000), 50)
    .option('--users <n>', 'users per inbox', whole(0, 10_000), 6)
    .option('--tags <n>', 'tags per inbox', whole(0, 10_000), 8)
    .option('--rate <n>', 'requests per second that it allows; 0: no limit', number(0, 1_000_000), 1)
    .option(
      '--per-day <n>',
      'requests in 24 hours that it allows; 0: no limit',
      whole(0, 1_000_000_000),
      5000,
    )
    .option('--latency <ms>', 'least round trip', number(0, 60_000), 0)
    .option('--jitter <ms>', 'up to this much more, at random', number(0, 60_000), 0)
    .option('--activity <n>', 'changes per hour over all inboxes', number(0, 10_000_000), 0)
    .option('--error-rate <share>', 'share of requests answered 500, 0 to 1', number(0, 1), 0)
    .addOption(
      new Option('--envelope <form>', 'where list answers hold their results')
        .choices(['data', 'top'])
        .default('data'),
    )
    .addOption(
      new Option('--id-type <type>', 'JSON type of ids; mixed: numbers in conversations')
        .choices(['string', 'number', 'mixed'])
        .default('mixed'),
    )
    .addOption(
      new Option('--retry-after <form>', 'a Retry-After header on 429')
        .choices(['none', 'seconds', 'date'])
        .default('none'),
    )
    .addHelpText('after', '\nExample:\n  inbox-mirror sandbox --conversations 500 --activity 600')
    .action((options: SandboxCommand) =>
      run(async (io) => {
        const { serveSandbox } = await import('../commands/sandbox.ts');
        return await serveSandbox(io, options);
      }),
    );
}
