import { type Command, Option } from 'commander';
import type { Clock } from '../../../core/clock.ts';
import { EXIT, isPassingFailure, MirrorError } from '../../../core/errors.ts';
import { LIST_NAMES } from '../../../core/lists.ts';
import type { Cursor } from '../../../mirror/history/cursor.ts';
import type { ChangeFilter } from '../../../mirror/history/read.ts';
import type { Mirror } from '../../../mirror/mirror.ts';
import { type Io, printWarning } from '../../../session/terminal.ts';
import { positiveNumber, refuseTwoFormats } from '../../arguments.ts';
import { checkFilter, type FilterOptions, parseFilter } from '../../change-filter.ts';
import {
  type Format,
  formatOption,
  inboxOption,
  jsonFormatOption,
  notEmpty,
  rawOption,
  type Runner,
} from '../../options.ts';
import type { ChangePrinter } from '../../output/changes.ts';

/** At most 100 changes in a table, if neither a beginning nor a limit is given. */
const TABLE_ROWS = 100;

/** `--follow` queries the mirror twice a second. */
const POLL_MS = 500;

/** The place before the first change. */
const BEGINNING: Cursor = { id: 0, epoch: null };

interface ChangesOptions extends FilterOptions {
  readonly follow?: boolean;
  readonly json?: boolean;
  readonly sinceId?: string;
  readonly limit?: string;
  readonly format: Format;
  readonly raw?: boolean;
}

export function addChanges(program: Command, run: Runner): void {
  program
    .command('changes')
    .summary('print what changed, with an id to resume from')
    .description(
      'Prints every difference between two sightings of an item, oldest first. ' +
        'Without --since, --since-id or --limit, a table shows the newest 100.',
    )
    .option(
      '--follow',
      'continue with new changes until Ctrl-C; without --since, --since-id or --limit, print only those',
    )
    .option(
      '--since <time>',
      'only changes seen since then: 2026-11-21, 2026-11-21T08:00:00Z, yesterday, or 30m, 2h, 3days ago',
    )
    .option('--until <time>', 'only changes seen before then')
    .option(
      '--since-id <cursor>',
      'only changes after this cursor or id; store the last one to resume without loss or repeat',
    )
    .addOption(new Option('--list <list>', 'only this kind of list').choices(LIST_NAMES))
    .addOption(inboxOption('only this inbox, with the changes of the inbox itself: its id or its name'))
    .option('--item <id>', 'only this conversation, tag, user or inbox', notEmpty)
    .option('--field <name>', 'only this field: status, assignee_id, tags, presence …', notEmpty)
    .option(
      '--limit <n>',
      'at most this many: the newest, or the first after --since or --since-id; not those of --follow',
    )
    .addOption(formatOption())
    .addOption(jsonFormatOption())
    .addOption(rawOption())
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  inbox-mirror changes --list conversations --field status --since 2h\n' +
        '  inbox-mirror changes --follow --since-id 4711 --format ndjson | my-consumer',
    )
    .action((options: ChangesOptions) => run((io) => runChanges(io, options)));
}

/** Prints stored changes, and new ones with `--follow`. @returns the exit code */
export async function runChanges(io: Io, options: ChangesOptions): Promise<number> {
  refuseTwoFormats(options);
  const { systemClock } = await import('../../../session/clock.ts');
  const { openToRead } = await import('../../../query/open.ts');
  const { mirrorAddress } = await import('../../../session/reader.ts');
  const { changePrinter } = await import('../../output/changes.ts');
  const clock = systemClock();
  const { mirrorOn, readCursor } = await import('../../../mirror/mirror.ts');
  const filter = await parseFilter(options, clock.now());
  const request = parseOptions(options, filter, readCursor);
  const mirror = mirrorOn(await openToRead(mirrorAddress(io)));
  try {
    const checked = { ...request, filter: await checkFilter(filter, mirror.names) };
    const { format, raw = false, follow: isFollowing = false } = options;
    const following = isFollowing ? await mirror.names.inboxes() : null;
    const printer = changePrinter(io, { format, raw, following });
    const last = await printStored(mirror, checked, printer);
    if (isFollowing) await printNew({ mirror, clock, io }, checked.filter, last, printer);
    await printer.end();
    return io.signal.aborted ? EXIT.interrupted : EXIT.done;
  } finally {
    await mirror.close();
  }
}

interface Request {
  readonly filter: ChangeFilter;
  /** Null: no beginning was given. */
  readonly after: Cursor | null;
  readonly limit: number | null;
  readonly onlyNew: boolean;
  readonly inTable: boolean;
}

function parseOptions(
  { follow = false, since, until, sinceId, limit, format }: ChangesOptions,
  filter: ChangeFilter,
  readCursor: (text: string) => Cursor | null,
): Request {
  if (follow && format === 'json')
    throw new MirrorError(
      'USAGE',
      '--follow cannot print JSON, because the list would never end. Use --format ndjson.',
    );
  if (follow && until !== undefined)
    throw new MirrorError('USAGE', '--follow prints new changes and --until only earlier ones. Use one.');
  return {
    filter,
    after: sinceId === undefined ? (since === undefined ? null : BEGINNING) : placeIn(sinceId, readCursor),
    limit: limit === undefined ? null : positiveNumber('--limit', limit),
    onlyNew: follow && since === undefined && sinceId === undefined && limit === undefined,
    inTable: format === 'table',
  };
}

function placeIn(text: string, readCursor: (text: string) => Cursor | null): Cursor {
  const place = readCursor(text);
  if (place !== null) return place;
  throw new MirrorError(
    'USAGE',
    `--since-id: expected a whole number or the cursor of a change, but got ${JSON.stringify(text)}.`,
  );
}

/** Prints the changes that the mirror has now. @returns the place at which `--follow` continues */
async function printStored(
  { history, names }: Pick<Mirror, 'history' | 'names'>,
  { filter, after: first, limit, onlyNew, inTable }: Request,
  printer: ChangePrinter,
): Promise<Cursor> {
  const { cursorAfter } = await import('../../../mirror/mirror.ts');
  // Read the last place first, so that `--follow` also prints the changes that arrive meanwhile.
  const last = await history.newestCursor();
  if (onlyNew) return last;
  if (first === null && (limit !== null || inTable)) {
    const newest = await history.newest(filter, limit ?? TABLE_ROWS);
    await printer.print(await names.of(newest));
    const printed = cursorAfter(newest) ?? last;
    return printed.id > last.id ? printed : last;
  }
  let after = first ?? BEGINNING;
  for await (const changes of history.batchesAfter(after, filter, limit ?? undefined)) {
    await printer.print(await names.of(changes));
    after = cursorAfter(changes) ?? after;
  }
  return after;
}

/** Prints new changes until the signal is aborted, also after a server that was away for a while. */
async function printNew(
  { mirror, clock, io }: { mirror: Pick<Mirror, 'history' | 'names'>; clock: Clock; io: Io },
  filter: ChangeFilter,
  first: Cursor,
  printer: ChangePrinter,
): Promise<void> {
  const { cursorAfter } = await import('../../../mirror/mirror.ts');
  const { signal, stderr } = io;
  let after = first;
  let isAway = false;
  while (!signal.aborted) {
    try {
      for await (const changes of mirror.history.batchesAfter(after, filter)) {
        const named = await mirror.names.of(changes);
        await printer.print(named);
        after = cursorAfter(changes) ?? after;
        if (signal.aborted) return;
      }
      isAway = false;
    } catch (error) {
      if (!isPassingFailure(error)) throw error;
      if (!isAway) printWarning(stderr, `${error.message} Meanwhile --follow tries again.`);
      isAway = true;
    }
    await clock.sleep(POLL_MS, signal).catch(() => undefined);
  }
}
