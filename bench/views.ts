import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { VIEW_NAMES } from '../src/database/catalogue.ts';
import { aligned, median, show } from './figures.ts';
import { type Asked, openPostgresql, openSqlite } from './views-databases.ts';
import { buildMirror } from './views-mirror.ts';

/**
 * How long the views take on a large mirror:
 *   node bench/views.ts [--database sqlite|postgresql] [--conversations 1000000] [--file PATH] [--runs 3] [--only VIEW,…]
 *     [--plans] [--json]
 * `--database postgresql` measures the same mirror on a PostgreSQL server of its own as well. `--file` keeps the mirror (the server's beside it, in
 * PATH-postgresql), and uses the one that lies there.
 */
/** Seconds, by the kind of view (issue 4); the others have no aim. */
const AIMS: Readonly<Record<string, number>> = {
  freshness: 1,
  budget: 1,
  backlog_now: 1,
  assignee_workload: 1,
  unassigned_age: 1,
  tag_volume: 1,
  backlog_daily: 5,
  flow_daily: 5,
};

/** The views that a question asks for one conversation. */
const OF_ONE = ['status_intervals', 'assignee_intervals', 'time_in_status', 'assignments'];
const AIM_OF_ONE = 0.02;

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
// PostgreSQL's server, which does not run as root, must get through to its files.
chmodSync(folder, 0o755);
const file = values.file ?? join(folder, 'mirror.db');
try {
  if (!existsSync(file))
    await timed(`made ${file}`, () => buildMirror(file, Number(values.conversations), Date.now()));
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

async function timed<Made>(what: string, work: () => Promise<Made>): Promise<Made> {
  const began = performance.now();
  const made = await work();
  console.error(`${what} in ${show((performance.now() - began) / 1000)} s`);
  return made;
}

async function measure(database: string, asked: Asked): Promise<Result[]> {
  const results: Result[] = [];
  const ask = async (view: string, sql: string, aim: number | null): Promise<void> => {
    const times: number[] = [];
    let rows = 0;
    for (let run = 0; run < Number(values.runs); run++) {
      const began = performance.now();
      rows = await asked.count(sql);
      times.push((performance.now() - began) / 1000);
    }
    results.push({
      database,
      view,
      rows,
      seconds: median(times),
      aim,
      plan: values.plans ? await asked.plan(sql) : [],
    });
  };
  for (const view of values.only?.split(',') ?? VIEW_NAMES)
    await ask(view, `SELECT * FROM ${view}`, AIMS[view] ?? null);
  // As literals: SQLite hands no subquery down to an index.
  const where = await asked.oneConversation();
  for (const view of OF_ONE)
    await ask(`${view}, of one conversation`, `SELECT * FROM ${view} WHERE ${where}`, AIM_OF_ONE);
  await asked.close();
  return results;
}

/** One line a view, one column of seconds a database. */
function table(results: readonly (readonly Result[])[]): string {
  const [first = []] = results;
  return aligned([
    ['view', 'rows', ...results.map(([one]) => `${one?.database}, s`), 'aim, s'],
    ...first.map(({ view, rows, aim }, nth) => [
      view,
      String(rows),
      ...results.map((those) => (those[nth]?.seconds ?? Number.NaN).toFixed(3)),
      aim === null ? '' : `< ${aim}`,
    ]),
  ]);
}
