import { MirrorError } from '../core/errors.ts';
import { type ListAge, readAges } from '../query/reads/ages.ts';
import { findRelations, newestChange, readRelation, type Relation } from '../query/reads/relation.ts';
import { AT_ONCE, type Cell, type QueryResult, type ReadOnlyMirror } from '../query/result.ts';
import { type FileColumn, fileColumns } from './columns.ts';
import { type EncoderOptions, type Format, openEncoder } from './encoder.ts';
import {
  abandon,
  asOutput,
  fileName,
  finish,
  makeFolder,
  type NamedFile,
  openPartial,
  type PartialFile,
  refuseExisting,
} from './folder/files.ts';

export interface ExportOptions extends EncoderOptions {
  readonly tables: readonly string[];
  readonly format: Format;
  readonly folder: string;
  /** Only changes after this id; null: all. */
  readonly sinceId: number | null;
  /** Replaces files of the same names, and files whose changes it has too. */
  readonly force: boolean;
  /** The program's version. */
  readonly version: string;
  /** Epoch ms. */
  readonly now: number;
  /** Called after each batch of rows. */
  readonly onRows: (table: string, rows: number) => void;
}

/** The temporary names of an export's files, and names that it may or may not take. */
export interface FileNames {
  /** How the temporary names end. */
  readonly ending: string;
  /** The names of files that a killed export left, which may be replaced. */
  readonly left: readonly string[];
  /** The names of files whose changes the export has too. Only `force` replaces them. */
  readonly covered: readonly string[];
}

/** A table to write: its file, and its range if it is a feed of changes. */
interface Job {
  readonly relation: Relation;
  readonly file: string;
  readonly after: number | null;
}

/** The result of an export. Its files are complete, but still have their temporary names. */
export interface Written {
  /** The newest change of the mirror. */
  readonly newest: { readonly id: number; readonly epoch: string | null };
  readonly lists: readonly ListAge[];
  readonly tables: readonly WrittenTable[];
  readonly files: readonly NamedFile[];
}

/** A table in a file. `after`: its changes begin after this id; null: it has none. */
interface WrittenTable {
  readonly file: string;
  readonly table: string;
  readonly format: Format;
  readonly rows: number;
  readonly bytes: number;
  readonly columns: FileColumn[];
  readonly after: number | null;
}

/**
 * Writes tables and views to files under temporary names, which stay if it throws. All are as the mirror is
 * at one moment. A thread runs it: it imports no large module.
 */
export async function writeFiles(
  mirror: ReadOnlyMirror,
  options: ExportOptions,
  { ending, left, covered }: FileNames,
): Promise<Written> {
  const { folder, force } = options;
  await mirror.holdStill();
  const newest = await newestChange(mirror);
  const lists = await readAges(mirror);
  const jobs = await jobsOf(mirror, options);
  if (!force) refuseExisting(folder, [...jobs.map(({ file }) => file), ...covered], left);
  await makeFolder(folder);
  const tables: WrittenTable[] = [];
  const partial: PartialFile[] = [];
  try {
    for (const job of jobs) {
      if (options.sinceId !== null && job.after !== null && newest.id <= job.after) continue;
      const file = await openPartial(folder, job.file, ending);
      partial.push(file);
      tables.push(await writeTable(mirror, job, { file, upTo: newest.id, options }));
    }
    return { newest, lists, tables, files: await finish(partial) };
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
    return { relation, after, file: fileName(relation.name, after === null ? null : sinceId, format) };
  });
}

/** True for `changes` and the views of its rows. */
function isFeed({ columns }: Relation): boolean {
  const kinds = new Map(columns.map(({ name, kind }) => [name, kind]));
  return kinds.get('id') === 'integer' && kinds.has('old_value') && kinds.has('new_value');
}

interface Writing {
  readonly file: PartialFile;
  /** The id of the newest change. */
  readonly upTo: number;
  readonly options: ExportOptions;
}

async function writeTable(
  mirror: ReadOnlyMirror,
  { relation, after, file: name }: Job,
  { file, upTo, options: { format, raw, onRows } }: Writing,
): Promise<WrittenTable> {
  const range = after === null ? null : { after, upTo };
  const { rows } = await readRelation(mirror, relation, range);
  const batches = batchesOf(rows);
  try {
    const first = (await batches.next()).value ?? [];
    const columns = fileColumns(relation.columns, first);
    const encoder = await openEncoder(format, file.handle, { table: relation.name, columns, raw });
    let count = 0;
    const add = async (batch: readonly Cell[][]): Promise<void> => {
      for (const row of batch) {
        const wait = encoder.add(row);
        if (wait !== null) await wait;
      }
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
        after,
      };
    });
  } finally {
    // A statement that still has rows keeps the mirror from closing.
    await batches.return(undefined);
  }
}

async function* batchesOf(rows: QueryResult['rows']): AsyncGenerator<Cell[][], undefined> {
  let batch: Cell[][] = [];
  const isFull = (row: Cell[]): boolean => batch.push(row) >= AT_ONCE.rows;
  const taken = (): Cell[][] => {
    const full = batch;
    batch = [];
    return full;
  };
  // Rows that need no waiting come without a promise each.
  if (Symbol.iterator in rows) {
    for (const row of rows) if (isFull(row)) yield taken();
  } else {
    for await (const row of rows) if (isFull(row)) yield taken();
  }
  if (batch.length > 0) yield batch;
}
