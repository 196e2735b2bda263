/**
 * How long the views take on a large mirror:
 *   node bench/views.ts [--conversations 1000000] [--file PATH] [--runs 3] [--plans] [--json]
 * `--file` keeps the mirror, and uses the one that lies there.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import SqliteDatabase from 'better-sqlite3';
import { VIEW_NAMES } from '../src/store/catalogue.ts';
import { openDatabase } from '../src/store/database.ts';
import { aligned, median, show } from './figures.ts';
import { buildMirror } from './views-mirror.ts';

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

const { values } = parseArgs({
  options: {
    conversations: { type: 'string', default: '1000000' },
    file: { type: 'string' },
    runs: { type: 'string', default: '3' },
    plans: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-views-'));
const file = values.file ?? join(folder, 'mirror.db');
try {
  if (!existsSync(file)) {
    const began = performance.now();
    await buildMirror(file, Number(values.conversations), Date.now());
    console.error(`made ${file} in ${show((performance.now() - began) / 1000)} s`);
  }
  // A kept one may have the views of an earlier day.
  await (await openDatabase(`file:${file}`)).close();
  const database = new SqliteDatabase(file, { readonly: true });
  const results = VIEW_NAMES.map((view) => measure(database, view, Number(values.runs)));
  const one = database
    .prepare<[], { inbox_id: string; id: string }>(`SELECT inbox_id, id FROM conversations LIMIT 1 OFFSET 5000`)
    .get();
  const where = `WHERE inbox_id = '${one?.inbox_id}' AND conversation_id = '${one?.id}'`;
  for (const view of ['status_intervals', 'assignee_intervals', 'time_in_status', 'assignments'])
    results.push(measure(database, `${view} ${where}`, Number(values.runs), `${view}, of one conversation`));
  if (values.json) console.log(JSON.stringify(results, null, 2));
  else
    console.log(
      aligned([
        ['view', 'rows', 'seconds', 'aim'],
        ...results.map(({ view, rows, seconds, aim }) => [
          view,
          String(rows),
          seconds.toFixed(3),
          aim === null ? '' : `< ${aim}`,
        ]),
      ]),
    );
  if (values.plans) for (const { view, plan } of results) console.log(`\n${view}\n  ${plan.join('\n  ')}`);
  database.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

interface Result {
  readonly view: string;
  readonly rows: number;
  readonly seconds: number;
  readonly aim: number | null;
  readonly plan: readonly string[];
}

function countRows(statement: SqliteDatabase.Statement): number {
  let rows = 0;
  const iterator = statement.raw().iterate();
  while (iterator.next().done !== true) rows += 1;
  return rows;
}

function measure(database: SqliteDatabase.Database, from: string, runs: number, view = from): Result {
  const sql = `SELECT * FROM ${from}`;
  const times: number[] = [];
  let rows = 0;
  for (let run = 0; run < runs; run++) {
    const began = performance.now();
    rows = countRows(database.prepare(sql));
    times.push((performance.now() - began) / 1000);
  }
  const plan = database
    .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => detail);
  return { view, rows, seconds: median(times), aim: AIMS[view] ?? null, plan };
}
