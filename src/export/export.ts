import { cursorText } from '../mirror/mirror.ts';
import type { ReadOnlyMirror } from '../query/result.ts';
import { publish, removePartial } from './files.ts';
import { type ExportRun, readManifest, withRun, writeManifest } from './manifest.ts';
import { type ExportOptions, writeFiles, type Written } from './write.ts';

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
  { folder, now, version }: Pick<ExportOptions, 'folder' | 'now' | 'version'>,
): Promise<ExportRun> {
  const manifest = await readManifest(folder);
  const { newest, lists, tables } = await whole(folder, write);
  const cursor = cursorText(newest);
  const run: ExportRun = {
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
  if (run.files.length > 0) await writeManifest(folder, withRun(manifest, run));
  return run;
}

async function whole(folder: string, write: () => Promise<Written>): Promise<Written> {
  try {
    const written = await write();
    await publish(written.files);
    return written;
  } catch (error) {
    await removePartial(folder);
    throw error;
  }
}
