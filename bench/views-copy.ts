import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { openDatabase } from '../src/database/open.ts';
import { dropViews, ensureViews } from '../src/database/views/views.ts';

/** The tables that the views read. */
const TABLES = [
  'inboxes',
  'inbox_users',
  'inbox_tags',
  'conversations',
  'conversation_tags',
  'changes',
  'status_spans',
  'assignee_spans',
  'tag_spans',
  'sweeps',
  'requests',
  'schedules',
  'schedule_slots',
  'settings',
  'report_days',
  'report_offsets',
  'office_hours',
];

/** Lines of CSV in one write. */
const LINES_AT_ONCE = 2000;

/**
 * Copies a mirror from a SQLite file into a new one on a PostgreSQL server of this machine. Then runs VACUUM
 * and ANALYZE, as autovacuum would.
 */
export async function copyMirror(file: string, url: string): Promise<void> {
  const from = new SqliteDatabase(file, { readonly: true });
  const to = await openDatabase(url);
  const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-copy-'));
  chmodSync(folder, 0o755);
  await dropViews(to);
  // Creating the views creates their indexes again, which is faster than to update them during the copy.
  await to.execute(`DROP INDEX changes_life, changes_moves, conversations_unsettled`);
  for (const table of TABLES) {
    const csv = join(folder, `${table}.csv`);
    const statement = from.prepare<[], (string | number | null)[]>(
      `SELECT * FROM ${table}${table === 'settings' ? ` WHERE name <> 'views'` : ''}`,
    );
    const names = statement.columns().map(({ name }) => `"${name}"`);
    writeCsv(csv, statement.raw().iterate());
    await to.execute(`COPY ${table} (${names.join(', ')}) FROM '${csv}' (FORMAT csv)`);
    rmSync(csv);
  }
  from.close();
  rmSync(folder, { recursive: true });
  await ensureViews(to);
  await to.execute(`VACUUM (ANALYZE)`);
  await to.close();
}

/** Writes null as an empty cell and everything else in quotes, so that COPY tells null from empty text. */
function writeCsv(path: string, rows: Iterable<(string | number | null)[]>): void {
  const file = openSync(path, 'w', 0o644);
  let lines: string[] = [];
  const flush = (): void => {
    writeSync(file, lines.join(''));
    lines = [];
  };
  for (const row of rows) {
    const cells = row.map((cell) => (cell === null ? '' : `"${String(cell).replaceAll('"', '""')}"`));
    if (lines.push(`${cells.join(',')}\n`) === LINES_AT_ONCE) flush();
  }
  flush();
  closeSync(file);
}
