import { Argument, type Command } from 'commander';
import { EXIT } from '../../../core/errors.ts';
import type { Io } from '../../../session/terminal.ts';
import { type Runner, type Shell, SHELLS } from '../../options.ts';

export function addCompletion(program: Command, run: Runner): void {
  program
    .command('completion')
    .summary('print a script that completes commands in a shell')
    .description('Prints a script that completes commands, options and their values in a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  source <(inbox-mirror completion bash)\n' +
        '  inbox-mirror completion fish > ~/.config/fish/completions/inbox-mirror.fish',
    )
    .action((shell: Shell) =>
      run(async (io: Io) => {
        const { completionFor } = await import('../../reference/completion.ts');
        io.stdout.write(completionFor(shell, program));
        return EXIT.done;
      }),
    );
}
