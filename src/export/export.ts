import { cursorText } from '../mirror/mirror.ts';
import { MirrorError } from '../core/errors.ts';
import { readAges } from '../query/reads/ages.ts';
import { findRelations, newestChange, readRelation, type Relation } from '../query/reads/relation.ts';
import { AT_ONCE, type Cell, type QueryResult, type ReadOnlyMirror } from '../query/result.ts';
import { fileColumns } from './columns.ts';
import { type Format, openEncoder } from './encoder.ts';
import {
  abandon,
  asOutput,
  finish,
  makeFolder,
  type NamedFile,
  openPartial,
  type PartialFile,
  publish,
  refuseExisting,
  removePartial,
} from './files.ts';
import { type ExportedFile, type ExportRun, readManifest, withRun, writeManifest } from './manifest.ts';

export interface ExportOptions {
  readonly tables: readonly string[];
  readonly format: Format;
  readonly folder: string;
  /** Only changes after this id; null: all. */
  readonly sinceId: number | null;
  /** Replaces files of the same names. */
  readonly force: boolean;
  /** CSV without the apostrophe before cells that a spreadsheet would run. */
  readonly raw: boolean;
  /** The program's version. */
  readonly version: string;
  /** Epoch ms. */
  readonly now: number;
  /** Called after each batch of rows. */
  readonly onRows: (table: string, rows: number) => void;
}

/** A table to write: its file, and its range if it is a feed of changes. */
interface Job {
  readonly relation: Relation;
  readonly file: string;
  readonly after: number | null;
}

/** Complete files, which have temporary names still. */
export interface Written {
  readonly run: ExportRun;
  readonly files: readonly NamedFile[];
}

/**
 * Writes tables and views to files, all as the mirror is at one moment. Either all files take their names, or
 * none does; the manifest follows them.
 * @throws MirrorError `USAGE` for an unknown table or an existing file, `OUTPUT` if a file cannot be written
 */
export async function exportTables(mirror: ReadOnlyMirror, options: ExportOptions): Promise<ExportRun> {
  return await exportBy(() => writeFiles(mirror, options), options);
}

/** An export whose files `write` makes. If it fails, no file is left under a temporary name. */
export async function exportBy(
  write: () => Promise<Written>,
  { folder }: Pick<ExportOptions, 'folder'>,
): Promise<ExportRun> {
  const manifest = await readManifest(folder);
  const run = await whole(folder, write);
  if (run.files.length > 0) await writeManifest(folder, withRun(manifest, run));
  return run;
}

async function whole(folder: string, write: () => Promise<Written>): Promise<ExportRun> {
  try {
    const { run, files } = await write();
    await publish(files);
    return run;
  } catch (error) {
    await removePartial(folder);
    throw error;
  }
}

/** Writes tables and views to files under temporary names, which stay if it throws. */
export async function writeFiles(mirror: ReadOnlyMirror, options: ExportOptions): Promise<Written> {
  const { folder, force, now, version } = options;
  await mirror.holdStill();
  const newest = await newestChange(mirror);
  const lists = await readAges(mirror);
  const jobs = await jobsOf(mirror, options);
  if (!force)
    refuseExisting(
      folder,
      jobs.map(({ file }) => file),
    );
  await makeFolder(folder);
  const files: ExportedFile[] = [];
  const partial: PartialFile[] = [];
  try {
    for (const job of jobs) {
      if (job.after !== null && job.after > 0 && newest.id <= job.after) continue;
      const file = await openPartial(folder, job.file);
      partial.push(file);
      files.push(await writeTable(mirror, job, { file, newest, options }));
    }
    const run = {
      exported_at: new Date(now).toISOString(),
      program: `inbox-mirror ${version}`,
      newest_change_id: newest.id,
      newest_change: cursorText(newest),
      lists,
      files,
    };
    return { run, files: await finish(partial) };
  } catch (error) {
    await abandon(partial);
    throw error;
  }
}

/** @throws MirrorError `USAGE` for an unknown table, or `--since-id` without a table of changes */
async function jobsOf(mirror: ReadOnlyMirror, { tables, format, sinceId }: ExportOptions): Promise<Job[]> {
  const relations = await findRelations(mirror, [...new Set(tables)]);
  if (sinceId !== null && !relations.some(isFeed))
    throw new MirrorError(
      'USAGE',
      `--since-id: ${tables.join(', ')} has no ids of changes. Export "changes" or a view of it, such as ` +
        '"conversation_changes", or leave the option out.',
    );
  return relations.map((relation) => {
    const after = isFeed(relation) ? (sinceId ?? 0) : null;
    const suffix = after === null || after === 0 ? '' : `-after-${after}`;
    return { relation, after, file: `${encodeURIComponent(relation.name)}${suffix}.${format}` };
  });
}

/** True for `changes` and the views of its rows. */
function isFeed({ columns }: Relation): boolean {
  const kinds = new Map(columns.map(({ name, kind }) => [name, kind]));
  return kinds.get('id') === 'integer' && kinds.has('old_value') && kinds.has('new_value');
}

interface Writing {
  readonly file: PartialFile;
  readonly newest: { readonly id: number; readonly epoch: string | null };
  readonly options: ExportOptions;
}

async function writeTable(
  mirror: ReadOnlyMirror,
  { relation, after, file: name }: Job,
  { file, newest, options: { format, raw, onRows } }: Writing,
): Promise<ExportedFile> {
  const range = after === null ? null : { after, upTo: newest.id };
  const { rows } = await readRelation(mirror, relation, range);
  const batches = batchesOf(rows);
  try {
    const first = (await batches.next()).value ?? [];
    const columns = fileColumns(relation.columns, first);
    const encoder = await openEncoder(format, file.handle, { table: relation.name, columns, raw });
    let count = 0;
    const add = async (batch: readonly Cell[][]): Promise<void> => {
      for (const row of batch) await encoder.add(row);
      count += batch.length;
      onRows(relation.name, count);
    };
    return await asOutput(`The file ${file.path} cannot be written`, async () => {
      await add(first);
      for await (const batch of batches) await add(batch);
      await encoder.end();
      const { size } = await file.handle.stat();
      return {
        file: name,
        table: relation.name,
        format,
        rows: count,
        bytes: size,
        columns: columns.map((column) => ({ ...column })),
        changes: after === null ? null : { after, up_to: cursorText(newest) },
      };
    });
  } finally {
    // A statement that still has rows keeps the mirror from closing.
    await batches.return(undefined);
  }
}

async function* batchesOf(rows: QueryResult['rows']): AsyncGenerator<Cell[][], undefined> {
  let batch: Cell[][] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < AT_ONCE.rows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
