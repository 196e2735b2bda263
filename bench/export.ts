/**
 * `npm run build && node bench/export.ts`: the time and memory of the published `inbox-mirror export` for a
 * million rows. See README.md.
 */
import { fork } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import SqliteDatabase from 'better-sqlite3';
import type { runProgram } from '../src/cli/program.ts';
import { aligned, show } from './figures.ts';
import { type Measured, startMeter } from './meter.ts';

/** At most 20 s and 200 MB for a million rows. */
const AIM = { rows: 1_000_000, seconds: 20, megabytes: 200 } as const;
const TABLES = ['conversations', 'changes'] as const;
const FORMATS = ['parquet', 'csv', 'ndjson'] as const;

/** The build: to run the sources, Node needs 40 MB for the types alone. */
const PROGRAM = join(import.meta.dirname, '../dist/cli/program.js');
const MEMORY = join(import.meta.dirname, '../bin/memory.cjs');

/** The work of a child process: it builds the mirror, or exports one table. */
type Task = { readonly build: number } | { readonly table: string; readonly format: string };

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    task: { type: 'string' },
    folder: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
if (values.task === undefined) await report(Number(values.rows));
else process.send?.(await perform(JSON.parse(values.task) as Task, values.folder ?? ''));

/** Runs each task in a process of its own, so that time and peak memory are those of the command. */
async function report(rows: number): Promise<void> {
  if (!existsSync(PROGRAM)) throw new Error(`There is no build at ${PROGRAM}. Run \`npm run build\` first.`);
  const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-export-'));
  try {
    process.stderr.write(`building a mirror with ${rows} conversations and as many changes …\n`);
    await run({ build: rows }, folder);
    const results = [];
    for (const table of TABLES)
      for (const format of FORMATS) {
        const { wallMs, cpuMs, peakRssMb } = await run({ table, format }, folder);
        const { size } = statSync(join(folder, 'out', `${table}.${format}`));
        results.push({ table, format, seconds: wallMs / 1000, cpuSeconds: cpuMs / 1000, peakRssMb, size });
      }
    const lines = results.map(({ table, format, seconds, cpuSeconds, peakRssMb, size }) => [
      `${table}, ${format}`,
      ...[seconds, cpuSeconds, peakRssMb, size / 1e6].map(show),
    ]);
    const title = [`${rows} rows`, 'seconds', 'CPU s', 'peak MB', 'file MB'];
    const isMet = results.every((one) => one.seconds <= AIM.seconds && one.peakRssMb <= AIM.megabytes);
    const verdict = rows < AIM.rows ? 'no verdict' : isMet ? 'met' : 'NOT MET';
    const aim = `aim: ${AIM.seconds} s and ${AIM.megabytes} MB for a million rows`;
    process.stdout.write(
      values.json
        ? `${JSON.stringify(results, null, 2)}\n`
        : `${aligned([title, ...lines])}\n\n${verdict}  ${aim}\n`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run(task: Task, folder: string): Promise<Measured> {
  const child = fork(import.meta.filename, ['--task', JSON.stringify(task), '--folder', folder], {
    execArgv: ['--require', MEMORY],
  });
  return await new Promise((resolve, reject) => {
    child.once('message', (measured) => resolve(measured as Measured));
    child.once('exit', (code) => reject(new Error(`${JSON.stringify(task)} ended with ${code}`)));
  });
}

async function perform(task: Task, folder: string): Promise<Measured> {
  const file = join(folder, 'mirror.db');
  const stop = startMeter();
  if ('build' in task) {
    const { openDatabase } = await import('../src/database/open.ts');
    await (await openDatabase(`file:${file}`)).close();
    invent(file, task.build);
    return stop();
  }
  const { signal } = new AbortController();
  const program = (await import(PROGRAM)) as { runProgram: typeof runProgram };
  const io = {
    env: { DATABASE_URL: `file:${file}` },
    cwd: folder,
    stdout: process.stderr,
    stderr: process.stderr,
    signal,
  };
  const code = await program.runProgram(
    ['export', task.table, '--format', task.format, '--out', 'out'],
    io,
    'bench',
  );
  if (code !== 0) throw new Error(`export ended with ${code}`);
  return stop();
}

/** Conversations as the service sends them, 400 characters of JSON each, and one change of each. */
function invent(file: string, rows: number): void {
  const database = new SqliteDatabase(file);
  database.pragma('synchronous = OFF');
  const numbers = `WITH RECURSIVE numbers(n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})`;
  const instant = `strftime('%Y-%m-%dT%H:%M:%f+00:00', 1700000000 + n, 'unixepoch')`;
  database.exec(`${numbers} INSERT INTO conversations SELECT CAST(20000 + n % 20 AS TEXT),
    CAST(41000000 + n AS TEXT), CASE n % 3 WHEN 0 THEN 'open' ELSE 'closed' END, 'user',
    CAST(310000 + n % 50 AS TEXT), lower(hex(randomblob(8))), ${instant},
    'https://mail.example.com/u/0/#inbox/20117/conversation/' || n,
    json_object('id', CAST(41000000 + n AS TEXT), 'status', 'open', 'tag_ids', json_array('7375', '7414'),
      'gmail_thread_id', lower(hex(randomblob(8))), 'subject', 'Re: ' || hex(randomblob(30)),
      'permalink', 'https://mail.example.com/u/0/#inbox/20117/conversation/' || n,
      'assignee', json_object('assignee_type', 'user', 'assignee_id', CAST(310000 + n % 50 AS TEXT)),
      'note', hex(randomblob(50))), hex(randomblob(11)), ${instant}, ${instant}, NULL, NULL FROM numbers`);
  database.exec(`${numbers} INSERT INTO changes (id, observed_at, previously_seen_at, list, inbox_id, item_id, field,
      old_value, new_value, sweep_id) SELECT n, ${instant}, ${instant}, 'conversations',
    CAST(20000 + n % 20 AS TEXT), CAST(41000000 + n AS TEXT), 'status', 'open', 'closed', 1 FROM numbers`);
  database.close();
}
