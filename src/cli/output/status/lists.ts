import { requestsLeft } from '../../../core/budget.ts';
import { outageWords } from '../../../core/gate-state.ts';
import { duration, fromNow, plural, thousands, whenDue } from '../../../core/humanize.ts';
import type { LatestSweep } from '../../../mirror/sweeps/reader.ts';
import { asCell, type Output, paint } from '../../../session/terminal.ts';
import { failureCause, failureWords } from '../../../status/failures.ts';
import { heldDeletions, heldLists, heldWords, ifGone } from '../../../status/held.ts';
import { hasLongMissed, type JudgedList, type JudgedStatus } from '../../../status/judge.ts';
import type { WholeStatus } from '../../../status/observe.ts';
import { haltOf, notBefore, scheduledStandstillOf, shutGate } from '../../../status/sending.ts';
import { type Column, renderTable } from '../table.ts';

/**
 * The status in one sentence: the lists, what is wrong with the rest, the requests used, what comes next.
 * `61 lists, all fresh; 412 of 5,000 requests used; next reading in 2 min.`
 */
export function headlineOf(output: Output, status: WholeStatus): string {
  const { sent, budget } = status;
  const parts = [
    listWords(status),
    ...troubles(status),
    `${thousands(sent)} of ${thousands(budget.perDay)} requests used` +
      (requestsLeft(budget, sent) === 0 ? ', none left' : ''),
    nextWords(status),
  ];
  return paint(output, ['bold', status.healthy ? 'green' : 'yellow'], `${parts.join('; ')}.`);
}

function listWords(status: JudgedStatus): string {
  const { judged } = status;
  const looked = judged.filter(({ needsLook }) => needsLook);
  const look = looked.length;
  const lists = plural(judged.length, 'list');
  if (look > 0 && isFirstCopy(looked, status))
    return `first copy at ${thousands(judged.length - look)} of ${lists}`;
  if (look === 0) return judged.length === 1 ? '1 list, fresh' : `${lists}, all fresh`;
  return `${thousands(look)} of ${lists} ${look === 1 ? 'needs' : 'need'} a look`;
}

/** True while a process makes the first copy, and it has only not read these lists yet. */
function isFirstCopy(looked: readonly JudgedList[], { leaseHeld }: JudgedStatus): boolean {
  return leaseHeld && looked.every(({ freshness, failure }) => freshness === 'never' && failure === null);
}

function troubles(status: JudgedStatus): string[] {
  const { gateWord, outage, otherAccount } = status;
  const shut = gateWord === 'key-refused' ? null : shutGate(status);
  return [
    ...(gateWord === 'key-refused' ? ['the service refused the key'] : []),
    ...(shut === null ? [] : [`requests are stopped ${shut.why}`]),
    ...(outage === null ? [] : [outageWords(outage)]),
    ...(otherAccount === null ? [] : ['the service shows another account']),
  ];
}

/** When the daemon reads next: a page, a whole list, or a list by its schedule. */
function nextWords(status: WholeStatus): string {
  const { daemonRuns, nextReading, nextWalk, schedules, now, outage, otherAccount } = status;
  if (status.daemonIsSilent) return 'the daemon has ended or cannot write';
  if (!daemonRuns) return 'no daemon is running';
  const standstill = scheduledStandstillOf(status);
  if (standstill?.until === null) return `no reading ${standstill.why}`;
  const slots = schedules.map(({ nextAt }) => nextAt.getTime());
  const planned = Math.min(...slots, nextReading?.at ?? Infinity, nextWalk ?? Infinity);
  // The daemon resumes at the end of a halt, whatever the schedules say.
  const at = notBefore(standstill, haltOf(status) === null ? planned : now);
  if (!Number.isFinite(at)) return 'a daemon is running';
  const what = outage === null && otherAccount === null ? 'reading' : 'attempt';
  return `next ${what} ${whenDue(new Date(at), now)}`;
}

/** The table of the lists that need a look, or of all, and a line for those that it leaves out. */
export function listSections(output: Output, status: JudgedStatus, all: boolean): string[] {
  const shown = all ? status.judged : status.judged.filter(({ needsLook }) => needsLook);
  const hidden = status.judged.length - shown.length;
  const table =
    shown.length === 0 ? [] : [listTable(output, shown, status), '', ...heldLines(output, status)];
  if (hidden === 0) return table;
  const are = hidden === 1 ? 'is' : 'are';
  return [...table, `lists    ${plural(hidden, 'fresh list')} ${are} not shown; --all shows every list`];
}

/** The deletions that a person must accept, each with its command. */
function heldLines(output: Output, { judged }: JudgedStatus): string[] {
  return heldDeletions(judged).map((held) => {
    const { inbox } = held.lists[0];
    const lists = heldLists(held, inbox === null ? null : asCell(inbox));
    const words = `${lists}: ${paint(output, 'red', heldWords(held))}`;
    return `held     ${words}. ${ifGone(held)}, run \`${held.command}\``;
  });
}

function listTable(output: Output, shown: readonly JudgedList[], status: JudgedStatus): string {
  const columns: Column[] = [
    { title: 'inbox' },
    { title: 'list' },
    { title: 'complete as of' },
    { title: 'rows', align: 'right' },
    { title: 'state' },
  ];
  const rows = shown.map((list) => [
    list.inboxId === null ? '' : `${asCell(list.inbox ?? 'no name')} (${list.inboxId})`,
    list.list,
    fromNow(list.completeAsOf, status.now),
    list.rows === null ? '' : thousands(list.rows),
    stateOf(output, list, status),
  ]);
  return renderTable(output, columns, rows);
}

function whatFailed({ failures, failingPages }: JudgedList, now: number): string {
  if (failures !== null || failingPages === null) return 'last sweep failed';
  const { since, requests } = failingPages;
  const lasts = duration(now - since.getTime());
  return `no page could be read for ${lasts} (${plural(requests, 'request')} failed)`;
}

function stateOf(output: Output, list: JudgedList, { now, leaseHeld, outage }: JudgedStatus): string {
  const colour = { fresh: 'green', stale: 'yellow', never: 'yellow' } as const;
  const words = {
    fresh: 'fresh',
    stale: `stale (older than ${duration(list.promiseMs)})`,
    never: 'never complete',
  };
  const parts = [paint(output, colour[list.freshness], words[list.freshness])];
  const sweepState = leaseHeld ? list.sweep?.state : 'interrupted';
  if (list.sweep !== null)
    parts.push(
      `sweep ${sweepState} after ${plural(list.sweep.pages, 'page')}, ${restartsOf(list.sweep)}` +
        `started ${fromNow(list.sweep.startedAt, now)}${outage === null ? causeOf(list.sweep) : ''}`,
    );
  if (list.suspects > 0) parts.push(suspectWords(list, now));
  if (list.unlisted > 0) parts.push(`${thousands(list.unlisted)} left out by the list`);
  if (list.held > 0) parts.push(paint(output, 'red', `${plural(list.held, 'deletion')} held`));
  if (list.rejected > 0) parts.push(`${thousands(list.rejected)} unreadable`);
  if (list.withoutId > 0)
    parts.push(
      paint(output, 'yellow', `deletions wait: ${plural(list.withoutId, 'row')} without a readable id`),
    );
  if (list.authorised === false)
    parts.push(paint(output, 'yellow', 'mailbox not authorised: nothing new arrives'));
  // Last, because a sentence of the service is no part of an enumeration.
  return [parts.join(', '), ...failureParts(output, list, now)].join('; ');
}

function failureParts(output: Output, list: JudgedList, now: number): string[] {
  const { failure } = list;
  const words = failureWords(list, now);
  return [
    ...(failure === null
      ? []
      : [paint(output, 'red', `${whatFailed(list, now)}: ${asCell(failureCause(failure))}`)]),
    ...(words === null ? [] : [words]),
  ];
}

function restartsOf({ restarts }: LatestSweep): string {
  return restarts === 0 ? '' : `begun again ${plural(restarts, 'time')} because its page tokens expire, `;
}

function suspectWords(list: JudgedList, now: number): string {
  const words = `${thousands(list.suspects)} not listed`;
  const { missingSince: since } = list;
  if (!hasLongMissed(since, now)) return words;
  return `${words} for up to ${duration(now - since.getTime())}`;
}

/** A command that met an outage records it nowhere else. Other errors are those of a line of their own. */
function causeOf({ error, errorCode }: Pick<LatestSweep, 'error' | 'errorCode'>): string {
  const isOutage = errorCode === 'SERVICE_DOWN' || errorCode === 'ANSWER_FAILED';
  return isOutage && error !== null ? `: ${asCell(error)}` : '';
}
