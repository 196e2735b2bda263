/**
 * Measures how long the views take on a large mirror:
 *   node bench/views.ts [--database sqlite|postgresql] [--conversations 1000000] [--file PATH]
 *     [--runs 3] [--only VIEW,…] [--plans] [--json]
 * `--database postgresql` also measures the same mirror on a private PostgreSQL server. `--file` keeps the
 * mirror, and the server's folder in PATH-postgresql, and reuses them. README.md explains all options.
 */
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DAY } from '../src/core/clock.ts';
import { VIEW_NAMES } from '../src/database/catalogue.ts';
import { iso } from '../src/database/instants.ts';
import { aligned, median, show } from './figures.ts';
import { type QueriedMirror, openPostgresql, openSqlite } from './views-databases.ts';
import { buildMirror } from './views-mirror.ts';

/** Aims in seconds; the other views have none. */
const AIMS: Readonly<Record<string, number>> = {
  freshness: 1,
  budget: 1,
  backlog_now: 1,
  assignee_workload: 1,
  unassigned_age: 1,
  oldest_open: 1,
  tag_volume: 1,
  backlog_daily: 2,
  flow_daily: 2,
  assignee_daily: 2,
  tag_daily: 2,
};

/** The views that are also measured for an inbox of this size, with their aims in seconds. */
const INBOX_SIZE = 50_000;
const OF_INBOX = { conversation_facts: 1, assignments: 1, assignee_daily: 2, tag_daily: 2 };

/** The views that are also measured for one conversation. */
const OF_ONE = [
  'status_intervals',
  'assignee_intervals',
  'time_in_status',
  'assignments',
  'conversation_facts',
];
/** Seconds. */
const AIM_OF_ONE = 0.02;

/** The questions about a state at an instant, each with its view and the column to group by. */
const AS_OF = { status_intervals: 'status', assignee_intervals: 'assignee_id' };
/** The instants of these questions, in days before now. */
const DAYS_AGO = [4, 548];
/** Seconds. */
const AIM_AS_OF = 0.5;

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    conversations: { type: 'string', default: '1000000' },
    file: { type: 'string' },
    runs: { type: 'string', default: '3' },
    only: { type: 'string' },
    plans: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-views-'));
// PostgreSQL does not run as root; it must be able to enter this folder.
chmodSync(folder, 0o755);
const file = values.file ?? join(folder, 'mirror.db');
try {
  if (!existsSync(file))
    await timed(`built ${file}`, () => buildMirror(file, Number(values.conversations), Date.now()));
  const results = [await measure('sqlite', await openSqlite(file))];
  if (values.database === 'postgresql')
    results.push(await measure('postgresql', await timed('started PostgreSQL', () => openPostgresql(file))));
  if (values.json) console.log(JSON.stringify(results.flat(), null, 2));
  else console.log(table(results));
  if (values.plans)
    for (const { database, view, plan } of results.flat())
      console.log(`\n${view} (${database})\n  ${plan.join('\n  ')}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

interface Result {
  readonly database: string;
  readonly view: string;
  readonly rows: number;
  readonly seconds: number;
  readonly aim: number | null;
  readonly plan: readonly string[];
}

async function timed<Value>(label: string, work: () => Promise<Value>): Promise<Value> {
  const began = performance.now();
  const result = await work();
  console.error(`${label} in ${show((performance.now() - began) / 1000)} s`);
  return result;
}

async function measure(database: string, mirror: QueriedMirror): Promise<Result[]> {
  const results: Result[] = [];
  const time = async (view: string, sql: string, aim: number | null): Promise<void> => {
    const times: number[] = [];
    let rows = 0;
    for (let run = 0; run < Number(values.runs); run++) {
      const began = performance.now();
      rows = await mirror.count(sql);
      times.push((performance.now() - began) / 1000);
    }
    results.push({
      database,
      view,
      rows,
      seconds: median(times),
      aim,
      plan: values.plans ? await mirror.plan(sql) : [],
    });
  };
  for (const view of values.only?.split(',').filter((name) => name !== '') ?? VIEW_NAMES)
    await time(view, `SELECT * FROM ${view}`, AIMS[view] ?? null);
  // Compare with literals: SQLite cannot use an index for a subquery here.
  const where = await mirror.oneConversation();
  for (const view of OF_ONE)
    await time(`${view}, of one conversation`, `SELECT * FROM ${view} WHERE ${where}`, AIM_OF_ONE);
  const middle = await mirror.inboxOf(INBOX_SIZE);
  for (const [view, aim] of Object.entries(OF_INBOX))
    await time(`${view}, of one inbox`, `SELECT * FROM ${view} WHERE inbox_id = '${middle}'`, aim);
  const largest = await mirror.inboxOf(Number.MAX_SAFE_INTEGER);
  for (const [view, column] of Object.entries(AS_OF))
    for (const days of DAYS_AGO) {
      const title = `${view}, ${days} days ago`;
      const then = iso(Date.now() - days * DAY);
      const sql = (scope: string): string =>
        `SELECT ${column}, count(*) FROM ${view}
         WHERE ${scope}from_at <= '${then}' AND (to_at IS NULL OR to_at > '${then}') GROUP BY ${column}`;
      await time(`${title}, all inboxes`, sql(''), AIM_AS_OF);
      await time(`${title}, largest inbox`, sql(`inbox_id = '${largest}' AND `), AIM_AS_OF);
    }
  await mirror.close();
  return results;
}

/** A line for each view, a column of seconds for each database. */
function table(results: readonly (readonly Result[])[]): string {
  const [first = []] = results;
  return aligned([
    ['view', 'rows', ...results.map(([one]) => `${one?.database}, s`), 'aim, s'],
    ...first.map(({ view, rows, aim }, nth) => [
      view,
      String(rows),
      ...results.map((ofDatabase) => (ofDatabase[nth]?.seconds ?? Number.NaN).toFixed(3)),
      aim === null ? '' : `< ${aim}`,
    ]),
  ]);
}
