import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { EXIT, MirrorError } from '../../../core/errors.ts';
import { plural, thousands } from '../../../core/humanize.ts';
import type { ExportOptions } from '../../../export/write.ts';
import type { Exported } from '../../../export/export.ts';
import type { Format } from '../../../export/encoder.ts';
import type { Cursor } from '../../../mirror/mirror.ts';
import type { Cell } from '../../../query/result.ts';
import { type Io, printJson, printLine, printWarning, wrapped } from '../../../session/terminal.ts';
import { jsonOption, notEmpty, rawOption, type Runner } from '../../options.ts';

/** The folder of an export without `--out`, below the working directory. */
const FOLDER = 'inbox-mirror-export';

/** The forms of a file, as keys: the compiler finds one that is missing. */
const FORMATS: Record<Format, true> = { parquet: true, csv: true, ndjson: true };

interface Options {
  readonly format: Format;
  readonly out: string;
  readonly sinceId?: string;
  readonly force?: boolean;
  readonly raw?: boolean;
  readonly json?: boolean;
}

export function addExport(program: Command, run: Runner): void {
  program
    .command('export')
    .summary('write tables and views to files: parquet, csv, ndjson')
    .description(
      'Writes tables and views to files, all as the mirror is at one moment, and manifest.json, which says ' +
        'how old each list is. `inbox-mirror tables` prints the names.',
    )
    .argument('<tables...>', 'tables and views')
    .addOption(
      new Option('--format <format>', 'form of the files')
        .choices(Object.keys(FORMATS))
        .default('parquet' satisfies Format),
    )
    .addOption(new Option('--out <folder>', 'where the files go').argParser(notEmpty).default(FOLDER))
    .option('--since-id <cursor>', 'only changes after this cursor or id, in a file of their own')
    .option('--force', 'replace files that exist, and files whose changes are in the new ones')
    .addOption(rawOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  inbox-mirror export conversations conversation_tags changes --out lake\n' +
        '  inbox-mirror export changes --out lake \\\n' +
        '    --since-id "$(jq -r .changes_up_to lake/manifest.json)"',
    )
    .action((tables: string[], options: Options) => run((io) => runExport(io, tables, options)));
}

async function runExport(io: Io, tables: string[], options: Options): Promise<number> {
  const { exportMirror } = await import('../../../export/export.ts');
  const { systemClock } = await import('../../../session/clock.ts');
  const { mirrorAddress } = await import('../../../session/reader.ts');
  const databaseUrl = mirrorAddress(io);
  const into = { tables, format: options.format, folder: resolve(io.cwd, options.out) };
  const sinceId = options.sinceId === undefined ? null : await placeIn(databaseUrl, options.sinceId, into);
  const progress = await progressOn(io);
  const task: ExportOptions = {
    ...into,
    sinceId,
    force: options.force ?? false,
    raw: options.raw ?? false,
    version: io.version,
    now: systemClock().now(),
    onRows: progress.show,
  };
  try {
    const done = await exportMirror(databaseUrl, task, io.signal);
    progress.end();
    await printRun(io, done, options);
    return EXIT.done;
  } finally {
    progress.end();
  }
}

type Into = Pick<ExportOptions, 'tables' | 'format' | 'folder'>;

/**
 * The id of a cursor of this mirror. It reads over a connection that cannot write, as the export does: an
 * older mirror is not migrated.
 * @throws MirrorError `USAGE`, also if the folder would keep changes of another history; `CURSOR_AHEAD` or
 *   `OTHER_EPOCH` for a cursor of another history
 */
async function placeIn(url: string, text: string, into: Into): Promise<number> {
  const { refuseOtherHistory } = await import('../../../export/export.ts');
  const { readCursor, refuseForeignCursor } = await import('../../../mirror/mirror.ts');
  const { openReadOnly } = await import('../../../query/open.ts');
  const { readRows } = await import('../../../query/reads/rows.ts');
  const place = readCursor(text);
  if (place === null)
    throw new MirrorError(
      'USAGE',
      `--since-id: expected a whole number or the cursor of a change, but got ${JSON.stringify(text)}.`,
    );
  const mirror = await openReadOnly(url);
  try {
    const check = async (cursor: Cursor): Promise<void> =>
      await refuseForeignCursor(
        { query: (sql, ...values: Cell[]) => readRows(mirror, sql, ...values) },
        cursor,
      );
    await check(place);
    await refuseOtherHistory({ ...into, sinceId: place.id }, check);
    return place.id;
  } finally {
    await mirror.close();
  }
}

interface Progress {
  readonly show: (table: string, rows: number) => void;
  readonly end: () => void;
}

/** The progress is redrawn once in this many ms. */
const REDRAW_MS = 200;

/** A line on a terminal, which is removed at the end; nothing elsewhere. */
async function progressOn({ stderr }: Io): Promise<Progress> {
  if (stderr.isTTY !== true) return { show: () => undefined, end: () => undefined };
  const { createLogUpdate } = await import('log-update');
  const update = createLogUpdate(stderr as NodeJS.WriteStream);
  let drawnAt = 0;
  return {
    show(table, rows) {
      if (performance.now() - drawnAt < REDRAW_MS) return;
      drawnAt = performance.now();
      update(`${table}  ${plural(rows, 'row')}`);
    },
    end() {
      update.clear();
      update.done();
    },
  };
}

async function printRun(
  io: Io,
  { run, unlisted, gaps }: Exported,
  { json, out, sinceId }: Options,
): Promise<void> {
  const { isBehind, sentenceOf } = await import('../../../query/reads/ages.ts');
  const { renderTable } = await import('../../output/table.ts');
  const lacks = run.lists.some(isBehind);
  if (lacks) printWarning(io.stderr, sentenceOf(run.lists));
  if (unlisted.length > 0)
    printWarning(
      io.stderr,
      `${out} also has ${unlisted.join(', ')}, which manifest.json does not list. A query of all files of ` +
        'changes can read a change twice: delete those that you do not need.',
    );
  for (const { file, table, end } of gaps)
    printWarning(
      io.stderr,
      `${file} begins after the end of the earlier files of ${table} (${end}): no file has the changes ` +
        `between. Export them with --since-id ${end} --force.`,
    );
  if (json) {
    printJson(io.stdout, JSON.stringify(run, null, 2));
    return;
  }
  if (run.files.length === 0) {
    printLine(io.stdout, `There is no change after ${sinceId}: no file was written.`);
    return;
  }
  const columns = [
    { title: 'file' },
    { title: 'rows', align: 'right' as const },
    { title: 'kB', align: 'right' as const },
  ];
  const rows = run.files.map(({ file, rows: count, bytes }) => [
    file,
    thousands(count),
    thousands(Math.ceil(bytes / 1000)),
  ]);
  printLine(io.stdout, renderTable(io.stdout, columns, rows));
  if (run.removed.length > 0)
    printLine(
      io.stdout,
      wrapped(io.stdout, `Removed ${run.removed.join(', ')}, which this export replaces.`),
    );
  const summary = `In ${out}, as of ${run.exported_at}.${lacks ? '' : ` ${sentenceOf(run.lists)}`}`;
  printLine(io.stdout, wrapped(io.stdout, summary));
}
