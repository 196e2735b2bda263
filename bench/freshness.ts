/** `npm run bench:freshness`: how far the mirror lies behind the service. See README.md. */
import { parseArgs } from 'node:util';
import { MINUTE } from '../src/core/clock.ts';
import { ACCOUNTS } from './freshness-account.ts';
import { measure, type Run } from './freshness-run.ts';
import { aligned, median, quantile, show } from './figures.ts';

const { values } = parseArgs({
  options: {
    accounts: { type: 'string', default: 'S,M' },
    warm: { type: 'string', default: '1' },
    days: { type: 'string', default: '2' },
    conversations: { type: 'string' },
    pages: { type: 'string', default: 'auto' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const wanted = values.accounts.split(',');
const accounts = ACCOUNTS.filter(({ name }) => wanted.includes(name));
if (accounts.length === 0) {
  process.stderr.write(`No account is named ${values.accounts}. There are: S, M, L.\n`);
  process.exit(2);
}

/** The defaults of `.env.example`, except for the option `--conversations`. */
const schedules = {
  inboxes: '0 * * * *',
  users: '20 */6 * * *',
  tags: '40 */6 * * *',
  conversations: values.conversations ?? (values.pages === 'auto' ? '0 3 * * *' : '*/15 * * * *'),
};

const reports = [];
for (const account of accounts) {
  const began = performance.now();
  const run = await measure({
    account,
    schedules,
    readPages: values.pages === 'auto',
    seed: Number(values.seed),
    warmDays: Number(values.warm),
    days: Number(values.days),
  });
  process.stderr.write(`${account.name}: ${Math.round((performance.now() - began) / 1000)} s\n`);
  reports.push({ account: account.name, ...figures(run) });
}

if (values.json) {
  process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`);
} else {
  const table = aligned([
    ['account', 'changes', 'unread', 'mean, min', 'median', '95 %', 'requests', 'silent hours'],
    ...reports.map((report) => [
      report.account,
      show(report.changes),
      show(report.unread),
      show(report.meanMinutes),
      show(report.medianMinutes),
      show(report.p95Minutes),
      show(report.requests),
      show(report.silentHours),
    ]),
  ]);
  const hours = aligned([
    ['requests in hour', ...Array.from({ length: 24 }, (_, hour) => String(hour))],
    ...reports.flatMap(({ account, byHour }) =>
      Array.from({ length: byHour.length / 24 }, (_, day) => [
        `${account}, day ${day + 1}`,
        ...byHour.slice(24 * day, 24 * (day + 1)).map(String),
      ]),
    ),
  ]);
  process.stdout.write(`${table}\n\n${hours}\n`);
}

function figures({ delays, unread, byHour }: Run) {
  return {
    changes: delays.length + unread,
    unread,
    meanMinutes: delays.reduce((sum, delay) => sum + delay, 0) / delays.length / MINUTE,
    medianMinutes: median(delays) / MINUTE,
    p95Minutes: quantile(delays, 0.95) / MINUTE,
    requests: byHour.reduce((sum, requests) => sum + requests, 0),
    silentHours: byHour.filter((requests) => requests === 0).length,
    byHour,
  };
}
