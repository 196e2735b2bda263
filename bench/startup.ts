/** `node bench/startup.ts`: the time of `inbox-mirror --help` against an empty Node. See README.md. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { aligned, median, quantile, show } from './figures.ts';

/** At most 150 ms more than an empty Node. */
const AIM_MS = 150;
const ENTRY = join(import.meta.dirname, '../bin/inbox-mirror.cjs');

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '20' }, json: { type: 'boolean', default: false } },
});
const runs = Number(values.runs);

if (!existsSync(ENTRY)) {
  process.stderr.write(`Cannot start ${ENTRY}: the file does not exist.\n`);
  process.exit(2);
}

const nothing: number[] = [];
const help: number[] = [];
// The first run of each fills the disk cache and does not count. The two alternate, so that both see the
// same load.
for (let run = 0; run <= runs; run += 1) {
  const counts = run > 0;
  const [empty, ours] = [start(['-e', '0']), start([ENTRY, '--help'])];
  if (counts) nothing.push(empty);
  if (counts) help.push(ours);
}
const more = median(help) - median(nothing);
const report = {
  runs,
  nodeMs: median(nothing),
  helpMs: median(help),
  moreMs: more,
  aimMs: AIM_MS,
  met: more < AIM_MS,
};

if (values.json) {
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
} else {
  const row = (name: string, times: number[]): string[] => [
    name,
    show(median(times)),
    show(Math.min(...times)),
    show(quantile(times, 0.9)),
  ];
  const table = aligned([
    [`ms over ${runs} runs`, 'median', 'minimum', '90 %'],
    row('node -e 0', nothing),
    row('inbox-mirror --help', help),
    ['more than Node alone', show(more)],
  ]);
  process.stdout.write(
    `${table}\n\n${report.met ? 'met     ' : 'NOT MET '} ` +
      `--help answers in under ${AIM_MS} ms more than node -e 0\n`,
  );
}

/** Wall-clock milliseconds from start to end of one process. */
function start(args: readonly string[]): number {
  const from = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  const elapsed = performance.now() - from;
  if (status !== 0) throw new Error(`node ${args.join(' ')} exited with ${status}: ${stderr.slice(0, 500)}`);
  return elapsed;
}
