import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createSandbox } from '../src/sandbox/sandbox.ts';
import { KEY, temporaryFolder } from './support/mirror.ts';

const root = join(import.meta.dirname, '..');
const run = promisify(execFile);

/** Files that git ignores: a fresh clone lacks them, and `npm ci` makes them. */
const MADE = /database\/generated|prisma\/\w+\/schema\.prisma$/;

/** The script that each command of the Dockerfile runs. */
const SCRIPTS = new Map([
  ['npm ci', 'dependencies'],
  ['npm run build', 'build'],
]);

/** Carries out the Dockerfile in folders, with the packages of this project. @returns the folder of its end */
async function buildImage(): Promise<string> {
  const stages = new Map<string, string>();
  let stage = '';
  for (const line of readFileSync(join(root, 'deploy/docker/Dockerfile'), 'utf8').split('\n')) {
    const [command, ...words] = line.split(' ');
    if (command === 'FROM') {
      stage = temporaryFolder();
      stages.set(words.at(-1) ?? '', stage);
      symlinkSync(join(root, 'node_modules'), join(stage, 'node_modules'));
    }
    const script = SCRIPTS.get(words.join(' '));
    if (command === 'RUN' && script !== undefined) await run('npm', ['run', script], { cwd: stage });
    if (command !== 'COPY') continue;
    const target = words.pop() ?? '';
    const from = words[0]?.startsWith('--from=') === true ? words.shift()?.slice('--from='.length) : null;
    for (const word of words.filter((name) => !name.endsWith('/node_modules'))) {
      const source = from == null ? join(root, word) : word.replace('/build', stages.get(from) ?? '');
      const copy = join(stage, target, target.endsWith('/') ? basename(word) : '');
      mkdirSync(join(copy, '..'), { recursive: true });
      cpSync(source, copy, { recursive: true, filter: (file) => from != null || !MADE.test(file) });
    }
  }
  return stage;
}

test('the image has all files that its installation, its build and a sync read', async () => {
  const image = await buildImage();
  const sandbox = createSandbox({ inboxes: 1, conversations: [5], rate: 0, perDay: 0, key: KEY });
  const { url, close } = await sandbox.listen();
  onTestFinished(close);
  const synced = await run(process.execPath, [join(image, 'bin/inbox-mirror.cjs'), 'sync'], {
    cwd: temporaryFolder(),
    env: { INBOX_API_URL: url, INBOX_API_KEY: KEY, REQUESTS_PER_SECOND: '100' },
  });
  expect(synced.stdout).toMatch(/conversations +5 .* complete/);
}, 120_000);
