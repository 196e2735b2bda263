/** `npm run bench:peers`: the same account copied by inbox-mirror and by other programs. See ../README.md. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type DelayPlan, measureDelays } from './delay.ts';
import { documentOf, type Report, type Result, tablesOf } from './document.ts';
import { endAllRuns, Lane } from './lane.ts';
import { Lanes } from './lanes.ts';
import { peersWith } from './list.ts';
import type { Peer } from './peer.ts';
import { makeEnvironments } from './python.ts';
import { type OpenLane, tryFirst, tryKill, tryTruncated } from './trials.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    from: { type: 'string' },
    quick: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});

/** Conversations of the two inboxes: 10 and 5 pages, with room for new ones. */
const CONVERSATIONS = [960, 470];
/** Of inboxes, users, tags and conversations. */
const PAGES = 1 + 2 + 2 + 10 + 5;

const REQUESTS_PER_DAY = 5000;
const MINUTES_PER_DAY = 1440;

/** The most frequent whole number of minutes whose runs fit into a day's requests. */
const everyMinutes = Math.ceil((PAGES * MINUTES_PER_DAY) / REQUESTS_PER_DAY);
const plan: DelayPlan = values.quick
  ? { everyMinutes: 1, periods: 1, changesPerMinute: 30 }
  : { everyMinutes, periods: 2, changesPerMinute: 5 };

const report = (line: string): void => void process.stderr.write(`${line}\n`);
const measured =
  values.from === undefined ? await run() : (JSON.parse(readFileSync(values.from, 'utf8')) as Report);
if (values.write) writeFileSync(join(import.meta.dirname, '../../docs/comparison.md'), documentOf(measured));
process.stdout.write(values.json ? `${JSON.stringify(measured, null, 2)}\n` : tablesOf(measured));

async function run(): Promise<Report> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      endAllRuns();
      process.exit(130);
    });
  const peers = peersWith(await makeEnvironments(report));
  const chosen = peers.filter(({ name }) => values.only?.split(',').includes(name) ?? true);
  if (chosen.length === 0) {
    report(`--only ${values.only}: it names none of ${peers.map(({ name }) => name).join(', ')}`);
    process.exit(2);
  }
  const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-peers-'));
  const lanes = new Lanes();
  const from = performance.now();
  const [load = 0] = loadavg();
  try {
    const open: OpenLane = async (trial) =>
      await Lane.open(trial, { lanes, folder, conversations: CONVERSATIONS });
    const results = await measure(chosen, { lanes, open });
    return {
      date: new Date().toISOString().slice(0, 10),
      machine:
        `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, Node.js ${process.version}, ` +
        `load average at the start ${load.toFixed(1)}`,
      minutes: (performance.now() - from) / 60_000,
      plan,
      pages: PAGES,
      conversations: CONVERSATIONS,
      results,
    };
  } finally {
    endAllRuns();
    lanes.close();
    if (values.keep) report(`the copies and logs are in ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

interface Means {
  readonly lanes: Lanes;
  readonly open: OpenLane;
}

async function measure(peers: readonly Peer[], means: Means): Promise<Result[]> {
  const { lanes, open } = means;
  // One after another: no peer takes the time of another.
  const filled: { peer: Peer; lane: Lane; first: Result['first'] }[] = [];
  for (const peer of peers) {
    report(`first run: ${peer.name}`);
    const lane = await open({ name: peer.name, peer });
    const first = await tryFirst(lane, lanes);
    report(`  ${first.run.seconds.toFixed(1)} s, ${first.requests} requests, ${first.refused} refused`);
    if (first.run.failure !== null) report(`  failed: ${first.run.failure}`);
    filled.push({ peer, lane, first });
  }
  report('killed runs and truncated pages, all peers side by side, and then the changes');
  const [trials, delays] = await Promise.all([
    Promise.all(peers.map(async (peer) => await tryFaults(peer, means))),
    measureDelays(
      filled.map(({ lane }) => lane),
      lanes,
      plan,
      report,
    ),
  ]);
  return filled.map(({ peer, first }, nth) => ({
    name: peer.name,
    versions: peer.versions,
    storage: peer.storage,
    first,
    ...trials[nth]!,
    delay: delays[nth]!,
  }));
}

async function tryFaults(peer: Peer, { lanes, open }: Means): Promise<Pick<Result, 'killed' | 'truncated'>> {
  const variants = [{ peer, name: peer.name }, ...(peer.variant === null ? [] : [{ peer, ...peer.variant }])];
  const [killed, ...truncated] = await Promise.all([
    tryKill(peer, open, lanes, PAGES / 2),
    ...variants.map(async (variant) => await tryTruncated(variant, open, lanes)),
  ]);
  report(`  ${peer.name}: kill and truncated page done`);
  return { killed, truncated };
}
