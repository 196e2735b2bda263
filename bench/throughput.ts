/** `npm run bench`: the cost of a first and an unchanged sync against the usual way. See README.md. */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median } from './figures.ts';
import { type PhaseResult, type Service, type Way, runPhase, startService } from './processes.ts';
import { type Endurance, type Figures, type Report, aimsOf, render } from './throughput-report.ts';

const { values } = parseArgs({
  options: {
    conversations: { type: 'string', default: '30000' },
    inboxes: { type: 'string', default: '4' },
    runs: { type: 'string', default: '3' },
    pages: { type: 'string', default: '3000' },
    only: { type: 'string' },
    profile: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const size = { conversations: Number(values.conversations), inboxes: Number(values.inboxes) };
const runs = Number(values.runs);
const endurancePages = Number(values.pages);
const profileTo = values.profile;
/** `--only mirror` skips the usual way, which takes minutes. */
const ways: Way[] = (['mirror', 'usual', 'fetch'] as const).filter(
  (way) => values.only === undefined || values.only === way,
);

const SAMPLE_EVERY = 500;
const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-bench-'));
const logProgress = (line: string): void => void process.stderr.write(`${line}\n`);

const service = await startService(size);
try {
  const report = await measure(service);
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : `${render(report)}\n`);
} finally {
  service.close();
  rmSync(folder, { recursive: true, force: true });
}

async function measure({ url, rows }: Service): Promise<Report> {
  const results: Record<Way, { first: PhaseResult[]; second: PhaseResult[] }> = {
    mirror: { first: [], second: [] },
    usual: { first: [], second: [] },
    fetch: { first: [], second: [] },
  };
  // Warms up the code of the sandbox before the first measurement.
  await phase('fetch', url, 'none', 'warming up');
  for (let run = 1; run <= runs; run += 1) {
    // The order alternates: no way always runs after the same other way.
    for (const way of run % 2 === 1 ? ways : ways.toReversed()) {
      const file = join(folder, `${way}-${run}.db`);
      const count = `run ${run} of ${runs}`;
      if (way !== 'fetch')
        results[way].first.push(await phase(way, url, file, `${count}: ${way}, first sync`));
      results[way].second.push(await phase(way, url, file, `${count}: ${way}, unchanged sync`));
    }
    sameContent(
      ways.flatMap((way) => [results[way].first, results[way].second]).flatMap((list) => list.slice(run - 1)),
      rows,
    );
  }
  const figures = {
    mirror: { first: figuresOf(results.mirror.first), second: figuresOf(results.mirror.second) },
    usual: { first: figuresOf(results.usual.first), second: figuresOf(results.usual.second) },
    fetch: { first: null, second: figuresOf(results.fetch.second) },
  };
  const endurance = endurancePages > 0 && ways.includes('mirror') ? await endure(url) : null;
  const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`;
  const pages = results[ways[0] ?? 'mirror'].second[0]?.pages ?? 0;
  return { machine, rows, pages, runs, figures, endurance, aims: aimsOf(figures, endurance) };
}

/** Runs unchanged syncs in one process, like a daemon, until it has read `--pages` pages. */
async function endure(url: string): Promise<Endurance> {
  const file = join(folder, 'endurance.db');
  await phase('mirror', url, file, 'endurance: first sync');
  const spec = { way: 'mirror', url, file, fewestPages: endurancePages, sampleEvery: SAMPLE_EVERY } as const;
  logProgress(`endurance: ${endurancePages} pages`);
  const { samples, pages, peakRssMb } = await runPhase(spec, { profileTo });
  return { samples, pages, peakRssMb };
}

async function phase(way: Way, url: string, file: string, label: string): Promise<PhaseResult> {
  const result = await runPhase({ way, url, file, fewestPages: 0, sampleEvery: 0 }, { profileTo });
  logProgress(`${label}: ${(result.wallMs / 1000).toFixed(1)} s`);
  return result;
}

/** Fails if a way read or stored less than the others: its figures would be too good. */
function sameContent(results: readonly PhaseResult[], rows: number): void {
  const digests = new Set(results.map(({ digest }) => digest).filter((digest) => digest !== null));
  const wrong = results.find((result) => result.rows !== rows);
  if (digests.size > 1) throw new Error(`the databases of the ways differ: ${[...digests].join(', ')}`);
  if (wrong !== undefined) throw new Error(`a way read ${wrong.rows} rows of ${rows}`);
}

function figuresOf(results: readonly PhaseResult[]): Figures | null {
  if (results.length === 0) return null;
  const middle = (of: (result: PhaseResult) => number): number => median(results.map(of));
  return {
    rowsPerSecond: middle(({ rows, wallMs }) => (rows / wallMs) * 1000),
    cpuMsPerPage: middle(({ cpuMs, pages }) => cpuMs / pages),
    mainThreadMsPerPage: middle(({ mainThreadMs, pages }) => mainThreadMs / pages),
    peakRssMb: middle(({ peakRssMb }) => peakRssMb),
    written: results[0]?.written ?? null,
  };
}
