import type { Command } from 'commander';
import { EXIT, MirrorError } from '../../../core/errors.ts';
import type { Runner } from '../../options.ts';

/** Replaces commander's own help command, which knows no subcommands. */
export function addHelp(program: Command, run: Runner): void {
  program
    .helpCommand(false)
    .command('help')
    .summary('print the help of a command, or the manual page')
    .description('Prints the help of the program, of a command, or of a subcommand.')
    .argument('[command...]', 'such as sync, or lookup user')
    .option('--man', 'print the manual page of the whole program, in the form that man reads')
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  inbox-mirror help lookup user\n' +
        '  inbox-mirror help --man > ~/.local/share/man/man1/inbox-mirror.1',
    )
    .action((words: string[], { man = false }: { man?: boolean }) =>
      run(async (io) => {
        if (man) {
          const { manualOf } = await import('../../reference/manual.ts');
          io.stdout.write(manualOf(program, io.version));
        } else commandOf(program, words).outputHelp();
        return EXIT.done;
      }),
    );
}

/** @throws MirrorError `USAGE` for a name that is no command */
function commandOf(program: Command, words: readonly string[]): Command {
  return words.reduce((parent, word) => {
    const found = parent.commands.find((command) => command.name() === word);
    if (found !== undefined) return found;
    const names = parent.commands.map((command) => command.name()).join(', ');
    throw new MirrorError(
      'USAGE',
      `There is no command ${JSON.stringify(words.join(' '))}. ` +
        (names === '' ? `${parent.name()} has no subcommands.` : `The commands are: ${names}.`),
    );
  }, program);
}
