import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Rows } from './lanes.ts';
import type { Copy } from './peer.ts';

/** A conversation in a peer's copy. */
export interface Row {
  readonly inbox_id: string;
  readonly id: string;
  readonly status: string;
  readonly assignee_id: string | null;
  /** Separated by commas. */
  readonly tag_ids: string | null;
}

/** Reads `copy.db` of a folder with a query for rows of that form. */
export function readSqlite(folder: string, sql: string): Copy {
  const file = join(folder, 'copy.db');
  if (!existsSync(file)) return copyOf([]);
  const database = new Database(file, { readonly: true, timeout: 1000 });
  try {
    return copyOf(database.prepare<[], Row>(sql).all());
  } catch (error) {
    // A run that begins makes its tables after its file.
    if (String(error).includes('no such table')) return copyOf([]);
    throw error;
  } finally {
    database.close();
  }
}

/** Reads files of JSON lines, oldest first; `rowOf` returns null for a line that is no conversation. */
export function readLines(folder: string, pattern: string, rowOf: (line: unknown) => Row | null): Copy {
  const files = globSync(pattern, { cwd: folder }).toSorted();
  const texts = files.flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
  const rows = texts.filter(isWhole).map((text) => rowOf(JSON.parse(text) as unknown));
  return copyOf(rows.filter((row) => row !== null));
}

/** A killed or running process leaves a line without its end. */
function isWhole(text: string): boolean {
  return text.startsWith('{') && text.endsWith('}');
}

/** The last of several rows with one key counts. */
function copyOf(list: readonly Row[]): Copy {
  const rows: Rows = {};
  for (const { inbox_id: inboxId, id, status, assignee_id: assignee, tag_ids: tags } of list)
    rows[`${inboxId}/${id}`] = [status, assignee ?? '', ...textsOf(tags)].join(' ');
  return { rows, doubled: list.length - Object.keys(rows).length };
}

function textsOf(tags: string | null): string[] {
  return tags === null || tags === '' ? [] : tags.split(',').toSorted();
}
