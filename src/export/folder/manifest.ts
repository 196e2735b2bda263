import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { messageOf, MirrorError } from '../../core/errors.ts';
import { LIST_NAMES } from '../../core/lists.ts';
import { STATES } from '../../query/reads/ages.ts';
import { abandon, asOutput, finish, type NamedFile, openPartial, PARTIAL } from './files.ts';

/** The list of an export folder's files. */
const MANIFEST = 'manifest.json';

const text = z.string();

/** The name of a file in the folder. A path could lead out of it, to a file that an export would replace. */
const NAME = z.string().regex(/^[^/\\]+$/);

/** A written file. `changes`: the place after which its changes begin, and the cursor of the newest. */
const FILE = z.object({
  file: NAME,
  table: text,
  format: text,
  rows: z.number(),
  bytes: z.number(),
  columns: z.array(z.object({ name: text, kind: text })),
  changes: z.object({ after: z.number(), up_to: text }).nullable(),
});
const RUN = z.object({
  exported_at: text,
  program: text,
  newest_change_id: z.number(),
  newest_change: text,
  lists: z.array(
    z.object({
      list: z.enum(LIST_NAMES),
      inbox_id: text.nullable(),
      inbox: text.nullable(),
      complete_as_of: text.nullable(),
      age_seconds: z.number().nullable(),
      state: z.enum(STATES),
    }),
  ),
  files: z.array(FILE),
  removed: z.array(NAME).default([]),
});
const SHAPE = z.object({
  changes_up_to: text.nullable(),
  unfinished: z.object({ ending: NAME, run: RUN }).optional(),
  exports: z.array(RUN),
});

/** A file in the manifest. */
export type ExportedFile = z.infer<typeof FILE>;

/**
 * One export: the mirror as it was at one moment, and the files that hold it. `removed`: the files of earlier
 * exports that it has removed, because its own hold their changes.
 */
export type ExportRun = z.infer<typeof RUN>;

/**
 * `changes_up_to`: the cursor after which the next export of `changes` into this folder begins. `unfinished`:
 * an export that replaces files at this moment, or was killed then; `ending` ends its temporary names.
 */
export type Manifest = z.infer<typeof SHAPE>;

/**
 * Reads the folder's manifest: an empty one if there is none.
 * @throws MirrorError `USAGE` if the file is not a manifest of this program
 */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST);
  if (!existsSync(path)) return { changes_up_to: null, exports: [] };
  try {
    return SHAPE.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    throw new MirrorError(
      'USAGE',
      `${path} is not a manifest of inbox-mirror, and nothing was written. ` +
        'Name another folder with --out, or remove the file.',
      { cause: messageOf(error) },
    );
  }
}

/**
 * The names of files that a killed export may have published: its manifest still has the temporary name, and
 * the folder's manifest does not list them. Nothing refers to such a file: the next export may replace it.
 */
export async function filesLeft(folder: string, manifest: Manifest): Promise<string[]> {
  const listed = listedNames(manifest);
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => name.startsWith(`.${MANIFEST}.`) && name.endsWith(PARTIAL));
  const runs = await Promise.all(left.map((name) => lastRun(join(folder, name))));
  return runs.flatMap((run) => run?.files.map(({ file }) => file) ?? []).filter((file) => !listed.has(file));
}

/** The names of the files that a manifest lists. */
export function listedNames({ exports }: Manifest): Set<string> {
  return new Set(exports.flatMap(({ files }) => files.map(({ file }) => file)));
}

/** The newest export in a manifest; undefined if the text is none, as of one that is being written. */
async function lastRun(path: string): Promise<ExportRun | undefined> {
  try {
    return SHAPE.parse(JSON.parse(await readFile(path, 'utf8'))).exports.at(-1);
  } catch {
    return undefined;
  }
}

/** Writes the manifest under a temporary name, which ends in `ending`. @throws MirrorError `OUTPUT` */
export async function writeManifest(folder: string, manifest: Manifest, ending: string): Promise<NamedFile> {
  const file = await openPartial(folder, MANIFEST, ending);
  try {
    await asOutput(`The file ${file.path} cannot be written`, () =>
      writeFile(file.handle, `${JSON.stringify(manifest, null, 2)}\n`),
    );
    return (await finish([file]))[0]!;
  } catch (error) {
    await abandon([file]);
    throw error;
  }
}
