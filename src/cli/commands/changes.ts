import type { Clock } from '../../core/clock.ts';
import { EXIT, MirrorError } from '../../core/errors.ts';
import type { ListName } from '../../core/lists.ts';
import type { ChangeFilter, ChangeRecord, History } from '../../mirror/history/read.ts';
import { asNdjson, changeAsJson } from '../../mirror/mirror.ts';
import { systemClock } from '../../session/clock.ts';
import { openReader } from '../../session/reader.ts';
import { type Format, type Io, printLine, writePaced } from '../../session/terminal.ts';
import { parseSince } from '../arguments.ts';
import { asCsv } from '../output/cells.ts';
import { CHANGE_COLUMNS, changeTable } from '../output/change-table.ts';

const AT_ONCE = 1000;
const SHOWN_IN_A_TABLE = 100;
const POLL_MS = 500;

/** The options as words. */
export interface ChangesOptions {
  readonly follow?: boolean;
  readonly since?: string;
  readonly sinceId?: string;
  readonly list?: ListName;
  readonly inbox?: string;
  readonly item?: string;
  readonly field?: string;
  readonly limit?: string;
  readonly format: Format;
}

/** Prints changes, and with `--follow` goes on until it is stopped. @returns the exit code */
export async function runChanges(io: Io, options: ChangesOptions): Promise<number> {
  const clock = systemClock();
  const wanted = readOptions(options, clock.now());
  const { mirror } = await openReader(io);
  try {
    const printer = printerOf(io, options.format);
    const next = await printPast(mirror.history, wanted, printer);
    if (options.follow)
      await printNew(
        { history: mirror.history, clock, signal: io.signal },
        { ...wanted, afterId: next },
        printer,
      );
    await printer.end();
    return io.signal.aborted ? EXIT.interrupted : EXIT.done;
  } finally {
    await mirror.close();
  }
}

interface Wanted {
  readonly filter: ChangeFilter;
  /** Null where no place to begin at was named. */
  readonly afterId: number | null;
  readonly limit: number | null;
  readonly onlyNew: boolean;
  readonly inTable: boolean;
}

function readOptions(options: ChangesOptions, now: number): Wanted {
  const { follow: follows = false, since, sinceId, limit, list, inbox, item, field, format } = options;
  if (follows && format === 'json')
    throw new MirrorError(
      'USAGE',
      'A JSON list that never ends is no JSON: with --follow use --format ndjson.',
    );
  return {
    filter: {
      list,
      inboxId: inbox,
      itemId: item,
      field,
      since: since === undefined ? undefined : parseSince(since, now),
    },
    afterId: sinceId === undefined ? (since === undefined ? null : 0) : wholeNumber('--since-id', sinceId),
    limit: limit === undefined ? null : wholeNumber('--limit', limit),
    onlyNew: follows && since === undefined && sinceId === undefined && limit === undefined,
    inTable: format === 'table',
  };
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw new MirrorError('USAGE', `${name}: expected a whole number, but got ${JSON.stringify(text)}.`);
  return Number(text);
}

/** Prints what is there already. @returns the id after which to go on */
async function printPast(
  history: History,
  { filter, afterId, limit, onlyNew, inTable }: Wanted,
  printer: Printer,
): Promise<number> {
  // Read first: what comes meanwhile is printed by whoever follows, not lost.
  const last = await history.lastId();
  if (onlyNew) return last;
  if (afterId === null && (limit !== null || inTable)) {
    const newest = await history.newest(filter, limit ?? SHOWN_IN_A_TABLE);
    await printer.print(newest);
    return Math.max(last, newest.at(-1)?.id ?? 0);
  }
  let after = afterId ?? 0;
  let left = limit ?? Number.POSITIVE_INFINITY;
  while (left > 0) {
    const changes = await history.after(after, filter, Math.min(AT_ONCE, left));
    await printer.print(changes);
    after = changes.at(-1)?.id ?? after;
    left -= changes.length;
    if (changes.length < AT_ONCE) break;
  }
  return after;
}

async function printNew(
  { history, clock, signal }: { history: History; clock: Clock; signal: AbortSignal },
  { filter, afterId }: Wanted & { readonly afterId: number },
  printer: Printer,
): Promise<void> {
  for (let after = afterId; !signal.aborted;) {
    const changes = await history.after(after, filter, AT_ONCE);
    await printer.print(changes);
    after = changes.at(-1)?.id ?? after;
    if (changes.length < AT_ONCE) await clock.sleep(POLL_MS, signal).catch(() => undefined);
  }
}

/** Prints changes as they come; a reader that is slower than the mirror is waited for. */
interface Printer {
  print(changes: readonly ChangeRecord[]): Promise<void>;
  end(): Promise<void>;
}

function printerOf({ stdout: output, signal }: Io, format: Format): Printer {
  let printed = 0;
  const begin = (first: string, other: string): string => (printed === 0 ? first : other);
  const forms: Record<Format, (changes: readonly ChangeRecord[]) => string> = {
    ndjson: asNdjson,
    csv: (changes) =>
      begin(asCsv([CHANGE_COLUMNS]), '') +
      asCsv(changes.map((change) => Object.values(changeAsJson(change)))),
    json: (changes) =>
      begin('[\n  ', ',\n  ') + changes.map((change) => JSON.stringify(changeAsJson(change))).join(',\n  '),
    table: (changes) => `${changeTable(output, changes, printed === 0)}\n`,
  };
  return {
    async print(changes) {
      if (changes.length === 0) return;
      const text = forms[format](changes);
      printed += changes.length;
      await writePaced(output, text, signal);
    },
    async end() {
      if (format === 'json') output.write(printed === 0 ? '[]\n' : '\n]\n');
      else if (printed === 0 && format === 'csv') output.write(asCsv([CHANGE_COLUMNS]));
      else if (printed === 0 && format === 'table') printLine(output, '(no changes)');
    },
  };
}
