import { isMirrorError, MirrorError } from '../../core/errors.ts';
import { type Cursor, readCursor } from '../../mirror/mirror.ts';
import { sizeOf } from './files.ts';
import type { ExportedFile, Manifest } from './manifest.ts';

/** All changes after an id: of `changes` or a view of its rows, in one format. */
export interface Range {
  readonly table: string;
  readonly format: string;
  readonly after: number;
}

interface ChangesFile extends ExportedFile {
  readonly changes: NonNullable<ExportedFile['changes']>;
}

/** The ranges of the changes in these files. */
export function rangesOf(files: readonly ExportedFile[]): Range[] {
  return files.filter(hasChanges).map(({ table, format, changes: { after } }) => ({ table, format, after }));
}

/** The files of a manifest whose changes are all in one of the ranges. Some of them may be gone. */
export function coveredBy(manifest: Manifest, ranges: readonly Range[]): string[] {
  return ranges.flatMap((range) =>
    filesAfter(manifest, range)
      .filter(({ changes: { after } }) => after >= range.after)
      .map(({ file }) => file),
  );
}

/**
 * Refuses a range that begins amid the changes of a file: that file can neither stay, since the folder would
 * have its later changes twice, nor go.
 * @throws MirrorError `USAGE`
 */
export function refuseAmid(folder: string, manifest: Manifest, ranges: readonly Range[]): void {
  for (const range of ranges) {
    const amid = filesAmid(folder, manifest, range);
    if (amid.length === 0) continue;
    const names = amid.map(({ file }) => file).join(', ');
    const start = wholeStart(folder, manifest, range);
    const again =
      start === 0
        ? 'all changes again without --since-id and with --force'
        : `those after ${start} again with --since-id ${start} --force`;
    throw new MirrorError(
      'USAGE',
      `${folder} already has changes after ${range.after} in ${names}. Nothing was written. Read on with ` +
        `--since-id ${filesAfter(manifest, range).at(-1)!.changes.up_to}, write ${again}, or name another ` +
        'folder with --out.',
    );
  }
}

/**
 * Refuses ranges beside which a file stays whose changes the mirror has lost. `check` refuses the cursor of
 * another history.
 * @throws MirrorError `USAGE`, or another error of `check`
 */
export async function refuseLost(
  folder: string,
  manifest: Manifest,
  ranges: readonly Range[],
  check: (cursor: Cursor) => Promise<void>,
): Promise<void> {
  for (const { file, changes } of filesBeside(folder, manifest, ranges))
    try {
      await check(readCursor(changes.up_to)!);
    } catch (error) {
      if (!isMirrorError(error, 'CURSOR_AHEAD', 'OTHER_EPOCH')) throw error;
      throw new MirrorError(
        'USAGE',
        `${folder} has changes of another history in ${file}, up to ${changes.up_to}. Nothing was written. ` +
          'The mirror was restored from a backup, or it is another one. Write all changes again without ' +
          '--since-id and with --force, or name another folder with --out.',
        { cause: error },
      );
    }
}

/** A file that begins after the end of the earlier files of its table and format. */
export interface Gap {
  readonly file: string;
  readonly table: string;
  /** The cursor of the last change in the earlier files. */
  readonly end: string;
}

/** The files of an export that leave a gap: no file has the changes before them. */
export function gapsBefore(manifest: Manifest, files: readonly ExportedFile[]): Gap[] {
  return files.filter(hasChanges).flatMap(({ file, table, format, changes: { after } }) => {
    const earlier = filesAfter(manifest, { table, format, after: 0 }).filter(
      (other) => other.file !== file && other.changes.after < after,
    );
    const last = earlier.toSorted((one, other) => lastId(one) - lastId(other)).at(-1);
    return last === undefined || lastId(last) >= after ? [] : [{ file, table, end: last.changes.up_to }];
  });
}

/**
 * Refuses an export whose changes end at `upTo` if the folder has later ones that its earlier manifest did
 * not list: another export has read the mirror later, and ended earlier. The folder would lose its changes.
 * @throws MirrorError `USAGE`
 */
export function refuseOvertaken(
  folder: string,
  [earlier, present]: readonly [earlier: Manifest, present: Manifest],
  { ranges, upTo }: { readonly ranges: readonly Range[]; readonly upTo: number },
): void {
  const listed = new Set(
    earlier.exports.flatMap(({ files }) => files).map(({ file, changes }) => `${file} ${changes?.up_to}`),
  );
  const later = ranges
    .flatMap((range) => filesAfter(present, { ...range, after: upTo }))
    .filter(({ file, changes }) => !listed.has(`${file} ${changes.up_to}`));
  if (later.length === 0) return;
  throw new MirrorError(
    'USAGE',
    `Another export has meanwhile written later changes than this one into ${folder}, in ` +
      `${later.map(({ file }) => file).join(', ')}. Nothing was written. Run this export again.`,
  );
}

/** The id after which an export cuts no file: that of its range, or of the earliest file that is cut. */
function wholeStart(folder: string, manifest: Manifest, range: Range): number {
  const amid = filesAmid(folder, manifest, range);
  if (amid.length === 0) return range.after;
  const after = Math.min(...amid.map(({ changes }) => changes.after));
  return wholeStart(folder, manifest, { ...range, after });
}

/** The files that are there, of the table and format of a range, and that stay beside its changes. */
function filesBeside(folder: string, manifest: Manifest, ranges: readonly Range[]): ChangesFile[] {
  const covered = coveredBy(manifest, ranges);
  return ranges.flatMap((range) =>
    filesAfter(manifest, { ...range, after: 0 }).filter(
      ({ file }) => !covered.includes(file) && sizeOf(folder, file) !== null,
    ),
  );
}

/** The files that are there and have changes before and after the beginning of the range. */
function filesAmid(folder: string, manifest: Manifest, range: Range): ChangesFile[] {
  return filesAfter(manifest, range).filter(
    ({ file, changes: { after } }) => after < range.after && sizeOf(folder, file) !== null,
  );
}

/** The files with changes of the range, the newest last. */
function filesAfter({ exports }: Manifest, { table, format, after }: Range): ChangesFile[] {
  return exports
    .flatMap(({ files }) => files)
    .filter(hasChanges)
    .filter((file) => file.table === table && file.format === format && lastId(file) > after);
}

function hasChanges(file: ExportedFile): file is ChangesFile {
  return file.changes !== null;
}

function lastId({ changes: { up_to: cursor } }: ChangesFile): number {
  return readCursor(cursor)?.id ?? 0;
}
