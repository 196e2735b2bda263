import { HOUR, SECOND } from '../../core/clock.ts';
import { EXIT, exitCodeOf, isMirrorError } from '../../core/errors.ts';
import { thousands, duration, plural } from '../../core/humanize.ts';
import { describeList, LIST_NAMES, type ListKey } from '../../core/lists.ts';
import type { EndedPass } from '../../library/pass/daemon-or-here.ts';
import type { Session } from '../../session/session.ts';
import {
  asCell,
  type Output,
  paint,
  printFailure,
  printJson,
  printLine,
  printWarning,
  type Streams,
  withClockTimes,
  wrapped,
} from '../../session/terminal.ts';
import { heldDeletions, heldLists } from '../../status/held.ts';
import { isComplete, type ListReport } from '../../sync/events.ts';
import type { PassReport } from '../../sync/pass.ts';
import { RESYNC_STUCK_MS } from '../../sync/resuming.ts';
import { renderTable } from '../output/table.ts';

/** The exit code of a pass: that of the error that stopped it, else 1 for failed lists, 4 for paused ones. */
export function passExitCode({ lists, stopped }: PassReport): number {
  if (stopped !== null) return exitCodeOf(stopped);
  if (lists.some(({ outcome }) => outcome === 'failed')) return EXIT.unexpected;
  return lists.some(({ outcome }) => outcome === 'paused') ? EXIT.resumable : EXIT.done;
}

/** The words that a report shows beside its figures. */
interface Words {
  readonly cost: string;
  readonly inboxName: (id: string) => string | null;
  /** Epoch ms. */
  readonly now: number;
  readonly timezone: string;
  /** See `Config.goneAfterMs`. */
  readonly goneAfterMs: number;
}

/** Prints a pass as a table, then to stderr its warnings and its cost: a pipe gets the table alone. */
function printReport({ stdout, stderr }: Streams, report: PassReport, words: Words): void {
  const { cost, inboxName, goneAfterMs } = words;
  const { lists, stopped } = report;
  const shown = lists.filter(({ outcome }) => outcome !== 'paused').sort(byInbox);
  if (shown.length > 0) {
    const rows = shown.map((list) => row(stdout, list, inboxName));
    printLine(stdout, renderTable(stdout, COLUMNS, rows));
    printLine(stderr, '');
  }
  for (const list of lists) printWarnings(stderr, list, { inboxName, goneAfterMs });
  printHeld(stderr, report, inboxName);
  for (const failure of failuresOf(lists, inboxName)) printFailure(stderr, failure);
  const complete = lists.filter(isComplete).length;
  const summary = `${complete} of ${plural(lists.length, 'list')} complete: ${cost}`;
  const within = plural(RESYNC_STUCK_MS / HOUR, 'hour');
  // A resync that has reached its end stays open if only single lists failed.
  const rest =
    report.isOpen === true ? ` Run the same command again within ${within}: it reads what is missing.` : '';
  if (stopped === null) printLine(stderr, wrapped(stderr, `${summary}${rest}`));
  else printStop(stderr, report, words);
}

function byInbox(a: ListReport, b: ListReport): number {
  const [left, right] = [a.key.inboxId ?? '', b.key.inboxId ?? ''];
  return (
    left.length - right.length ||
    left.localeCompare(right) ||
    LIST_NAMES.indexOf(a.key.list) - LIST_NAMES.indexOf(b.key.list)
  );
}

const COLUMNS = [
  { title: 'inbox' },
  { title: 'list' },
  { title: 'rows', align: 'right' },
  { title: 'new', align: 'right' },
  { title: 'changed', align: 'right' },
  { title: 'gone', align: 'right' },
  { title: 'outcome' },
] as const;

const OUTCOMES = {
  complete: 'complete',
  already: 'already complete',
  skipped: 'skipped: its inbox may be gone',
  paused: 'resumes next time',
  failed: 'failed',
} as const;

function row(stdout: Output, report: ListReport, inboxName: (id: string) => string | null): string[] {
  const { key, outcome, items, inserted, changed, deleted } = report;
  const numbers =
    outcome === 'complete' ? [items, inserted, changed, deleted].map(thousands) : ['', '', '', ''];
  const word = paint(
    stdout,
    outcome === 'failed' ? 'red' : outcome === 'skipped' ? 'yellow' : 'dim',
    OUTCOMES[outcome],
  );
  return [inboxLabel(key, inboxName), key.list, ...numbers, word];
}

function inboxLabel({ inboxId }: ListKey, inboxName: (id: string) => string | null): string {
  if (inboxId === null) return '';
  const name = inboxName(inboxId);
  return name === null ? inboxId : `${name} (${inboxId})`;
}

function printWarnings(
  stderr: Output,
  { key, rejected, withoutId, suspects, held }: ListReport,
  { inboxName, goneAfterMs }: Pick<Words, 'inboxName' | 'goneAfterMs'>,
): void {
  const list = describeList(key, key.inboxId === null ? null : inboxName(key.inboxId));
  const later = goneAfterMs === 0 ? '' : `, at least ${duration(goneAfterMs)} later,`;
  if (rejected > 0) {
    const where = `list = '${key.list}'${key.inboxId === null ? '' : ` AND inbox_id = '${key.inboxId}'`}`;
    printWarning(
      stderr,
      `${plural(rejected, 'row')} of ${list} could not be read; ` +
        `see \`inbox-mirror query "SELECT reason, raw FROM rejects WHERE ${where}"\``,
    );
  }
  if (withoutId > 0)
    printWarning(
      stderr,
      `${plural(withoutId, 'row')} of ${list} came without a readable id; ` +
        'until the service sends all ids, none of its rows is marked as deleted',
    );
  if (held === 0 && suspects > 0)
    printWarning(
      stderr,
      `${plural(suspects, 'row')} of ${list} ` +
        `${suspects === 1 ? 'was not listed, and counts' : 'were not listed, and count'} until a second ` +
        `witness${later} lacks ${suspects === 1 ? 'it' : 'them'} too: ` +
        'if no daemon runs, run `inbox-mirror sync` again then (docs/commands.md, "Words in the output")',
    );
}

/** The deletions that need a consent. A pass that was stopped does not know every list of a kind. */
function printHeld(
  stderr: Output,
  { lists, stopped }: PassReport,
  inboxName: (id: string) => string | null,
): void {
  const all = lists.map(({ key, held }) => ({ ...key, held }));
  const found = stopped === null ? heldDeletions(all) : all.flatMap((list) => heldDeletions([list]));
  for (const held of found) {
    const [{ inboxId }] = held.lists;
    const named = heldLists(held, inboxId === null ? null : inboxName(inboxId));
    printWarning(
      stderr,
      `${plural(held.rows, 'row')} of ${named} would be marked as deleted. That needs your consent: ` +
        `check the service, then run \`${held.command}\``,
    );
  }
}

/** Why lists failed: one sentence for all lists of a kind that failed for the same reason. */
export function failuresOf(
  lists: readonly Pick<ListReport, 'key' | 'outcome' | 'error'>[],
  inboxName: (id: string) => string | null,
): string[] {
  const failed = lists.flatMap(({ key, outcome, error }) =>
    (outcome === 'failed' || isMirrorError(error, 'ANSWER_FAILED')) && error instanceof Error
      ? [{ key, reason: error.message }]
      : [],
  );
  const alike = Map.groupBy(failed, ({ key, reason }) => `${key.list}: ${reason}`);
  return Array.from(alike.values(), (group) => {
    const { key, reason } = group[0]!;
    const list = describeList(key, key.inboxId === null ? null : inboxName(key.inboxId));
    return `${list}${group.length === 1 ? '' : ` and ${plural(group.length - 1, 'more inbox')}`}: ${reason}`;
  });
}

function printStop(stderr: Output, { lists, stopped }: PassReport, { cost, now, timezone }: Words): void {
  if (!isMirrorError(stopped)) return;
  const complete = lists.filter(isComplete).length;
  const saved = `${plural(complete, 'list')} complete, and every page read so far is saved: ${cost}`;
  const cause = withClockTimes(stderr, stopped.message, now, timezone);
  const message =
    stopped.code === 'STOPPED'
      ? `Stopped. ${saved} Run the same command again to resume.`
      : `${paint(stderr, 'red', 'stopped:')} ${cause}${complete === 0 ? '' : `\n${saved}`}`;
  printLine(stderr, wrapped(stderr, message));
}

/** A pass as JSON (docs/commands.md). `order`: its id if the daemon did the pass. */
function endedPassAsJson({ report, cost, order }: EndedPass): unknown {
  const { pass, lists, stopped } = report;
  return {
    order,
    complete: stopped === null && lists.every(isComplete),
    resumed: pass.resumed,
    requests: cost.requests,
    seconds: Math.round(cost.milliseconds) / SECOND,
    lists: lists.map(({ key, error, outcome, items, ...numbers }) => ({
      list: key.list,
      inbox_id: key.inboxId,
      outcome,
      rows: items,
      inserted: numbers.inserted,
      changed: numbers.changed,
      deleted: numbers.deleted,
      rejected: numbers.rejected,
      suspects: numbers.suspects,
      without_id: numbers.withoutId,
      held: numbers.held,
      error: error instanceof Error ? error.message : null,
    })),
    stopped: isMirrorError(stopped)
      ? { code: stopped.code, message: stopped.message, resume_at: stopped.resumeAt?.toISOString() ?? null }
      : null,
  };
}

/** Prints how a pass ended. */
export async function printOutcome(
  streams: Streams,
  { config, clock, mirror }: Session,
  ended: EndedPass,
  json: boolean,
): Promise<void> {
  if (json) {
    printJson(streams.stdout, JSON.stringify(endedPassAsJson(ended), null, 2));
    return;
  }
  const { report, cost } = ended;
  const names = new Map((await mirror.inboxes()).map(({ id, name }) => [id, asCell(name ?? 'no name')]));
  const sent = await mirror.budget.sentInWindow(clock.now());
  const costInWords =
    `${plural(cost.requests, 'request')} in ${duration(cost.milliseconds)}; ` +
    `${thousands(sent)} of the day's ${thousands(config.budget.perDay)} are used.`;
  printReport(streams, report, {
    cost: costInWords,
    inboxName: (id) => names.get(id) ?? null,
    now: clock.now(),
    timezone: config.reportTimezone,
    goneAfterMs: config.goneAfterMs,
  });
}
