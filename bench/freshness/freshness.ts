/** `npm run bench:freshness`: how far the mirror lies behind the service. See README.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { scheduledCap } from '../../src/core/budget.ts';
import { DAY } from '../../src/core/clock.ts';
import { mean } from '../figures.ts';
import { type Account, ACCOUNTS, START } from './account.ts';
import { boundOf } from './bound.ts';
import { documentOf } from './document.ts';
import { factsOf } from './facts.ts';
import { plotOf } from './plot.ts';
import { SIMULATED, simulate } from './policies.ts';
import { ratesOf } from './rates.ts';
import { meanFacts, PLANNER, type Report, resultOf, textOf } from './report.ts';
import { BUDGET, DAYS_AFTER, measure } from './run.ts';
import type { Outcome } from './staleness.ts';
import { TRACE_DAYS, traceOf } from './trace.ts';

const { values } = parseArgs({
  options: {
    accounts: { type: 'string', default: 'S,M' },
    seeds: { type: 'string', default: '1,2,3' },
    warm: { type: 'string', default: '2' },
    days: { type: 'string', default: '5' },
    conversations: { type: 'string' },
    pages: { type: 'string', default: 'auto' },
    from: { type: 'string' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const wanted = values.accounts.split(',');
const accounts = ACCOUNTS.filter(({ name }) => wanted.includes(name));
if (accounts.length === 0) refuse(`No account is named ${values.accounts}. There are: S, M, L.`);
const seeds = values.seeds.split(',').map(Number);
const [warm, days] = [Number(values.warm), Number(values.days)];
if (![...seeds, warm, days].every(Number.isInteger) || days < 1)
  refuse('--seeds, --warm and --days are whole numbers; at least one day is measured.');
if (warm + days + DAYS_AFTER > TRACE_DAYS)
  refuse(`A trace has ${TRACE_DAYS} days; ${DAYS_AFTER} of them follow the measured ones.`);
const measured = { from: START + warm * DAY, until: START + (warm + days) * DAY };

/** The defaults of `.env.example`, except for the option `--conversations`. */
const schedules = {
  inboxes: '0 * * * *',
  users: '20 */6 * * *',
  tags: '40 */6 * * *',
  conversations: values.conversations ?? (values.pages === 'auto' ? '0 3 * * *' : '*/15 * * * *'),
};

const reports: Report[] = [];
if (values.from === undefined) for (const account of accounts) reports.push(await reportOf(account));
else
  for (const file of values.from.split(','))
    reports.push(...(JSON.parse(readFileSync(file, 'utf8')) as Report[]));

process.stdout.write(values.json ? `${JSON.stringify(reports, null, 2)}\n` : reports.map(textOf).join('\n'));
if (values.write) {
  const folder = join(import.meta.dirname, '../../docs');
  writeFileSync(join(folder, 'freshness.md'), documentOf(reports));
  writeFileSync(join(folder, 'freshness.svg'), plotOf(reports));
}

/** Measures all policies on the same traces. */
async function reportOf(account: Account): Promise<Report> {
  const outcomes = new Map<string, Outcome[]>();
  const add = (policy: string, outcome: Outcome): unknown =>
    outcomes.set(policy, [...(outcomes.get(policy) ?? []), outcome]);
  const [facts, bounds] = [[], []] as [ReturnType<typeof factsOf>[], number[]];
  for (const seed of seeds) {
    const began = performance.now();
    const trace = traceOf(account, seed);
    facts.push(factsOf(trace));
    const rates = ratesOf(trace);
    bounds.push(boundOf(rates, { firstDay: warm, days, budget: scheduledCap(BUDGET) }));
    for (const [name, policy] of Object.entries(SIMULATED))
      add(name, simulate(policy(BUDGET, rates), trace, measured, measured.until + DAYS_AFTER * DAY));
    const readPages = values.pages === 'auto';
    add(PLANNER, await measure({ account, trace, schedules, readPages, measured, seed }));
    const seconds = Math.round((performance.now() - began) / 1000);
    process.stderr.write(`${account.name}, seed ${seed}: ${seconds} s\n`);
  }
  return {
    account,
    seeds,
    warm,
    days,
    facts: meanFacts(facts),
    bound: mean(bounds),
    results: [...outcomes].map(([policy, ofPolicy]) => resultOf(policy, ofPolicy)),
  };
}

function refuse(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
