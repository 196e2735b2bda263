import type { Argument, Command, Option } from 'commander';

/** A command, its name with those of its parents: `lookup user`. */
export interface Outlined {
  readonly name: string;
  readonly command: Command;
  readonly options: readonly Option[];
  readonly args: readonly Argument[];
}

/** Every command of the program in the order of the help, a subcommand after its parent. */
export function outlineOf(program: Command, parent = ''): Outlined[] {
  return program.commands.flatMap((command) => {
    const name = `${parent}${command.name()}`;
    const options = command.options.filter(({ hidden }) => !hidden);
    return [{ name, command, options, args: command.registeredArguments }, ...outlineOf(command, `${name} `)];
  });
}

/** A command's line in the program's help. */
export function summaryOf({ command }: Outlined): string {
  return command.summary() || command.description();
}
