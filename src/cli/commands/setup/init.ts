import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { unlessAborted } from '../../../core/abortable.ts';
import { EXIT, isMirrorError, MirrorError } from '../../../core/errors.ts';
import { plural } from '../../../core/humanize.ts';
import { SANDBOX_KEY } from '../../../core/secrets.ts';
import { type Io, paint, printFailure, printLine, wrapped } from '../../../session/terminal.ts';
import type { Runner } from '../../options.ts';
import { ownCommand } from '../../../session/words/own-command.ts';
import type { Ask } from './ask.ts';

/** The systemd unit of the package, four folders up from this file and from its build. */
const UNIT = join(import.meta.dirname, '../../../../deploy/systemd/inbox-mirror.service');

export function addInit(program: Command, run: Runner): void {
  program
    .command('init')
    .summary('ask for address and key, and write .env')
    .description(
      'Asks for the address of the service and the API key, checks them with one request, and writes them ' +
        'to .env in the current folder, which only you can then read. If there is an .env, it asks first, ' +
        'replaces the two lines and keeps all others. Needs a terminal.',
    )
    .action(() => run(runInit));
}

async function runInit(io: Io): Promise<number> {
  const { openQuestions } = await import('./ask.ts');
  const { writeSettings } = await import('./env-file.ts');
  const { ask, signal, close } = openQuestions(io);
  const path = join(io.cwd, '.env');
  try {
    if (existsSync(path) && !(await mayChange(ask, path))) {
      printLine(io.stdout, `${path} stays as it is.`);
      return EXIT.done;
    }
    const settings = await askUntilAccepted({ ...io, signal }, ask);
    writeSettings(path, settings);
    printLine(io.stdout, wrapped(io.stdout, nextSteps(io, path)));
    return EXIT.done;
  } finally {
    close();
  }
}

async function mayChange(ask: Ask, path: string): Promise<boolean> {
  const { readEnvText } = await import('../../../session/config/environment.ts');
  const known = readEnvText(path).split('\n').length - 1;
  const answer = await ask(
    `${path} exists (${plural(known, 'line')}). ` +
      'Change the address and the key in it, and keep the rest? [y/N]',
  );
  return /^y(es)?$/i.test(answer);
}

type Settings = Readonly<Record<'INBOX_API_URL' | 'INBOX_API_KEY', string>>;

/** Asks until the service accepts the key. */
async function askUntilAccepted(io: Io, ask: Ask): Promise<Settings> {
  let settings = await askForKey(io, ask, await askForAddress(io, ask));
  for (;;) {
    try {
      printLine(io.stdout, wrapped(io.stdout, await check(io, settings)));
      return settings;
    } catch (error) {
      if (!isMirrorError(error, 'KEY_REFUSED', ...MAY_BE_ANOTHER_ADDRESS)) throw error;
      printFailure(io.stdout, error.message);
      if (error.code === 'KEY_REFUSED') settings = await askForKey(io, ask, settings.INBOX_API_URL);
      else settings = { ...settings, INBOX_API_URL: await askToTryAgain(io, ask, settings, error) };
    }
  }
}

/** Errors of a service that is out of order, or of a server that is not the service. */
const MAY_BE_ANOTHER_ADDRESS = [
  'SERVICE_DOWN',
  'ANSWER_FAILED',
  'GATE_PAUSED',
  'REQUEST_REFUSED',
  'BAD_ANSWER',
] as const;

/** @returns an address that may be right, so that a person looks for the key only then */
async function askForAddress(io: Io, ask: Ask): Promise<string> {
  for (;;) {
    const address = await ask('Address of the service (INBOX_API_URL, ends in /v1):');
    if ((await faultIn(io, { INBOX_API_URL: address, INBOX_API_KEY: SANDBOX_KEY })) === null) return address;
  }
}

/** Also asks for another address if that one contains the key. */
async function askForKey(io: Io, ask: Ask, first: string): Promise<Settings> {
  let address = first;
  for (;;) {
    const key = await ask('API key (INBOX_API_KEY, from its admin panel; not shown):', { hidden: true });
    const settings = { INBOX_API_URL: address, INBOX_API_KEY: key };
    const fault = await faultIn(io, settings);
    if (fault === null) return settings;
    if (fault.includes('INBOX_API_URL: ')) address = await askForAddress(io, ask);
  }
}

/**
 * @returns the address for the next try with the same key
 * @throws MirrorError with the code of `error` if the person wants none
 */
async function askToTryAgain(io: Io, ask: Ask, settings: Settings, error: MirrorError): Promise<string> {
  for (;;) {
    const answer = await ask('Try again with this address and key? [Y/n, or another address]');
    if (/^(y(es)?)?$/i.test(answer)) return settings.INBOX_API_URL;
    if (/^no?$/i.test(answer)) {
      // The failure is on the screen already.
      const ending = 'init ends without an address and a key that work. Nothing was written.';
      throw new MirrorError(error.code, ending, { cause: error });
    }
    if ((await faultIn(io, { ...settings, INBOX_API_URL: answer })) === null) return answer;
  }
}

/**
 * Prints what is wrong about the answers. @returns it, or null if they are right
 * @throws MirrorError `CONFIG` if another variable is wrong
 */
async function faultIn(io: Io, settings: Settings): Promise<string | null> {
  const { readConfig } = await import('../../../session/config/config.ts');
  const { HOW_TO_SET } = await import('../../../session/config/environment.ts');
  try {
    readConfig(environmentOf(io, settings), io.cwd, { service: true });
    return null;
  } catch (error) {
    // Other answers would not help.
    if (!isMirrorError(error, 'CONFIG') || !/INBOX_API_(?:URL|KEY)/.test(error.message)) throw error;
    const fault = error.message.replace(HOW_TO_SET, '').trimEnd();
    printFailure(io.stdout, asAnswer(fault));
    return fault;
  }
}

/** Faults in the words of a person who has just typed the values, and has no configuration yet. */
function asAnswer(fault: string): string {
  return fault
    .replace(/^The configuration has .*:\n/, '')
    .replaceAll(/^ {2}INBOX_API_URL: ([a-z]+ .*?)(?:; its value is not shown here)?$/gm, 'The address $1.')
    .replaceAll(/^ {2}/gm, '');
}

/** The environment with the answers in place of what it says of them. */
function environmentOf({ env }: Io, settings: Settings): Io['env'] {
  return { ...env, INBOX_API_KEY_FILE: undefined, ...settings };
}

/**
 * Sends one request.
 * @returns a sentence
 * @throws MirrorError `KEY_REFUSED`, or for an address that does not work
 */
async function check(io: Io, settings: Settings): Promise<string> {
  const { openCheck } = await import('../../../session/check.ts');
  const { session } = await openCheck({ ...io, env: environmentOf(io, settings) }, { testsKey: true });
  try {
    // A person who presses Ctrl-C need not wait for the answer: the ledger has the request.
    const { rows, isWhole } = await unlessAborted(
      session.client.ping({ reason: 'manual', signal: io.signal }),
      io.signal,
    );
    const inboxes = plural(rows.items.length, 'inbox');
    return `The service accepts the key and lists ${isWhole ? '' : 'at least '}${inboxes}.`;
  } catch (error) {
    if (!isMirrorError(error) || error.code === 'STOPPED') throw error;
    if (error.code === 'KEY_REFUSED')
      // Its own sentence advises to run other commands.
      throw new MirrorError(
        'KEY_REFUSED',
        `The service refused the API key (HTTP ${error.status}). It is wrong, deleted, or lacks rights.`,
      );
    throw new MirrorError(error.code, `${error.message} Nothing was written.`, { cause: error });
  } finally {
    await session.close();
  }
}

function nextSteps(io: Io, path: string): string {
  const overridden = ['INBOX_API_URL', 'INBOX_API_KEY', 'INBOX_API_KEY_FILE'].filter((name) => io.env[name]);
  const own = ownCommand(io);
  const command = (text: string): string => paint(io.stdout, 'bold', text);
  return [
    `\n${path} holds them now; only you can read it.`,
    ...(overridden.length === 0
      ? []
      : [`The environment sets ${overridden.join(' and ')}, which overrides .env: remove that.`]),
    '',
    `  ${command(`${own} sync`)}      fills the mirror`,
    `  ${command(`${own} start`)}     keeps it fresh until you stop it`,
    '',
    existsSync(UNIT)
      ? `To run the daemon as a service, install the systemd unit ${UNIT}; docs/deploy.md has the commands.`
      : 'To run the daemon as a service, see docs/deploy.md.',
  ].join('\n');
}
