import { thousands } from '../src/core/humanize.ts';
import { aligned, show } from './figures.ts';
import type { Sample } from './processes.ts';

/** Medians of one phase. */
export interface Figures {
  readonly rowsPerSecond: number;
  readonly cpuMsPerPage: number;
  readonly mainThreadMsPerPage: number;
  readonly peakRssMb: number;
  readonly written: number | null;
}

interface Phases {
  readonly first: Figures | null;
  readonly second: Figures | null;
}

export interface Endurance {
  readonly samples: readonly Sample[];
  readonly pages: number;
  readonly peakRssMb: number;
}

interface Aim {
  readonly aim: string;
  readonly reached: string;
  readonly met: boolean;
}

/** The result of the benchmark; `--json` prints it unchanged. */
export interface Report {
  readonly machine: string;
  readonly rows: number;
  readonly pages: number;
  readonly runs: number;
  readonly figures: Readonly<Record<'mirror' | 'usual' | 'fetch', Phases>>;
  readonly endurance: Endurance | null;
  readonly aims: readonly Aim[];
}

/** Memory that rises after this page is a leak; before, the program is warming up. */
const WARM_AT_PAGE = 1000;
/** Memory may rise by 5 % after WARM_AT_PAGE. */
const FLAT = 0.05;

/** Compares the aims of the project with the measured figures. Aims without figures are left out. */
export function aimsOf({ mirror, usual }: Report['figures'], endurance: Endurance | null): Aim[] {
  const aims: Aim[] = [];
  const [ours, theirs] = [mirror.second, usual.second];
  if (ours !== null && theirs !== null) {
    const ratio = theirs.cpuMsPerPage / ours.cpuMsPerPage;
    aims.push({
      aim: 'an unchanged page costs 8 times less CPU than the usual way',
      reached: `${show(ratio)} times`,
      met: ratio >= 8,
    });
  }
  if (ours !== null) {
    const { cpuMsPerPage } = ours;
    aims.push({
      aim: 'an unchanged page costs under 5 ms of CPU',
      reached: `${show(cpuMsPerPage)} ms`,
      met: cpuMsPerPage < 5,
    });
  }
  const peak = Math.max(mirror.first?.peakRssMb ?? 0, ours?.peakRssMb ?? 0, endurance?.peakRssMb ?? 0);
  if (peak > 0)
    aims.push({ aim: 'memory (RSS) stays under 200 MB', reached: `${show(peak)} MB`, met: peak < 200 });
  const warm = endurance?.samples.filter(({ pages }) => pages <= WARM_AT_PAGE) ?? [];
  const later = endurance?.samples.filter(({ pages }) => pages > WARM_AT_PAGE) ?? [];
  if (warm.length > 0 && later.length > 0) {
    const most = (samples: readonly Sample[]): number => Math.max(...samples.map(({ rssMb }) => rssMb));
    const rise = most(later) / most(warm) - 1;
    const reached = `${rise < 0 ? '' : '+'}${(rise * 100).toFixed(1)} %`;
    aims.push({ aim: `memory is flat (within 5 %) after ${WARM_AT_PAGE} pages`, reached, met: rise <= FLAT });
  }
  return aims;
}

/** The report as text. */
export function render({ machine, rows, pages, runs, figures, endurance, aims }: Report): string {
  const parts = [
    `${thousands(rows)} rows on ${pages} pages; ` +
      `medians of ${runs} runs, a process for each phase\n${machine}`,
    aligned([
      ['', 'mirror', 'usual way', 'ratio', 'fetch only'],
      ['first sync'],
      ...phaseRows(figures.mirror.first, figures.usual.first, null),
      ['unchanged sync'],
      ...phaseRows(figures.mirror.second, figures.usual.second, figures.fetch.second),
    ]),
  ];
  if (endurance !== null) {
    const samples = endurance.samples.map((at) => [String(at.pages), show(at.rssMb), show(at.cpuPerPage)]);
    const header = ['  after pages', 'RSS MB', 'CPU ms per page'];
    parts.push(`repeated unchanged syncs in one process\n${aligned([header, ...samples.map(indented)])}`);
  }
  parts.push(
    aligned(aims.map(({ aim, reached, met }) => [`${met ? 'met     ' : 'NOT MET '} ${aim}`, reached])),
  );
  return parts.join('\n\n');
}

function indented([first = '', ...others]: readonly string[]): string[] {
  return [`  ${first}`, ...others];
}

function phaseRows(ours: Figures | null, theirs: Figures | null, fetched: Figures | null): string[][] {
  const row = (
    name: string,
    of: (figures: Figures) => number,
    ratio: (ours: number, theirs: number) => number,
  ): string[] => [
    `  ${name}`,
    ...[ours, theirs].map((figures) => (figures === null ? '-' : show(of(figures)))),
    ours === null || theirs === null ? '-' : `${show(ratio(of(ours), of(theirs)))} ×`,
    fetched === null ? '-' : show(of(fetched)),
  ];
  const less = (mine: number, other: number): number => other / mine;
  const rows = [
    row(
      'rows/s',
      (figures) => figures.rowsPerSecond,
      (mine, other) => mine / other,
    ),
    row('CPU ms per page', (figures) => figures.cpuMsPerPage, less),
    row('  of it main thread', (figures) => figures.mainThreadMsPerPage, less),
    row('peak RSS MB', (figures) => figures.peakRssMb, less),
  ];
  if (ours?.written != null) rows.push(['  rows written', thousands(ours.written), 'all', '', '']);
  return rows;
}
