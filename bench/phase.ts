/** Runs one phase of a benchmark in this process, as the argument describes, and sends the result. */
import { createHash } from 'node:crypto';
import { COLUMNS, LIST_NAMES, TABLES } from '../src/core/lists.ts';
import { cpuMs, rssMb, startMeter } from './meter.ts';
import type { PhaseResult, PhaseSpec, Sample, Way } from './processes.ts';
import type { OpenWay } from './way.ts';

/** Loads only the modules of the requested way, so that no other way adds to its memory. */
async function openWay(spec: PhaseSpec): Promise<OpenWay> {
  const ways: Record<Way, () => Promise<OpenWay>> = {
    mirror: async () => await (await import('./mirror-way.ts')).mirrorWay(spec),
    usual: async () => await (await import('./usual-way.ts')).usualWay(spec),
    fetch: async () => await (await import('./walk.ts')).fetchWay(spec),
  };
  return await ways[spec.way]();
}

async function run(spec: PhaseSpec): Promise<PhaseResult> {
  const way = await openWay(spec);
  const samples: Sample[] = [];
  let pages = 0;
  let rows = 0;
  let written: number | null = 0;
  let cpuBefore = cpuMs();
  const onPage = (count: number): void => {
    pages += 1;
    rows += count;
    if (spec.sampleEvery === 0 || pages % spec.sampleEvery !== 0) return;
    samples.push({ pages, rssMb: rssMb(), cpuPerPage: (cpuMs() - cpuBefore) / spec.sampleEvery });
    cpuBefore = cpuMs();
  };
  const stop = startMeter();
  do {
    const walk = await way.walk(onPage);
    written = walk.written === null || written === null ? null : written + walk.written;
  } while (pages < spec.fewestPages);
  const measured = stop();
  const digest = way.query === null ? null : await digestOf(way.query);
  await way.close();
  return { ...measured, pages, rows, samples, written, digest };
}

/** A hash over mirrored columns and tag links, to compare databases. It ignores the text form of instants. */
async function digestOf(query: (sql: string) => Promise<unknown[]>): Promise<string> {
  const hash = createHash('sha256');
  for (const list of LIST_NAMES) {
    const keys = list === 'inboxes' ? 'id' : 'inbox_id, id';
    const columns = [keys, ...Object.keys(COLUMNS[list])].join(', ');
    hash.update(JSON.stringify(await query(`SELECT ${columns} FROM ${TABLES[list]} ORDER BY ${keys}`)));
  }
  const links = 'inbox_id, conversation_id, tag_id';
  hash.update(JSON.stringify(await query(`SELECT ${links} FROM conversation_tags ORDER BY ${links}`)));
  return hash.digest('hex').slice(0, 16);
}

const result = await run(JSON.parse(process.argv[2] ?? '{}') as PhaseSpec);
process.send?.(result);
process.disconnect();
