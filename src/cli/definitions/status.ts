import type { Command } from 'commander';
import type { Runner } from '../../session/terminal.ts';

export function addStatus(program: Command, run: Runner): void {
  program
    .command('status')
    .summary('how fresh the mirror is, and what the gate allows')
    .description(
      'Lists with their freshness, sweeps in progress, day budget, gate and lease. Sends no request. Exits 5 where a list is stale or the gate is shut.',
    )
    .option('--json', 'print as JSON (docs/commands.md)')
    .action((options: { json?: boolean }) =>
      run(async (io) => {
        const { showStatus } = await import('../commands/status.ts');
        return await showStatus(io, { json: options.json ?? false });
      }),
    );
}
