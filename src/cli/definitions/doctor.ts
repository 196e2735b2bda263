import type { Command } from 'commander';
import type { Runner } from '../../session/terminal.ts';

export function addDoctor(program: Command, run: Runner): void {
  program
    .command('doctor')
    .summary('check configuration, database, address, key and clock')
    .description(
      'Checks everything that a sync needs, with one request, and says what to do about what is wrong.',
    )
    .option('--reset-gate', 'end a pause after 429s, and the breaker, by hand')
    .option('--json', 'print the checks as JSON')
    .action((options: { resetGate?: boolean; json?: boolean }) =>
      run(async (io) => {
        const { runDoctor } = await import('../commands/doctor.ts');
        return await runDoctor(io, { resetGate: options.resetGate ?? false, json: options.json ?? false });
      }),
    );
}
