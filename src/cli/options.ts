import { Argument, InvalidArgumentError, Option } from 'commander';
import { LIST_NAMES } from '../core/lists.ts';
import type { Io } from '../session/terminal.ts';

/** Runs a command's work and sets the exit code. Only `work` imports heavy modules: `--help` loads none. */
export type Runner = (work: (io: Io) => Promise<number>) => Promise<void>;

/** The formats in which a command prints rows. */
const FORMATS = ['table', 'json', 'ndjson', 'csv'] as const;
export type Format = (typeof FORMATS)[number];

/** The shells for which there is a completion. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

// Options and arguments that several commands accept. Each call makes a new one, which the command may adapt.

export const listsArgument = (): Argument =>
  new Argument('[lists...]', `${LIST_NAMES.join(', ')} (default: all)`);

export const inboxOption = (meaning = 'only this inbox: its id or its name'): Option =>
  new Option('--inbox <inbox>', meaning).argParser(oneInbox);

/**
 * Refuses a repeated `--inbox`: only its last value would count.
 * @param previous the value before, if the option is repeated
 */
function oneInbox(text: string, previous: string | undefined): string {
  if (previous !== undefined) throw new InvalidArgumentError('A command takes one inbox only.');
  return notEmpty(text);
}

/** Refuses an empty value: it usually comes from a shell variable that is not set. */
export function notEmpty(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It is empty.');
  return text;
}

export const detachOption = (): Option =>
  new Option('--detach', 'hand the pass to the daemon and exit without following it');

export const acceptAccountOption = (): Option =>
  new Option(
    '--accept-account',
    'the mirror changes to the account that the service shows; only needed once',
  );

export const formatOption = (): Option =>
  new Option('--format <format>', 'form of the output').choices(FORMATS).default('table');

/** `--json` of a command that has several formats. */
export const jsonFormatOption = (): Option =>
  new Option('--json', 'the same as --format json').implies({ format: 'json' });

export const rawOption = (): Option =>
  new Option('--raw', 'csv without the apostrophe before cells that a spreadsheet would run');

export const jsonOption = (): Option =>
  new Option('--json', 'print JSON; docs/commands.md describes its shape');
