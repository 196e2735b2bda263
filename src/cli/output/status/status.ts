import { type Budget, BUDGET_WINDOW_MS, requestsLeft } from '../../../core/budget.ts';
import { HOUR } from '../../../core/clock.ts';
import { type ForeignUse, outageWords } from '../../../core/gate-state.ts';
import { clockTime, fromNow, thousands, whenDue, duration, plural } from '../../../core/humanize.ts';
import { LIST_NAMES } from '../../../core/lists.ts';
import { asCell, drawsPictures, type Output, paint, wrapped } from '../../../session/terminal.ts';
import { othersWords } from '../../../session/key/use.ts';
import { isTelling, type MeasuredDelay } from '../../../status/delay.ts';
import type { JudgedStatus } from '../../../status/judge.ts';
import type { WholeStatus } from '../../../status/observe.ts';
import {
  attemptWords,
  notBefore,
  scheduledStandstillOf,
  type Standstill,
  standstillOf,
} from '../../../status/sending.ts';
import type { SpentRequests } from '../../../status/spent.ts';
import { LEAST_MISSED } from '../../../sync/planning/pages/outlook.ts';
import { requestsWords } from './requests.ts';
import { coverWords, stretchWords } from '../load.ts';
import { delayWords, missedWords, pagesWords, spentWords } from '../plan.ts';
import { sparkline } from '../sparkline.ts';
import { headlineOf, listSections } from './lists.ts';

/** The width of the words (`budget`, `requests`, …) before each line. */
const HANGING = 9;

/**
 * The status as `inbox-mirror status` prints it: one sentence, a table of the lists that need a look, then a
 * line for each other fact.
 * @param all whether the table has every list
 */
export function statusAsText(output: Output, status: WholeStatus, all: boolean): string {
  const headline = wrapped(output, headlineOf(output, status));
  const sections = [...listSections(output, status, all), budgetLine(status)];
  if (status.sent > 0) sections.push(...spentLines(output, status.spent));
  sections.push(`requests ${requestsWords(output, withoutRepeat(status), status.now)}`);
  if (status.foreign !== null) sections.push(`use      ${foreignWords(status.foreign, status)}`);
  if (status.others.length > 0) sections.push(`key      ${asCell(othersWords(status.others))}`);
  if (status.outage !== null) sections.push(outageLine(output, status.outage, status));
  if (status.otherAccount !== null) sections.push(accountLine(output, status.otherAccount, status));
  if (status.outlook !== null) sections.push(`pages    ${pagesWords(status.outlook, status.now)}`);
  if (status.coverDays > 1) sections.push(`cover    ${coverWords(status.coverDays)}`);
  if (status.stretch !== null) sections.push(`slots    ${stretchWords(status.stretch)}`);
  if (status.delay !== null) sections.push(...delayLines(output, status.delay));
  sections.push(leaseLine(status));
  if (status.daemonRuns && status.schedules.length > 0) sections.push(nextLine(status));
  if (status.waiting !== null) sections.push(waitingLine(status.waiting, status));
  if (status.webhook !== null) sections.push(webhookLine(output, status.webhook, status));
  for (const pass of status.openPasses)
    sections.push(`pass     ${pass.requestedBy}, ${passState(pass, status)}`);
  return `${headline}\n\n${wrapped(output, sections.join('\n'), HANGING)}`;
}

function passState(
  { ordered, requestedBy, requestedAt, startedAt }: JudgedStatus['openPasses'][number],
  status: JudgedStatus,
): string {
  const { leaseHeld, lease, now } = status;
  if (startedAt === null) return `ordered ${fromNow(requestedAt, now)}, waits for the daemon`;
  const started = `started ${fromNow(startedAt, now)}`;
  if (ordered && status.orderWait !== null) {
    const { kind, until } = status.orderWait;
    return `${started}, waits (${kind}), resumes ${whenDue(until, now)}`;
  }
  if (ordered) return `${started}, ${leaseHeld ? 'under way' : 'resumes when a daemon starts'}`;
  const isRunning = leaseHeld && lease?.command === requestedBy;
  return `${started}, ${isRunning ? 'under way' : 'interrupted; run it again to resume'}`;
}

/** The standstill of requests. It refers to the line `service` or `account` if that has its cause. */
function withoutRepeat(status: JudgedStatus): Standstill | null {
  const standstill = standstillOf(status);
  const { outage, otherAccount } = status;
  const line =
    standstill?.cause === otherAccount?.cause
      ? 'account'
      : standstill?.cause === outage?.cause
        ? 'service'
        : null;
  if (standstill === null || line === null) return standstill;
  return { ...standstill, why: `${standstill.why}: see "${line}"`, cause: '' };
}

function budgetLine({ sent, budget, fullUntil, now }: JudgedStatus): string {
  const left = requestsLeft(budget, sent);
  const frees = fullUntil.manual === null ? '' : `, the next one ${fromNow(fullUntil.manual, now)}`;
  const hours = Math.floor(BUDGET_WINDOW_MS / HOUR);
  return (
    `budget   ${thousands(sent)} of ${thousands(budget.perDay)} requests in the last ${hours} h, ` +
    `${thousands(left)} left (${thousands(budget.reserved)} kept for manual commands)${frees}`
  );
}

/** The words of `status` and `doctor` about others who use the account. */
export function foreignWords(
  use: ForeignUse,
  { budget, now }: { budget: Pick<Budget, 'perSecond'>; now: number },
): string {
  if (use.kind === 'rate') {
    const gap = `${Math.ceil((100 * use.slowdown) / budget.perSecond) / 100} s`;
    return (
      `the service answered 429 (too many requests): requests now leave at least ${gap} apart. If it ` +
      'answers 429 again, another client uses the account, or REQUESTS_PER_SECOND is too high'
    );
  }
  const sent = plural(use.sent, 'request');
  return (
    `the account's day was full ${fromNow(use.at, now)}, after ${sent} of this mirror: another ` +
    'client uses the account, or REQUESTS_PER_DAY is too high. ' +
    `The budget is lowered until ${clockTime(use.until, now, 'UTC')}; ` +
    '`inbox-mirror doctor --reset-gate` restores it'
  );
}

function outageLine(
  output: Output,
  outage: NonNullable<JudgedStatus['outage']>,
  status: JudgedStatus,
): string {
  const { since, until, cause } = outage;
  const words = outageWords(outage).replace(/^the service (?:is )?/, '');
  const lasted = duration(status.now - since.getTime());
  const next = attemptWords(until, status);
  return `service  ${paint(output, 'red', words)} for ${lasted}, next attempt ${next} (${cause})`;
}

function accountLine(
  output: Output,
  { since, until, cause }: NonNullable<JudgedStatus['otherAccount']>,
  status: JudgedStatus,
): string {
  const found = `${paint(output, 'red', "not the mirror's")}, found ${fromNow(since, status.now)}`;
  const next = status.daemonRuns
    ? `a daemon tests it again ${attemptWords(until, status)}`
    : 'the next `sync`, or a daemon, tests it again';
  return `account  ${found}; ${next}. ${cause}`;
}

function spentLines(output: Output, spent: SpentRequests): string[] {
  const most = `requests by the hour, at most ${thousands(Math.max(...spent.byHour))}`;
  return [`spent    ${spentWords(spent)}`, ...byHour(output, spent.byHour, most)];
}

function delayLines(output: Output, delay: MeasuredDelay): string[] {
  if (!isTelling(delay)) return [`delay    ${delayWords(delay)}`];
  const greatest = Math.max(...delay.medianByHour.map((ms) => ms ?? 0));
  const most = `median by the hour, at most ${duration(greatest)}`;
  return [`delay    ${delayWords(delay)}`, ...byHour(output, delay.medianByHour, most)];
}

/** A picture of the last 24 hours, now at its right, and its scale; nothing where it cannot be drawn. */
function byHour(output: Output, values: readonly (number | null)[], scale: string): string[] {
  return drawsPictures(output) ? [`${' '.repeat(HANGING)}${sparkline(values)}  ${scale}`] : [];
}

function nextLine(status: WholeStatus): string {
  const { schedules, outlook, nextReading, nextWalk, judged, now } = status;
  const standstill = scheduledStandstillOf(status);
  const when = (planned: number): string => {
    const at = notBefore(standstill, planned);
    if (at === Infinity) return 'after that';
    return whenDue(new Date(at), now);
  };
  const slots = LIST_NAMES.flatMap((name) => schedules.filter(({ list }) => list === name));
  const lists = slots.map(({ list, nextAt }) => `${list} ${when(nextAt.getTime())}`).join(', ');
  const walk = nextWalk === null ? '' : `a whole list ${when(nextWalk)}; `;
  if (nextReading === null || outlook === null)
    return `next     ${walk === '' ? '' : `${walk}by schedule `}${lists}`;
  const { at, inboxId, page, pages } = nextReading;
  const inbox = judged.find((list) => list.inboxId === inboxId)?.inbox ?? 'no name';
  const reading = `page ${page} of ${pages} of ${asCell(inbox)} (${inboxId}) ${when(at)}`;
  const missed = outlook.missed < LEAST_MISSED ? '' : `; ${missedWords(outlook.missed)}`;
  return `next     ${reading}${missed}; ${walk}by schedule ${lists}`;
}

function waitingLine(
  { lists, requests, until }: NonNullable<JudgedStatus['waiting']>,
  status: JudgedStatus,
): string {
  const waiting = `waiting  ${plural(lists, 'due list')}, ${plural(requests, 'request')} in all`;
  if (status.outage !== null) return `${waiting}; they begin when the outage is over`;
  const at = notBefore(scheduledStandstillOf(status), until.getTime());
  return at === Infinity ? waiting : `${waiting}; the first begins ${whenDue(new Date(at), status.now)}`;
}

function webhookLine(
  output: Output,
  { hasBegun, pending, failures, retryAt, cause, setAside, setAsideId }: NonNullable<JudgedStatus['webhook']>,
  { daemonRuns, now }: Pick<JudgedStatus, 'daemonRuns' | 'now'>,
): string {
  if (!hasBegun) return 'webhook  not begun: it gets the changes from the next start of the daemon on';
  const all = setAside === 0 ? 'every change' : 'every other change';
  const due = pending === 0 ? `${all} is delivered` : `${plural(pending, 'change')} to deliver`;
  const refused = `${plural(setAside, 'change')} refused and set aside, the newest with id ${setAsideId}`;
  const waiting = setAside === 0 ? due : `${due}, ${paint(output, 'red', refused)}`;
  if (failures === 0 || retryAt === null) return `webhook  ${waiting}`;
  const failed = paint(output, 'red', `failed ${failures === 1 ? 'once' : `${thousands(failures)} times`}`);
  const next = daemonRuns ? whenDue(retryAt, now) : 'when a daemon runs';
  return `webhook  ${waiting}, ${failed}, next attempt ${next} (${cause ?? 'cause unknown'})`;
}

function leaseLine({ lease, leaseHeld, daemonIsSilent, now }: JudgedStatus): string {
  if (lease === null || !(leaseHeld || daemonIsSilent)) return 'lease    free';
  const { command, pid, host, acquiredAt, heartbeatAt } = lease;
  const holder = `\`${command}\`, process ${pid} on ${host}`;
  const heartbeat = fromNow(heartbeatAt, now);
  if (daemonIsSilent) return `lease    expired: ${holder}, last renewed it ${heartbeat}`;
  const held = duration(now - acquiredAt.getTime());
  return `lease    held by ${holder}, for ${held}, last heartbeat ${heartbeat}`;
}
