import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { unlessAborted } from '../../../core/abortable.ts';
import { EXIT, MirrorError } from '../../../core/errors.ts';
import type { ReadOnlyMirror } from '../../../query/result.ts';
import { type Io, printWarning } from '../../../session/terminal.ts';
import { parseLimit, parseTimeout, refuseTwoFormats } from '../../arguments.ts';
import { type Format, formatOption, jsonFormatOption, rawOption, type Runner } from '../../options.ts';

interface QueryOptions {
  readonly json?: boolean;
  readonly format: Format;
  readonly timeout?: string;
  readonly raw?: boolean;
  readonly limit?: string;
  readonly chart?: boolean;
}

export function addQuery(program: Command, run: Runner): void {
  program
    .command('query')
    .summary('run read-only SQL on the mirror')
    .description(
      'Runs one SQL query over a connection that cannot write, and prints its rows. ' +
        '`inbox-mirror tables` prints the tables and views.',
    )
    .argument('<sql>', 'the query in quotes; - reads it from stdin')
    .addOption(formatOption())
    .addOption(jsonFormatOption())
    .addOption(rawOption())
    .option('--chart', 'draw the result: a name or a day in the first column, then numbers')
    .option('--limit <n>', 'print at most this many rows (default: 1000 in a table, else all)')
    .option(
      '--timeout <time>',
      'stop the query, printing included, after this time: 30, 30s, 2m, 1h (default: none)',
    )
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  inbox-mirror query "SELECT inbox, open, pending, unassigned FROM backlog_now"\n' +
        '  inbox-mirror query --chart "SELECT day, sum(appeared), sum(closed)\n' +
        '    FROM flow_daily GROUP BY day ORDER BY day"\n' +
        '  inbox-mirror query - --format csv --timeout 2m < report.sql > report.csv',
    )
    .action((sql: string, options: QueryOptions) => run((io) => runQuery(io, sql, options)));
}

async function runQuery(
  io: Io,
  argument: string,
  { format, json = false, timeout, raw = false, limit: most, chart = false }: QueryOptions,
): Promise<number> {
  if (chart && (json || format !== 'table' || most !== undefined))
    throw new MirrorError(
      'USAGE',
      '--chart draws all rows of a result; it takes no --format and no --limit.',
    );
  refuseTwoFormats({ json, format });
  const limit = most === undefined ? undefined : parseLimit(most, format);
  const limitMs = timeout === undefined ? null : parseTimeout(timeout);
  const { openReadOnly } = await import('../../../query/open.ts');
  const { mirrorAddress } = await import('../../../session/reader.ts');
  const databaseUrl = mirrorAddress(io);
  const sql = argument === '-' ? await unlessAborted(text(process.stdin), io.signal) : argument;
  const late = new AbortController();
  const timer = limitMs === null ? undefined : setTimeout(() => late.abort(tooLate(timeout ?? '')), limitMs);
  const signal = AbortSignal.any([io.signal, late.signal]);
  try {
    const mirror = await openReadOnly(databaseUrl, signal);
    try {
      const querying = mirror.query(sql);
      // Loads while the database runs the query.
      const [{ printRows }, { printChart }, result] = await Promise.all([
        import('../../output/rows.ts'),
        import('../../output/chart.ts'),
        querying,
      ]);
      // The flag of bin/memory.cjs. Set before this point, it would slow the start of the SQLite thread.
      setFlagsFromString('--semi-space-growth-factor=1');
      if (chart) await printChart(io.stdout, result);
      else await printRows(io, result, { format, raw, limit }, signal);
      // The answer was in time, and is complete.
      clearTimeout(timer);
      await warnOfCounts(io, mirror, sql);
      await warnOfUnlikeInstants(io, databaseUrl, sql);
      return EXIT.done;
    } finally {
      await mirror.close();
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Warns if figures lack rows, or count rows that the service lacks. The answer stays alone on stdout. */
async function warnOfCounts({ stderr }: Io, mirror: ReadOnlyMirror, sql: string): Promise<void> {
  const { listsOf, readsCopied } = await import('../../../query/tables.ts');
  if (!readsCopied(sql)) return;
  const { failedOf, firstCopyOf, progressOf, readCopied } = await import('../../../query/reads/ages.ts');
  const lists = await readCopied(mirror);
  const copy = firstCopyOf(lists);
  if (copy !== null)
    printWarning(
      stderr,
      `The first copy is not complete (${progressOf(copy)}): the answer counts only what has been copied.`,
    );
  const failed = failedOf(lists, listsOf(sql));
  if (failed !== null)
    printWarning(
      stderr,
      `Never read to the end, because reading fails: ${failed}. The answer counts only what has been ` +
        'copied. `inbox-mirror status` shows the error.',
    );
  if (lists.length === 0) return;
  const { missingWords, readMissing } = await import('../../../query/figures/missing.ts');
  const { readRows } = await import('../../../query/reads/rows.ts');
  const missing = missingWords(
    await readMissing((statement, ...values) => readRows(mirror, statement, ...values)),
  );
  if (missing !== null)
    printWarning(stderr, `${missing}. \`inbox-mirror status\` shows the command for that.`);
}

async function warnOfUnlikeInstants({ stderr }: Io, url: string, sql: string): Promise<void> {
  const { comparesUnlikeInstants } = await import('../../../query/tables.ts');
  if (!comparesUnlikeInstants(url, sql)) return;
  printWarning(
    stderr,
    'SQLite compares instants as text. Those of `datetime` and CURRENT_TIMESTAMP have another form than ' +
      "the mirror's, so that rows of the whole day can match. Write strftime('%Y-%m-%dT%H:%M:%f+00:00', " +
      "'now', '-1 hour') instead.",
  );
}

function tooLate(timeout: string): MirrorError {
  const length = /\d$/.test(timeout) ? `${timeout}s` : timeout;
  return new MirrorError(
    'DATABASE',
    `The query was stopped: it took longer than ${length} (--timeout). The output is incomplete.`,
  );
}
