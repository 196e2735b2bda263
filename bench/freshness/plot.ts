import { thousands } from '../../src/core/humanize.ts';
import { byAccount, PLANNER, type Report, type Result } from './report.ts';
import { show } from '../figures.ts';

/** All lengths are pixels. */
const WIDTH = 860;
const LEFT = 236;
const RIGHT = 24;
const TOP = 62;
const LINE = 26;
const PANEL_HEAD = 34;
const PANEL_FOOT = 34;

/** Minutes at the ends of the logarithmic axis. */
const LEAST = 0.2;
const MOST = 5000;
const TICKS: readonly (readonly [number, string])[] = [
  [1, '1 min'],
  [10, '10 min'],
  [60, '1 h'],
  [360, '6 h'],
  [1440, '1 day'],
];

const STYLE = `
    text { font: 13px system-ui, sans-serif; fill: #1f2328; }
    .title { font-size: 16px; font-weight: 600; }
    .note, .tick { font-size: 11px; fill: #59636e; }
    .grid { stroke: #d1d9e0; }
    .range { stroke: #8c959f; stroke-width: 3; stroke-linecap: round; }
    .mean { fill: #ffffff; stroke: #8c959f; stroke-width: 2; }
    .median { fill: #8c959f; }
    .planner .range, .planner .mean { stroke: #0969da; }
    .planner .median { fill: #0969da; }
    .planner text { font-weight: 600; }
    .bound { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 4 3; }
    .bound-text { font-size: 11px; fill: #cf222e; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .note, .tick { fill: #9198a1; }
      .grid { stroke: #3d444d; }
      .mean { fill: #0d1117; }
      .planner .range, .planner .mean { stroke: #4493f8; }
      .planner .median { fill: #4493f8; }
      .bound { stroke: #f85149; }
      .bound-text { fill: #f85149; }
    }
`;

/** `docs/freshness.svg`: median, mean and 95th percentile of each policy, one panel for each account. */
export function plotOf(reports: readonly Report[]): string {
  let y = TOP;
  const panels = byAccount(reports).map(([report]) => {
    const panel = panelOf(report, y);
    y += heightOf(report);
    return panel;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}"` +
      ` role="img" aria-label="Delay of a change by policy and account">`,
    `<style>${STYLE}</style>`,
    text(16, 26, 'title', 'How long a change waits until the mirror reads it'),
    text(
      16,
      46,
      'note',
      'Dot: median. Ring and number: mean. Line: to the 95th percentile. Dashed: the bound D*.',
    ),
    ...panels,
    '</svg>\n',
  ].join('\n');
}

function heightOf({ results }: Report): number {
  return PANEL_HEAD + LINE * results.length + PANEL_FOOT;
}

function panelOf({ account, results, bound }: Report, top: number): string {
  const first = top + PANEL_HEAD;
  const bottom = first + LINE * results.length - 8;
  const conversations = thousands(account.conversations);
  const title = `${account.name}: ${account.inboxes} inboxes, ${conversations} conversations`;
  const grid = TICKS.flatMap(([minutes, label]) => [
    line('grid', x(minutes), first - 14, x(minutes), bottom),
    text(x(minutes), bottom + 14, 'tick', label, 'middle'),
  ]);
  return [
    text(16, top + 8, 'title', title),
    ...grid,
    line('bound', x(bound), first - 14, x(bound), bottom),
    text(x(bound), first - 18, 'bound-text', `D* ${show(bound)} min`, 'middle'),
    ...results.map((result, index) => policyOf(result, first + LINE * index)),
  ].join('\n');
}

function policyOf(result: Result, y: number): string {
  const ends = [result.median, result.mean, result.p95].map(x);
  return [
    `<g class="${result.policy === PLANNER ? 'planner' : 'policy'}">`,
    text(LEFT - 14, y + 4, 'name', result.policy, 'end'),
    line('range', Math.min(...ends), y, Math.max(...ends), y),
    `<circle class="median" cx="${x(result.median)}" cy="${y}" r="5"/>`,
    `<circle class="mean" cx="${x(result.mean)}" cy="${y}" r="5"/>`,
    text(Math.max(...ends) + 10, y + 4, 'note', `${show(result.mean)} min`),
    '</g>',
  ].join('\n');
}

/** The place of a number of minutes on the logarithmic axis. */
function x(minutes: number): number {
  const within = Math.min(MOST, Math.max(LEAST, minutes));
  const share = Math.log(within / LEAST) / Math.log(MOST / LEAST);
  return Math.round(LEFT + share * (WIDTH - LEFT - RIGHT));
}

function line(name: string, x1: number, y1: number, x2: number, y2: number): string {
  return `<line class="${name}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;
}

function text(left: number, y: number, name: string, words: string, anchor = 'start'): string {
  return `<text class="${name}" x="${left}" y="${y}" text-anchor="${anchor}">${words}</text>`;
}
