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

/** A written file. `changes`: the place after which its changes begin, and the cursor of the newest. */
const FILE = z.object({
  file: text,
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
});
const SHAPE = z.object({ changes_up_to: text.nullable(), exports: z.array(RUN) });

/** One export: the mirror as it was at one moment, and the files that hold it. */
export type ExportRun = z.infer<typeof RUN>;

/** `changes_up_to`: the cursor after which the next export of `changes` into this folder begins. */
type Manifest = z.infer<typeof SHAPE>;

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
export async function filesLeft(folder: string, { exports }: Manifest): Promise<string[]> {
  const listed = new Set(exports.flatMap(({ files }) => files.map(({ file }) => file)));
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => name.startsWith(`.${MANIFEST}.`) && name.endsWith(PARTIAL));
  const runs = await Promise.all(left.map((name) => lastRun(join(folder, name))));
  return runs.flatMap((run) => run?.files.map(({ file }) => file) ?? []).filter((file) => !listed.has(file));
}

/** The newest export in a manifest; undefined if the text is none, as of one that is being written. */
async function lastRun(path: string): Promise<ExportRun | undefined> {
  try {
    return SHAPE.parse(JSON.parse(await readFile(path, 'utf8'))).exports.at(-1);
  } catch {
    return undefined;
  }
}

/** The manifest with one export more. A file that it replaces leaves the earlier exports. */
export function withRun({ changes_up_to, exports }: Manifest, run: ExportRun): Manifest {
  const replaced = new Set(run.files.map(({ file }) => file));
  const earlier = exports
    .map((one) => ({ ...one, files: one.files.filter(({ file }) => !replaced.has(file)) }))
    .filter(({ files }) => files.length > 0);
  const cursor = run.files.find(({ table }) => table === 'changes')?.changes?.up_to ?? changes_up_to;
  return { changes_up_to: cursor, exports: [...earlier, run] };
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
