import { exitCodeOf, isMirrorError } from '../../core/errors.ts';
import { count, duration, plural } from '../../core/humanize.ts';
import { describeList, LIST_NAMES, type ListKey } from '../../core/lists.ts';
import type { Session } from '../../session/session.ts';
import { type Io, paint, printLine, wrapped } from '../../session/terminal.ts';
import type { ListReport } from '../../sync/events.ts';
import type { PassReport } from '../../sync/pass.ts';
import { renderTable } from '../output/table.ts';

/** What a pass cost: requests that it sent, and how long it took. */
export interface PassCost {
  readonly requests: number;
  readonly milliseconds: number;
}

/** The exit code of a pass: what stopped it, else 1 for failed lists, 4 for lists that go on later, else 0. */
export function passExitCode({ lists, stopped }: PassReport): number {
  if (stopped !== null) return exitCodeOf(stopped);
  if (lists.some(({ outcome }) => outcome === 'failed')) return 1;
  return lists.some(({ outcome }) => outcome === 'paused') ? 4 : 0;
}

/** Prints a pass as a table, then everything that a person should know of it. */
function printReport(
  io: Io,
  report: PassReport,
  words: { cost: string; inboxName: (id: string) => string | null },
): void {
  const { lists, stopped } = report;
  const shown = lists.filter(({ outcome }) => outcome !== 'paused').sort(byInbox);
  if (shown.length > 0) {
    printLine(
      io.stdout,
      renderTable(
        io.stdout,
        COLUMNS,
        shown.map((list) => row(io, list, words.inboxName)),
      ),
    );
    printLine(io.stdout, '');
  }
  for (const list of lists) printTrouble(io, list);
  const complete = lists.filter(({ outcome }) => outcome === 'complete' || outcome === 'already').length;
  if (stopped === null)
    printLine(io.stdout, `${complete} of ${plural(lists.length, 'list')} complete: ${words.cost}`);
  else printStop(io, report, words.cost);
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
  already: 'complete already',
  skipped: 'skipped: its inbox may be gone',
  paused: 'goes on next time',
  failed: 'failed',
} as const;

function row(io: Io, report: ListReport, inboxName: (id: string) => string | null): string[] {
  const { key, outcome, items, inserted, changed, deleted } = report;
  const numbers =
    outcome === 'complete'
      ? [items, inserted, changed, deleted].map((value) => (value === 0 ? '0' : count(value)))
      : ['', '', '', ''];
  const word = paint(
    io.stdout,
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

function printTrouble(io: Io, { key, outcome, error, rejected, suspects }: ListReport): void {
  const warn = (text: string): void =>
    printLine(io.stderr, `${paint(io.stderr, 'yellow', 'warning:')} ${text}`);
  if (rejected > 0) {
    const where = `list = '${key.list}'${key.inboxId === null ? '' : ` AND inbox_id = '${key.inboxId}'`}`;
    warn(
      `${plural(rejected, 'row')} of ${describeList(key)} could not be read; see \`inbox-mirror query "SELECT reason, raw FROM rejects WHERE ${where}"\``,
    );
  }
  if (suspects > 0) {
    warn(
      `${plural(suspects, 'row')} of ${describeList(key)} ${suspects === 1 ? 'was' : 'were'} not listed; what the next complete sweep lacks too is marked as deleted`,
    );
  }
  if ((outcome === 'failed' || isMirrorError(error, 'ANSWER_FAILED')) && error instanceof Error) {
    printLine(
      io.stderr,
      wrapped(io.stderr, `${paint(io.stderr, 'red', 'failed:')} ${describeList(key)}: ${error.message}`),
    );
  }
}

function printStop(io: Io, { lists, stopped }: PassReport, cost: string): void {
  const complete = lists.filter(({ outcome }) => outcome === 'complete' || outcome === 'already').length;
  if (!isMirrorError(stopped)) return;
  const saved = `${plural(complete, 'list')} complete, and every page read so far is saved: ${cost}`;
  const words =
    stopped.code === 'STOPPED'
      ? `Stopped. ${saved} Run the same command again to go on from there.`
      : `${paint(io.stderr, 'red', 'stopped:')} ${stopped.message}${complete === 0 ? '' : `\n${saved}`}`;
  printLine(io.stderr, wrapped(io.stderr, words));
}

/** A pass as JSON (docs/commands.md). `order`: its id where the daemon did it. */
function reportAsJson({ pass, lists, stopped }: PassReport, cost: PassCost, order: number | null): unknown {
  return {
    order,
    complete:
      stopped === null && lists.every(({ outcome }) => outcome === 'complete' || outcome === 'already'),
    resumed: pass.resumed,
    requests: cost.requests,
    seconds: Math.round(cost.milliseconds) / 1000,
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
      error: error instanceof Error ? error.message : null,
    })),
    stopped: isMirrorError(stopped)
      ? { code: stopped.code, message: stopped.message, resume_at: stopped.resumeAt?.toISOString() ?? null }
      : null,
  };
}

/** Prints how a pass ended, done here or, where `order` is an id, by the daemon. */
export async function printOutcome(
  io: Io,
  { config, clock, mirror }: Session,
  report: PassReport,
  { cost, order, json }: { cost: PassCost; order: number | null; json: boolean },
): Promise<void> {
  if (json) {
    printLine(io.stdout, JSON.stringify(reportAsJson(report, cost, order), null, 2));
    return;
  }
  const names = new Map((await mirror.inboxes()).map(({ id, name }) => [id, name]));
  const sent = await mirror.budget.sentToday(clock.now());
  const words = `${plural(cost.requests, 'request')} in ${duration(cost.milliseconds)}; ${count(sent)} of the day's ${count(config.budget.perDay)} are used.`;
  printReport(io, report, { cost: words, inboxName: (id) => names.get(id) ?? null });
}
