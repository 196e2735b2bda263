/** `npm run bench:idle`: what a daemon costs that has little to do, on a large account. See README.md. */
import { type ChildProcess, fork } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MINUTE } from '../src/core/clock.ts';
import { thousands } from '../src/core/humanize.ts';
import { iso } from '../src/database/instants.ts';
import { openDatabase } from '../src/database/open.ts';
import { aligned, show } from './figures.ts';
import type { Usage } from './idle-daemon.ts';
import { ageMirror } from './idle-mirror.ts';
import { KEY, LAUNCH_OPTIONS, runPhase, startService } from './processes.ts';

const { values } = parseArgs({
  options: {
    conversations: { type: 'string', default: '400000' },
    inboxes: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '60' },
    file: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const size = { conversations: Number(values.conversations), inboxes: Number(values.inboxes) };
/** The start of a daemon, its first readings included, does not count: minutes. */
const WARM_UP = 2;

/** The aims: per cent of a core, and MB more than without single pages. */
const AIMS = { cpu: 1, moreMb: 30 };

interface Cost {
  readonly daemon: string;
  /** Per cent of a core. */
  readonly cpu: number;
  readonly rssMb: number;
  readonly requests: number;
}

const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-idle-'));
const logProgress = (line: string): void => void process.stderr.write(`${line}\n`);
const service = await startService(size);
try {
  const costs = await measure(await seed());
  process.stdout.write(`${values.json ? JSON.stringify(costs, null, 2) : table(costs)}\n`);
} finally {
  service.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Fills a mirror at full speed, unless `--file` has one already, and makes it look like one of weeks. */
async function seed(): Promise<string> {
  const file = values.file ?? join(folder, 'seed.db');
  if (!existsSync(file)) {
    logProgress(`filling a mirror of ${thousands(service.rows)} rows`);
    const spec = { way: 'mirror', url: service.url, file, fewestPages: 0, sampleEvery: 0 } as const;
    await runPhase(spec, { profileTo: undefined });
  }
  await ageMirror(file, Date.now());
  return file;
}

/** Runs both daemons at the same time, each on its own copy of the mirror. */
async function measure(file: string): Promise<Cost[]> {
  const daemons = [
    { name: 'with single pages', readPages: 'auto' },
    { name: 'READ_PAGES=off', readPages: 'off' },
  ].map(({ name, readPages }) => ({ name, ...startDaemon(file, readPages) }));
  logProgress(`two daemons run for ${values.minutes} minutes, after ${WARM_UP} that do not count`);
  const used: Usage[][] = [];
  try {
    for (const minutes of [WARM_UP, Number(values.minutes)]) {
      await sleep(minutes * MINUTE);
      used.push(await Promise.all(daemons.map(({ child }) => usageOf(child))));
    }
  } finally {
    await Promise.all(daemons.map(({ child }) => end(child)));
  }
  const [before = [], after = []] = used;
  return await Promise.all(
    daemons.map(({ name, mirror }, nth) => costOf(name, mirror, before[nth]!, after[nth]!)),
  );
}

async function costOf(daemon: string, mirror: string, before: Usage, after: Usage): Promise<Cost> {
  const database = await openDatabase(`file:${mirror}`);
  const requests = await database.query(
    `SELECT id FROM requests WHERE sent_at > $1 AND sent_at <= $2`,
    iso(before.at),
    iso(after.at),
  );
  await database.close();
  const cpu = (100 * (after.cpuMs - before.cpuMs)) / (after.at - before.at);
  return { daemon, cpu, rssMb: after.rssMb, requests: requests.length };
}

function startDaemon(file: string, readPages: string): { child: ChildProcess; mirror: string } {
  const home = join(folder, readPages);
  mkdirSync(home);
  const mirror = join(home, 'mirror.db');
  copyFileSync(file, mirror);
  const env = {
    DATABASE_URL: `file:${mirror}`,
    INBOX_API_URL: service.url,
    INBOX_API_KEY: KEY,
    INBOX_STATE_DIR: home,
    READ_PAGES: readPages,
    HTTP_PORT: '0',
    LOG_LEVEL: 'warn',
  };
  const child = fork(join(import.meta.dirname, 'idle-daemon.ts'), [], {
    cwd: home,
    env: { ...process.env, ...env },
    execArgv: [...LAUNCH_OPTIONS, '--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return { child, mirror };
}

async function usageOf(child: ChildProcess): Promise<Usage> {
  const answer = new Promise<Usage>((resolve, reject) => {
    child.once('message', (message) => resolve(message as Usage));
    child.once('exit', (code) => reject(new Error(`a daemon ended early, with exit code ${code}`)));
  });
  child.send('usage');
  return await answer;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.disconnect();
  await ended;
}

function table(costs: readonly Cost[]): string {
  const [pages, off] = costs as [Cost, Cost];
  const rows = costs.map(({ daemon, cpu, rssMb, requests }) => [
    daemon,
    `${show(cpu)} %`,
    show(rssMb),
    String(requests),
  ]);
  const moreMb = pages.rssMb - off.rssMb;
  return [
    aligned([['daemon', 'CPU of a core', 'RSS, MB', 'requests'], ...rows]),
    '',
    `CPU of a core: ${show(pages.cpu)} % (aim: under ${AIMS.cpu} %)`,
    `memory for single pages: ${show(moreMb)} MB (aim: under ${AIMS.moreMb} MB)`,
  ].join('\n');
}
