import type { Command } from 'commander';
import { EXIT } from '../../core/errors.ts';
import { type Io, printJson, printLine } from '../../session/terminal.ts';
import { jsonOption, type Runner } from '../options.ts';

export function addStatus(program: Command, run: Runner): void {
  program
    .command('status')
    .summary('print freshness, budget, gate and lease')
    .description(
      'Prints the freshness of each list, open sweeps, the budget, the gate and the lease. ' +
        'Sends no request. ' +
        'Exits with 5 if a list is stale or was never complete, its latest sweep failed, the gate is shut, ' +
        'or a daemon found the service out of reach.',
    )
    .addOption(jsonOption())
    .action(({ json = false }: { json?: boolean }) => run((io) => printStatus(io, json)));
}

async function printStatus(io: Io, json: boolean): Promise<number> {
  const { thisProcess } = await import('../../session/claim.ts');
  const { sharedClock, systemClock } = await import('../../session/clock.ts');
  const { openReader } = await import('../../session/reader.ts');
  const { statusAsJson } = await import('../../status/json.ts');
  const { readDetails, readJudgedStatus } = await import('../../status/observe.ts');
  const { statusAsText } = await import('../output/status.ts');
  const { config, mirror, others } = await openReader(io);
  try {
    const { clock } = await sharedClock(mirror, systemClock());
    const self = { ...thisProcess(), isWriter: false };
    const judged = await readJudgedStatus(mirror, { now: clock.now(), config, self, others });
    const status = await readDetails(mirror, config, judged);
    if (json) printJson(io.stdout, statusAsJson(status));
    else printLine(io.stdout, statusAsText(io.stdout, status));
    return status.healthy ? EXIT.done : EXIT.stale;
  } finally {
    await mirror.close();
  }
}
