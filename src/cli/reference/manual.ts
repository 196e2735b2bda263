import type { Command, Option } from 'commander';
import { outlineOf, type Outlined } from './outline.ts';

/** The manual page of the program in roff, for `man`. @param version the program's */
export function manualOf(program: Command, version: string): string {
  const commands = outlineOf(program);
  return [
    `.TH INBOX-MIRROR 1 "" "inbox-mirror ${version}" "User Commands"`,
    '.SH NAME',
    `inbox\\-mirror \\- ${text(program.description())}`,
    '.SH SYNOPSIS',
    '.B inbox\\-mirror',
    '.I command',
    '[options]',
    '.SH COMMANDS',
    ...commands.flatMap(section),
    '.SH EXIT STATUS',
    '0 done, 1 failed, 2 bad usage, configuration or SQL, 3 key refused, 4 stopped early but resumable,',
    '5 status: not healthy, 130 interrupted.',
    '.SH FILES',
    '.TP',
    '.I .env',
    'Variables that the environment does not set: address, key, database and others.',
    '',
  ].join('\n');
}

function section({ name, command, options, args }: Outlined): string[] {
  const usage = [
    name,
    ...args.map((argument) => (argument.required ? `<${argument.name()}>` : `[${argument.name()}]`)),
  ];
  return [
    `.SS ${text(usage.join(' '))}`,
    text(command.description()),
    ...options.flatMap((option) => ['.TP', `.B ${text(option.flags)}`, text(meaningOf(option))]),
  ];
}

function meaningOf({ description, argChoices, defaultValue, defaultValueDescription }: Option): string {
  const choices = argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`];
  const shown: unknown = defaultValueDescription ?? defaultValue;
  const byDefault =
    shown === undefined ? [] : [`default: ${typeof shown === 'string' ? shown : JSON.stringify(shown)}`];
  const notes = [...choices, ...byDefault];
  return notes.length === 0 ? description : `${description} (${notes.join('; ')})`;
}

/** Text in which roff finds no request and no escape. */
function text(plain: string): string {
  const escaped = plain.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll(/\s+/g, ' ');
  return escaped.replace(/^[.']/, String.raw`\&$&`);
}
