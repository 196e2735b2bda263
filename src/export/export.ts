import { cursorText } from '../mirror/mirror.ts';
import { openReadOnly, sqliteFile } from '../query/open.ts';
import type { ReadOnlyMirror } from '../query/result.ts';
import { newEnding, publish, refuseExisting, removePartial } from './folder/files.ts';
import { type ExportRun, filesLeft, readManifest, withRun, writeManifest } from './folder/manifest.ts';
import { writeInThread } from './thread.ts';
import { inTurn } from './folder/turn.ts';
import { type ExportOptions, type FileNames, writeFiles, type Written } from './write.ts';

/**
 * Writes tables and views to files, all as the mirror is at one moment. Either all files take their names, or
 * none does, the manifest last.
 * @throws MirrorError `USAGE` for an unknown table or an existing file, `OUTPUT` if a file cannot be written
 */
export async function exportTables(mirror: ReadOnlyMirror, options: ExportOptions): Promise<ExportRun> {
  return await exportBy((names) => writeFiles(mirror, options, names), options);
}

/** Exports like `exportTables` from a database. `signal` stops it at any moment; no file then has changed. */
export async function exportMirror(
  url: string,
  options: ExportOptions,
  signal: AbortSignal,
): Promise<ExportRun> {
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
  { folder, force, now, version }: Pick<ExportOptions, 'folder' | 'force' | 'now' | 'version'>,
): Promise<ExportRun> {
  const ending = newEnding();
  const left = await filesLeft(folder, await readManifest(folder));
  try {
    const written = await write({ ending, left });
    const run = runOf(written, { now, version });
    if (run.files.length > 0)
      await inTurn(folder, async () => {
        // Another export into the folder may have ended meanwhile.
        const before = await readManifest(folder);
        const names = run.files.map(({ file }) => file);
        if (!force) refuseExisting(folder, names, await filesLeft(folder, before));
        const manifest = await writeManifest(folder, withRun(before, run), ending);
        await publish([...written.files, manifest]);
      });
    return run;
  } catch (error) {
    await removePartial(folder, ending);
    throw error;
  }
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
  };
}
