/** `node bench/pages.ts`: how fast the daemon's pages are, and what they cost the daemon. See README.md. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { aligned, median, quantile, show } from './figures.ts';
import { KEY, runPhase, startService } from './processes.ts';

const { values } = parseArgs({
  options: {
    conversations: { type: 'string', default: '100000' },
    inboxes: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '20' },
    file: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

/** Visits a second. */
const RATE = 10;

const PAGES = ['/', '/people', '/feed', '/ask', '/ask?sql=SELECT+*+FROM+backlog_now', '/engine'];

/** CPU and memory of the process, and how late its event loop was since the last answer. */
interface Used {
  readonly at: number;
  readonly cpuMs: number;
  readonly rssMb: number;
  readonly lateMs: number;
  readonly latestMs: number;
}

interface Load {
  readonly page: string;
  readonly medianMs: number;
  readonly p95Ms: number;
  /** Per cent of a core. */
  readonly cpu: number;
  readonly rssMb: number;
  /** The 99th percentile and the most, in ms. */
  readonly lateMs: number;
  readonly latestMs: number;
}

const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-pages-'));
const service = await startService({
  conversations: Number(values.conversations),
  inboxes: Number(values.inboxes),
});
try {
  const loads = await measure(await seed());
  process.stdout.write(`${values.json ? JSON.stringify(loads, null, 2) : table(loads)}\n`);
} finally {
  service.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Fills a mirror at full speed, unless `--file` has one already. */
async function seed(): Promise<string> {
  const file = values.file ?? join(folder, 'seed.db');
  const spec = { way: 'mirror', url: service.url, file, fewestPages: 0, sampleEvery: 0 } as const;
  if (!existsSync(file)) await runPhase(spec, { profileTo: undefined });
  return file;
}

/** Asks each page ten times a second, after a time without visitors. */
async function measure(file: string): Promise<Load[]> {
  const mirror = join(folder, 'mirror.db');
  copyFileSync(file, mirror);
  const port = 8900 + (process.pid % 1000);
  const env = {
    ...process.env,
    DATABASE_URL: `file:${mirror}`,
    INBOX_API_URL: service.url,
    INBOX_API_KEY: KEY,
    INBOX_STATE_DIR: folder,
    HTTP_PORT: String(port),
    LOG_LEVEL: 'warn',
  };
  const daemon = fork(join(import.meta.dirname, '../bin/inbox-mirror.cjs'), ['start'], {
    cwd: folder,
    env,
    execArgv: ['--require', join(import.meta.dirname, 'lateness.cjs')],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const used = async (): Promise<Used> => {
    daemon.send('used');
    const [answer] = (await once(daemon, 'message')) as [Used];
    return answer;
  };
  try {
    await answers(port);
    const loads: Load[] = [];
    for (const page of ['no page', ...PAGES]) {
      const before = await used();
      const times = await visits(page, port);
      const after = await used();
      loads.push({
        page,
        medianMs: median(times),
        p95Ms: quantile(times, 0.95),
        cpu: (100 * (after.cpuMs - before.cpuMs)) / (after.at - before.at),
        rssMb: after.rssMb,
        lateMs: after.lateMs,
        latestMs: after.latestMs,
      });
    }
    return loads;
  } finally {
    daemon.kill();
    await once(daemon, 'exit');
  }
}

/** Waits until the daemon listens. */
async function answers(port: number): Promise<void> {
  for (;;) {
    const found = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null);
    if (found?.ok === true) return;
    await sleep(100);
  }
}

/** Visits a page at a steady rate, whether earlier visits have been answered or not. @returns ms of each */
async function visits(page: string, port: number): Promise<number[]> {
  const all: Promise<number>[] = [];
  // The first visit loads the page's code, and counts the history.
  if (page.startsWith('/')) await visit(`http://127.0.0.1:${port}${page}`);
  for (let nth = 0; nth < RATE * Number(values.seconds); nth += 1) {
    if (page.startsWith('/')) all.push(visit(`http://127.0.0.1:${port}${page}`));
    await sleep(1000 / RATE);
  }
  return await Promise.all(all);
}

async function visit(url: string): Promise<number> {
  const from = performance.now();
  const answer = await fetch(url, { headers: { accept: 'text/html' } });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return performance.now() - from;
}

function table(loads: readonly Load[]): string {
  const head = ['page', 'median ms', 'p95 ms', '% of a core', 'RSS MB', 'late p99 ms', 'latest ms'];
  const rows = loads.map(({ page, ...figures }) => [
    page.slice(0, 30),
    ...Object.values(figures).map((figure) => (Number.isNaN(figure) ? '' : show(figure))),
  ]);
  return aligned([head, ...rows]);
}
