import { type Cursor, cursorText } from '../mirror/mirror.ts';
import { openReadOnly, sqliteFile } from '../query/open.ts';
import type { ReadOnlyMirror } from '../query/result.ts';
import { newEnding, refuseExisting, removePartial, sizeOf } from './folder/files.ts';
import { withFolderLock } from './folder/lock.ts';
import { type ExportRun, filesLeft, type Manifest, readManifest } from './folder/manifest.ts';
import {
  coveredBy,
  type Gap,
  gapsBefore,
  type Range,
  rangesOf,
  refuseAmid,
  refuseLost,
  refuseOvertaken,
} from './folder/overlap.ts';
import { completeUnfinished, currentManifest, publishRun, unlistedFiles } from './folder/replace.ts';
import { writeInThread } from './thread.ts';
import { type ExportOptions, type FileNames, writeFiles, type Written } from './write.ts';

/**
 * Writes tables and views to files, all as the mirror is at one moment. Either all files take their names, or
 * none does, the manifest last. Files of earlier exports whose changes are in these files are removed.
 * @throws MirrorError `USAGE` for an unknown table or an existing file, `OUTPUT` if a file cannot be written
 */
export async function exportTables(mirror: ReadOnlyMirror, options: ExportOptions): Promise<ExportRun> {
  return await exportBy((names) => writeFiles(mirror, options, names), options);
}

export interface Exported {
  readonly run: ExportRun;
  /** The files of the export's changes that the folder has, but not its manifest. */
  readonly unlisted: readonly string[];
  readonly gaps: readonly Gap[];
}

/** Exports like `exportTables` from a database. `signal` stops it at any moment; no file then has changed. */
export async function exportMirror(
  url: string,
  options: ExportOptions,
  signal: AbortSignal,
): Promise<Exported> {
  const run = await exportFrom(url, options, signal);
  const { folder } = options;
  const gaps = gapsBefore(await readManifest(folder), run.files);
  return { run, unlisted: await unlistedFiles(folder, run), gaps };
}

/**
 * Refuses an export that would continue files whose changes the mirror has lost. `check` refuses the cursor
 * of another history.
 * @throws MirrorError `USAGE`, or another error of `check`
 */
export async function refuseOtherHistory(
  options: Asked,
  check: (cursor: Cursor) => Promise<void>,
): Promise<void> {
  const { folder } = options;
  await refuseLost(folder, await currentManifest(folder), rangesAsked(options), check);
}

async function exportFrom(url: string, options: ExportOptions, signal: AbortSignal): Promise<ExportRun> {
  const path = sqliteFile(url);
  if (path !== null)
    return await exportBy((names) => writeInThread({ path, options, names }, signal), options);
  const mirror = await openReadOnly(url, signal);
  try {
    return await exportTables(mirror, options);
  } finally {
    await mirror.close();
  }
}

/**
 * An export whose files `write` makes, under temporary names. If it fails, none of them is left.
 */
async function exportBy(
  write: (names: FileNames) => Promise<Written>,
  options: Omit<ExportOptions, 'onRows'>,
): Promise<ExportRun> {
  const { folder, force } = options;
  const ending = newEnding();
  try {
    const { manifest, ...names } = await prepareFolder(options);
    const written = await write({ ending, ...names });
    const run = runOf(written, options);
    if (run.files.length === 0) return run;
    return await withFolderLock(folder, async () => {
      // Another export into the folder may have ended meanwhile.
      const before = await completeUnfinished(folder, ending);
      const files = run.files.map(({ file }) => file);
      const ranges = rangesOf(run.files);
      refuseAmid(folder, before, ranges);
      refuseOvertaken(folder, [manifest, before], { ranges, upTo: run.newest_change_id });
      const covered = coveredBy(before, ranges).filter((name) => !files.includes(name));
      if (!force) refuseExisting(folder, [...files, ...covered], await filesLeft(folder, before));
      const done = { ...run, removed: covered.filter((name) => sizeOf(folder, name) !== null) };
      await publishRun(folder, before, { run: done, files: written.files, ending });
      return done;
    });
  } catch (error) {
    await removePartial(folder, ending);
    throw error;
  }
}

/** The tables to write, which of their changes, and the folder. */
type Asked = Pick<ExportOptions, 'tables' | 'format' | 'folder' | 'sinceId'>;

interface Names extends Omit<FileNames, 'ending'> {
  readonly manifest: Manifest;
}

/**
 * Completes a killed export of the folder, and refuses a range that its files do not allow, before a row is
 * read.
 * @throws MirrorError `USAGE` as at the end
 */
async function prepareFolder(options: Asked): Promise<Names> {
  const { folder } = options;
  const manifest = await currentManifest(folder);
  const ranges = rangesAsked(options);
  refuseAmid(folder, manifest, ranges);
  return { manifest, left: await filesLeft(folder, manifest), covered: coveredBy(manifest, ranges) };
}

function rangesAsked({ tables, format, sinceId }: Asked): Range[] {
  return [...new Set(tables)].map((table) => ({ table, format, after: sinceId ?? 0 }));
}

function runOf(
  { newest, lists, tables }: Written,
  { now, version }: Pick<ExportOptions, 'now' | 'version'>,
): ExportRun {
  const cursor = cursorText(newest);
  return {
    exported_at: new Date(now).toISOString(),
    program: `inbox-mirror ${version}`,
    newest_change_id: newest.id,
    newest_change: cursor,
    lists: [...lists],
    files: tables.map(({ after, ...table }) => ({
      ...table,
      changes: after === null ? null : { after, up_to: cursor },
    })),
    removed: [],
  };
}
