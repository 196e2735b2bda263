import { once } from 'node:events';
import type { Command } from 'commander';
import { codeOf, EXIT, MirrorError } from '../../core/errors.ts';
import { plural } from '../../core/humanize.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { type Io, printLine } from '../../session/terminal.ts';
import type { Runner } from '../options.ts';
import { ownCommand } from '../../session/words/own-command.ts';
import { addSandboxOptions, type SandboxFlags, sandboxOptions } from '../sandbox-options.ts';

export function addSandbox(program: Command, run: Runner): void {
  const command = program
    .command('sandbox')
    .summary('serve a local stand-in for the service')
    .description(
      'Serves a stand-in for the service from memory, with invented data and the limits of the service. ' +
        'Runs until Ctrl-C.',
    );
  addSandboxOptions(command)
    .addHelpText('after', '\nExample:\n  inbox-mirror sandbox --conversations 500 --activity 600')
    .action((options: SandboxFlags) => run((io) => serveSandbox(io, options)));
}

async function serveSandbox(io: Io, options: SandboxFlags): Promise<number> {
  const { createSandbox } = await import('../../sandbox/sandbox.ts');
  const { steadyClock } = await import('../../sandbox/options.ts');
  const sandbox = createSandbox({ ...sandboxOptions(options), now: steadyClock() });
  setFaults(sandbox, options);
  const server = await sandbox.listen(options.port, options.host).catch((error: unknown) => {
    const code = codeOf(error) ?? String(error);
    const isTaken = code === 'EADDRINUSE';
    const reason = isTaken ? 'another program, perhaps another sandbox, listens there' : code;
    throw new MirrorError(
      'USAGE',
      `Cannot listen on ${options.host} port ${options.port} (${reason}). Choose another port with --port.`,
      { cause: error },
    );
  });
  const inboxes = [...sandbox.world.inboxes.values()];
  const rows = inboxes.reduce((sum, inbox) => sum + inbox.conversations.size, 0);
  const data = `${plural(inboxes.length, 'inbox')} with ${plural(rows, 'conversation')}`;
  const variables = `INBOX_API_URL=${server.url} INBOX_API_KEY=${options.key} DATABASE_URL=file:./try.db`;
  printLine(io.stdout, `The sandbox serves ${data} at ${server.url}\n`);
  printLine(io.stdout, `In another terminal:\n  export ${variables}`);
  const command = ownCommand(io);
  printLine(io.stdout, `  ${command} sync     # copies it once`);
  printLine(io.stdout, `  ${command} start    # copies it, keeps the copy fresh and serves`);
  printLine(io.stdout, `  ${' '.repeat(command.length)}          # web pages at http://127.0.0.1:8787\n`);
  if (options.activity === 0)
    printLine(io.stdout, 'The data does not change; `--activity 600` changes it 600 times an hour.');
  printLine(io.stdout, 'Ctrl-C stops it and discards its data: delete try.db* before you start it again.');
  if (!io.signal.aborted) await once(io.signal, 'abort');
  await server.close();
  printLine(io.stdout, `Stopped after ${plural(sandbox.arrivals.length, 'request')}.`);
  return EXIT.done;
}

/**
 * Makes the named lists fail.
 * @throws MirrorError `USAGE` for an inbox that the sandbox lacks, and for two failures of one list
 */
function setFaults({ faults, world }: Sandbox, options: SandboxFlags): void {
  const kinds = [
    ['forbidden', options.forbiddenList],
    ['empty', options.emptyList],
    ['endless', options.endlessList],
    ['nameless', options.rowsWithoutId],
    ['unreadable', options.unreadableRows],
  ] as const;
  for (const [fault, lists] of kinds) {
    for (const list of lists) {
      const [inboxId, kind] = list.split('/');
      if (kind !== undefined && !world.inboxes.has(inboxId ?? '')) {
        const ids = world.inboxes.order.slice(0, 5).join(', ');
        throw new MirrorError(
          'USAGE',
          `The sandbox has no inbox ${inboxId}, so ${list} cannot fail. Its inboxes begin with ${ids}.`,
        );
      }
      const name = kind === undefined ? list : `/inboxes/${list}`;
      if (faults.has(name))
        throw new MirrorError('USAGE', `Two options let ${list} fail. A list can fail in one way at a time.`);
      faults.set(name, fault);
    }
  }
}
