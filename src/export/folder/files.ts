import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, MirrorError } from '../../core/errors.ts';

/** A file under a temporary name, and the name that it will have. */
export interface NamedFile {
  readonly path: string;
  readonly target: string;
}

/** A file that is being written under a temporary name. */
export interface PartialFile extends NamedFile {
  readonly handle: FileHandle;
}

/** Only the owner may read a file, as with the mirror: both hold names and addresses of customers. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** How all temporary names end. */
export const PARTIAL = '.partial';

/** How the temporary names of one export end. Another export into the folder, of any machine, has others. */
export function newEnding(): string {
  return `.${randomUUID()}${PARTIAL}`;
}

/** The name of a table's file. `after`: it has only the changes after this id; null: all rows. */
export function fileName(table: string, after: number | null, format: string): string {
  return `${encodeURIComponent(table)}${after === null ? '' : `-after-${after}`}.${format}`;
}

/** True for the names that {@link fileName} gives the files of a table in a format. */
export function isFileOf(name: string, table: string, format: string): boolean {
  const [, after] = /-after-(\d+)\.[a-z]+$/.exec(name) ?? [];
  return name === fileName(table, after === undefined ? null : Number(after), format);
}

/** The temporary and the own name of a file. */
export function namedFile(folder: string, name: string, ending: string): NamedFile {
  return { path: join(folder, `.${name}${ending}`), target: join(folder, name) };
}

/** The bytes of a file of the folder; null if no file has the name. */
export function sizeOf(folder: string, name: string): number | null {
  const found = lstatSync(join(folder, name), { throwIfNoEntry: false });
  return found === undefined || found.isDirectory() ? null : found.size;
}

/** Makes the folder. @throws MirrorError `OUTPUT` */
export async function makeFolder(folder: string): Promise<void> {
  await asOutput(`The folder ${folder} cannot be made`, async () => {
    if (statSync(folder, { throwIfNoEntry: false })?.isFile() === true)
      throw new MirrorError('OUTPUT', `${folder} is a file. Name a folder with --out.`);
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  });
}

/**
 * @param left names of files that a killed export left, which may be replaced
 * @throws MirrorError `USAGE` if one of the other files exists
 */
export function refuseExisting(folder: string, names: readonly string[], left: readonly string[]): void {
  const existing = [...new Set(names)].filter(
    (name) => !left.includes(name) && existsSync(join(folder, name)),
  );
  if (existing.length === 0) return;
  throw new MirrorError(
    'USAGE',
    `${folder} already has ${existing.join(', ')}. Nothing was written. ` +
      'Add --force to replace what is there, or name another folder with --out.',
  );
}

/**
 * Opens a new file under a temporary name beside its own. It follows no link and takes no file that is there:
 * in a folder that others may write to, it may be theirs.
 * @throws MirrorError `OUTPUT`
 */
export async function openPartial(folder: string, name: string, ending: string): Promise<PartialFile> {
  const { path, target } = namedFile(folder, name, ending);
  const handle = await asOutput(`The file ${path} cannot be made`, () => open(path, 'wx', FILE_MODE));
  return { handle, path, target };
}

/** Writes complete files to the disk, and closes them. @throws MirrorError `OUTPUT` */
export async function finish(files: readonly PartialFile[]): Promise<NamedFile[]> {
  for (const { handle, path } of files)
    await asOutput(`The file ${path} cannot be written to the disk`, async () => {
      await handle.sync();
      await handle.close();
    });
  return files.map(({ path, target }) => ({ path, target }));
}

/** Gives files that are on the disk their own names, if all can have them. @throws MirrorError `OUTPUT` */
export async function publish(files: readonly NamedFile[]): Promise<void> {
  const folder = files.find(({ target }) => lstatSync(target, { throwIfNoEntry: false })?.isDirectory());
  if (folder !== undefined)
    throw new MirrorError(
      'OUTPUT',
      `The file ${folder.target} cannot be written: a folder has its name. ` +
        'Move it away, or name another folder with --out.',
    );
  for (const { path, target } of files)
    await asOutput(`The file ${target} cannot be written`, () => rename(path, target));
}

/** Removes files of the folder; those that are gone count as removed. @throws MirrorError `OUTPUT` */
export async function removeFiles(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const path = join(folder, name);
    await asOutput(`The file ${path} cannot be removed`, () => rm(path, { force: true }));
  }
}

/** Closes files that are not completed. */
export async function abandon(files: readonly PartialFile[]): Promise<void> {
  for (const { handle } of files) await handle.close().catch(() => undefined);
}

/** Removes the files of a folder that an export has not completed. */
export async function removePartial(folder: string, ending: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (name.endsWith(ending)) await rm(join(folder, name), { force: true });
}

/** Runs `work`. @throws MirrorError `OUTPUT` for an error of the file system */
export async function asOutput<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new MirrorError(
      'OUTPUT',
      `${what}: ${messageOf(error)}. Make room or correct its rights, or name another folder with --out.`,
      { cause: error },
    );
  }
}
