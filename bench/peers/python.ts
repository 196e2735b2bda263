import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const REQUIREMENTS = {
  dlt: 'dlt/requirements.txt',
  singer: 'singer/requirements.txt',
  target: 'singer/target-requirements.txt',
  airbyte: 'airbyte/requirements.txt',
} as const;
type Name = keyof typeof REQUIREMENTS;

/** The folders of the Python environments that are there; undefined: it could not be made. */
export type Environments = Readonly<Partial<Record<Name, string>>>;

/** Written into an environment after everything was installed. */
const COMPLETE = 'complete';

/** At most this many characters of a program's error. */
const LONGEST_CAUSE = 400;

/**
 * Makes the environments that are not in the cache yet, one after another: 540 MB, 2 to 5 minutes.
 * @param report prints progress, and for an environment that cannot be made the cause and what to do
 */
export async function makeEnvironments(report: (line: string) => void): Promise<Environments> {
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'inbox-mirror-bench');
  const made: Partial<Record<Name, string>> = {};
  for (const [name, file] of Object.entries(REQUIREMENTS) as [Name, string][]) {
    const requirements = join(import.meta.dirname, file);
    const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
    const folder = join(cache, `${name}-${hash}`);
    try {
      await makeEnvironment(folder, requirements, report);
      made[name] = folder;
    } catch (error) {
      report(
        `${name} is left out: its Python environment could not be made in ${folder}: ${causeOf(error)}. ` +
          'Install Python 3.10 or newer with its module venv, check that pip reaches a package index ' +
          '(PIP_INDEX_URL), and run this again.',
      );
    }
  }
  return made;
}

async function makeEnvironment(
  folder: string,
  requirements: string,
  report: (line: string) => void,
): Promise<void> {
  if (existsSync(join(folder, COMPLETE))) return;
  report(`installs ${requirements} into ${folder}`);
  // An interrupted installation left part of it.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await run('python3', ['-m', 'venv', folder]);
  await run(join(folder, 'bin/pip'), ['install', '--quiet', '--requirement', requirements]);
  writeFileSync(join(folder, COMPLETE), '');
}

/** The end of what a program printed, or why it could not start. */
function causeOf(error: unknown): string {
  const { stderr, message } = error as Error & { stderr?: string };
  const text = (stderr?.trim() || message).replaceAll(/\s+/g, ' ');
  return text.length > LONGEST_CAUSE ? `…${text.slice(-LONGEST_CAUSE)}` : text;
}
