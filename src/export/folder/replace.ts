import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import {
  isFileOf,
  type NamedFile,
  namedFile,
  newEnding,
  publish,
  removeFiles,
  removePartial,
  sizeOf,
} from './files.ts';
import { withFolderLock } from './lock.ts';
import { type ExportRun, listedNames, type Manifest, readManifest, writeManifest } from './manifest.ts';
import { coveredBy, rangesOf } from './overlap.ts';

/** An export whose files are complete, under temporary names that end in `ending`. */
export interface Publication {
  readonly run: ExportRun;
  readonly files: readonly NamedFile[];
  readonly ending: string;
}

/**
 * Gives an export's files their names, removes the files that they replace, and adds the export to the
 * manifest. If it replaces files, the manifest names it as unfinished before the first one changes: after a
 * kill, {@link completeUnfinished} completes it. The caller has the folder's lock.
 * @throws MirrorError `OUTPUT`
 */
export async function publishRun(
  folder: string,
  before: Manifest,
  { run, files, ending }: Publication,
): Promise<void> {
  const listed = listedNames(before);
  const replaces = run.removed.length > 0 || run.files.some(({ file }) => listed.has(file));
  // A disk without room for the manifests must leave all files as they were.
  const after = await writeManifest(folder, withRun(before, run), ending);
  const begun = replaces
    ? [await writeManifest(folder, { ...before, unfinished: { ending, run } }, `-begun${ending}`)]
    : [];
  await publish([...begun, ...files]);
  await removeFiles(folder, run.removed);
  await publish([after]);
}

/**
 * The folder's manifest. If an export was killed while it replaced files, that export is completed first.
 * @throws MirrorError like `readManifest`, `OUTPUT`
 */
export async function currentManifest(folder: string): Promise<Manifest> {
  const found = await readManifest(folder);
  if (found.unfinished === undefined) return found;
  const ending = newEnding();
  try {
    return await withFolderLock(folder, () => completeUnfinished(folder, ending));
  } catch (error) {
    await removePartial(folder, ending);
    throw error;
  }
}

/**
 * The manifest as {@link currentManifest} gives it, for a caller that has the folder's lock. `ending` ends
 * the manifest's temporary name.
 * @throws MirrorError like `readManifest`, `OUTPUT`
 */
export async function completeUnfinished(folder: string, ending: string): Promise<Manifest> {
  const { unfinished, ...before } = await readManifest(folder);
  if (unfinished === undefined) return before;
  const { run } = unfinished;
  const files = run.files.map(({ file }) => namedFile(folder, file, unfinished.ending));
  await publish(files.filter(({ path }) => existsSync(path)));
  // A person may have deleted the temporary files: the earlier files then stay.
  const isWhole = run.files.every(({ file, bytes }) => sizeOf(folder, file) === bytes);
  if (isWhole) await removeFiles(folder, run.removed);
  const manifest = isWhole ? withRun(before, run) : before;
  await publish([await writeManifest(folder, manifest, ending)]);
  await removePartial(folder, unfinished.ending);
  return manifest;
}

/** The manifest with one export more. The files that it replaces leave the earlier exports. */
function withRun(before: Manifest, run: ExportRun): Manifest {
  const replaced = new Set([...run.files.map(({ file }) => file), ...coveredBy(before, rangesOf(run.files))]);
  const earlier = before.exports
    .map((one) => ({ ...one, files: one.files.filter(({ file }) => !replaced.has(file)) }))
    .filter(({ files }) => files.length > 0);
  const cursor = run.files.find(({ table }) => table === 'changes')?.changes?.up_to ?? before.changes_up_to;
  return { changes_up_to: cursor, exports: [...earlier, run] };
}

/** The files of the export's changes that the folder has, but not its manifest. */
export async function unlistedFiles(folder: string, { files }: ExportRun): Promise<string[]> {
  const ranges = rangesOf(files);
  if (ranges.length === 0) return [];
  return await withFolderLock(folder, async () => {
    const listed = listedNames(await readManifest(folder));
    const names = (await readdir(folder)).filter(
      (name) => !listed.has(name) && ranges.some(({ table, format }) => isFileOf(name, table, format)),
    );
    return names.toSorted();
  });
}
