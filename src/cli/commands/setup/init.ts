import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { EXIT, isMirrorError, MirrorError } from '../../../core/errors.ts';
import { plural } from '../../../core/humanize.ts';
import { SANDBOX_KEY } from '../../../core/secrets.ts';
import { type Io, paint, printFailure, printLine, wrapped } from '../../../session/terminal.ts';
import type { Runner } from '../../options.ts';
import { ownCommand } from '../../own-command.ts';
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
  const { ask, close } = openQuestions(io);
  const path = join(io.cwd, '.env');
  try {
    if (existsSync(path) && !(await mayChange(ask, path))) {
      printLine(io.stdout, `${path} stays as it is.`);
      return EXIT.done;
    }
    const settings = await askUntilAccepted(io, ask);
    writeSettings(path, settings);
    printLine(io.stdout, wrapped(io.stdout, nextSteps(io, path)));
    return EXIT.done;
  } finally {
    close();
  }
}

async function mayChange(ask: Ask, path: string): Promise<boolean> {
  const known = readFileSync(path, 'utf8').split('\n').length - 1;
  const answer = await ask(
    `${path} exists (${plural(known, 'line')}). ` +
      'Change the address and the key in it, and keep the rest? [y/N]',
  );
  return /^y(es)?$/i.test(answer);
}

type Settings = Readonly<Record<'INBOX_API_URL' | 'INBOX_API_KEY', string>>;

/** Asks until the service accepts the key. */
async function askUntilAccepted(io: Io, ask: Ask): Promise<Settings> {
  const { INBOX_API_URL, INBOX_API_KEY } = await askForSettings(io, ask);
  for (let key = INBOX_API_KEY; ; key = await askForKey(ask)) {
    const settings = { INBOX_API_URL, INBOX_API_KEY: key };
    const accepted = await checkUntilAnswered(io, ask, settings);
    if (accepted === null) continue;
    printLine(io.stdout, wrapped(io.stdout, accepted));
    return settings;
  }
}

/** Checks again, as long as the person wants to, while the service gives no answer. */
async function checkUntilAnswered(io: Io, ask: Ask, settings: Settings): Promise<string | null> {
  for (;;) {
    try {
      return await check(io, settings);
    } catch (error) {
      if (!isMirrorError(error, 'SERVICE_DOWN', 'ANSWER_FAILED', 'GATE_PAUSED')) throw error;
      printFailure(io.stdout, error.message);
      if (/^n(o)?$/i.test(await ask('Try again with this address and key? [Y/n]'))) throw error;
    }
  }
}

/** Asks until both can be right. */
async function askForSettings(io: Io, ask: Ask): Promise<Settings> {
  const { readConfig } = await import('../../../session/config/config.ts');
  const isRight = (settings: Settings): boolean => {
    try {
      readConfig(environmentOf(io, settings), io.cwd, { service: true });
      return true;
    } catch (error) {
      // Another variable is wrong: other answers would not help.
      if (!isMirrorError(error, 'CONFIG') || !/INBOX_API_(?:URL|KEY)/.test(error.message)) throw error;
      printFailure(io.stdout, error.message);
      return false;
    }
  };
  for (;;) {
    const INBOX_API_URL = await ask('Address of the service (INBOX_API_URL, ends in /v1):');
    // A wrong address is reported before a person has found the key.
    if (!isRight({ INBOX_API_URL, INBOX_API_KEY: SANDBOX_KEY })) continue;
    const INBOX_API_KEY = await askForKey(ask);
    if (isRight({ INBOX_API_URL, INBOX_API_KEY })) return { INBOX_API_URL, INBOX_API_KEY };
  }
}

async function askForKey(ask: Ask): Promise<string> {
  return await ask('API key (INBOX_API_KEY, from its admin panel; not shown):', { hidden: true });
}

/** The environment with the answers in place of what it says of them. */
function environmentOf({ env }: Io, settings: Settings): Io['env'] {
  return { ...env, INBOX_API_KEY_FILE: undefined, ...settings };
}

/**
 * Sends one request.
 * @returns a sentence; null, after one that says why, if the service refuses the key
 * @throws MirrorError for an address that does not work
 */
async function check(io: Io, settings: Settings): Promise<string | null> {
  const { openCheck } = await import('../../../session/check.ts');
  const { session } = await openCheck({ ...io, env: environmentOf(io, settings) }, { testsKey: true });
  try {
    const { rows, isWhole } = await session.client.ping({ reason: 'manual', signal: io.signal });
    const inboxes = plural(rows.items.length, 'inbox');
    return `The service accepts the key and lists ${isWhole ? '' : 'at least '}${inboxes}.`;
  } catch (error) {
    if (!isMirrorError(error)) throw error;
    if (error.code === 'KEY_REFUSED') {
      printFailure(io.stdout, error.message);
      return null;
    }
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
