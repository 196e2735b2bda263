import { hostname } from 'node:os';
import { BUDGET_WINDOW_MS, requestsLeft } from '../../core/budget.ts';
import { HOUR } from '../../core/clock.ts';
import { EXIT } from '../../core/errors.ts';
import { ago, count, duration, plural } from '../../core/humanize.ts';
import { LIST_NAMES } from '../../core/lists.ts';
import { isAlive } from '../../session/claim.ts';
import { sharedClock, systemClock } from '../../session/clock.ts';
import { openReader } from '../../session/reader.ts';
import { type Io, paint, printLine, wrapped } from '../../session/terminal.ts';
import { statusAsJson } from '../../status/json.ts';
import type { JudgedList, JudgedStatus } from '../../status/judge.ts';
import { readJudgedStatus } from '../../status/observe.ts';
import { renderTable } from '../output/table.ts';

export async function showStatus(io: Io, { json }: { json: boolean }): Promise<number> {
  const { config, mirror } = await openReader(io);
  try {
    const now = (await sharedClock(mirror, systemClock())).clock.now();
    const self = { host: hostname(), pid: process.pid, isAlive, isWriter: false };
    const status = await readJudgedStatus(mirror, { now, config, self });
    printLine(io.stdout, json ? statusAsJson(status) : wrapped(io.stdout, asWords(io, status), 9));
    return status.healthy ? EXIT.done : EXIT.stale;
  } finally {
    await mirror.close();
  }
}

function asWords(io: Io, status: JudgedStatus): string {
  const sections = [listTable(io, status), '', budgetLine(status), gateLine(io, status)];
  if (status.outage !== null) sections.push(outageLine(io, status.outage, status.now));
  sections.push(leaseLine(status));
  if (status.daemonRuns && status.schedules.length > 0) sections.push(nextLine(status));
  if (status.waiting !== null) sections.push(waitingLine(status.waiting, status.now));
  if (status.webhook !== null) sections.push(webhookLine(io, status.webhook, status.now));
  for (const pass of status.openPasses) {
    sections.push(`pass     ${pass.requestedBy}, ${passState(pass, status)}`);
  }
  return sections.join('\n');
}

function passState(
  { ordered, requestedBy, requestedAt, startedAt }: JudgedStatus['openPasses'][number],
  status: JudgedStatus,
): string {
  const { leaseHeld, lease, now } = status;
  if (startedAt === null) return `ordered ${ago(requestedAt, now)}, waits for the daemon`;
  const begun = `begun ${ago(startedAt, now)}`;
  if (ordered && status.orderWait !== null)
    return `${begun}, waits (${status.orderWait.kind}), goes on ${ago(status.orderWait.until, now)}`;
  if (ordered) return `${begun}, ${leaseHeld ? 'under way' : 'goes on when the daemon is started'}`;
  return `${begun}, ${leaseHeld && lease?.command === requestedBy ? 'under way' : 'interrupted; run it again to go on'}`;
}

function listTable(io: Io, status: JudgedStatus): string {
  const { judged, now } = status;
  const columns = [
    { title: 'inbox' },
    { title: 'list' },
    { title: 'complete as of' },
    { title: 'rows', align: 'right' as const },
    { title: 'state' },
  ];
  const rows = judged.map((list) => [
    list.inboxId === null ? '' : `${list.inbox ?? 'no name'} (${list.inboxId})`,
    list.list,
    ago(list.completeAsOf, now),
    list.rows === null ? '' : list.rows.toLocaleString('en-US'),
    stateOf(io, list, status),
  ]);
  return renderTable(io.stdout, columns, rows);
}

function stateOf(io: Io, list: JudgedList, { now, leaseHeld }: JudgedStatus): string {
  const colour = { fresh: 'green', stale: 'yellow', never: 'yellow' } as const;
  const words = {
    fresh: 'fresh',
    stale: `stale (promised ${duration(list.promiseMs)})`,
    never: 'never complete',
  };
  const parts = [paint(io.stdout, colour[list.freshness], words[list.freshness])];
  if (list.failure !== null) parts.push(paint(io.stdout, 'red', `last sweep failed: ${list.failure}`));
  const sweepState = leaseHeld ? list.sweep?.state : 'interrupted';
  if (list.sweep !== null)
    parts.push(
      `sweep ${sweepState} after ${plural(list.sweep.pages, 'page')}, begun ${ago(list.sweep.startedAt, now)}`,
    );
  if (list.suspects > 0) parts.push(`${count(list.suspects)} not listed`);
  if (list.rejected > 0) parts.push(`${count(list.rejected)} unreadable`);
  if (list.authorised === false)
    parts.push(paint(io.stdout, 'yellow', 'mailbox not authorised: nothing new arrives'));
  return parts.join(', ');
}

function budgetLine({ sent, config, oldestLeavesAt, now }: JudgedStatus): string {
  const left = requestsLeft(config.budget, sent);
  const frees = left > 0 || oldestLeavesAt === null ? '' : `, the next one ${ago(oldestLeavesAt, now)}`;
  return (
    `budget   ${count(sent)} of ${count(config.budget.perDay)} requests in the last ${Math.floor(BUDGET_WINDOW_MS / HOUR)} h, ` +
    `${count(left)} left (${count(config.budget.reserved)} kept for manual commands)${frees}`
  );
}

function gateLine(io: Io, { gate, gateWord, now }: JudgedStatus): string {
  if (gateWord === 'open') return 'gate     open';
  const word = paint(
    io.stdout,
    'red',
    { paused: 'paused', breaker: 'breaker open', 'key-refused': 'shut: the key was refused' }[gateWord],
  );
  const until =
    gate.pausedUntil !== null && gateWord !== 'key-refused' ? `, ends ${ago(gate.pausedUntil, now)}` : '';
  return `gate     ${word}${until} (${gate.cause ?? 'cause unknown'})`;
}

function outageLine(
  io: Io,
  { since, until, cause }: NonNullable<JudgedStatus['outage']>,
  now: number,
): string {
  const again = until.getTime() > now ? ago(until, now) : 'now';
  return `service  ${paint(io.stdout, 'red', 'out of reach')} for ${duration(now - since.getTime())}, tried again ${again} (${cause})`;
}

function nextLine({ schedules, now }: JudgedStatus): string {
  const slots = LIST_NAMES.flatMap((name) => schedules.filter(({ list }) => list === name));
  const when = (nextAt: Date): string => (nextAt.getTime() > now ? ago(nextAt, now) : 'now');
  return `next     ${slots.map(({ list, nextAt }) => `${list} ${when(nextAt)}`).join(', ')}`;
}

function waitingLine({ lists, requests, until }: NonNullable<JudgedStatus['waiting']>, now: number): string {
  const from = until === null ? '' : `, the first until about ${until.toISOString()} (${ago(until, now)})`;
  return `waiting  ${plural(lists, 'due list')} for the day's budget, ${plural(requests, 'request')} in all${from}`;
}

function webhookLine(
  io: Io,
  { pending, failures, retryAt, cause }: NonNullable<JudgedStatus['webhook']>,
  now: number,
): string {
  const waiting = pending === 0 ? 'every change is delivered' : `${plural(pending, 'change')} to deliver`;
  if (failures === 0 || retryAt === null) return `webhook  ${waiting}`;
  const again = retryAt.getTime() > now ? ago(retryAt, now) : 'when the daemon runs';
  return `webhook  ${waiting}, ${paint(io.stdout, 'red', `not taken ${failures === 1 ? 'once' : `${count(failures)} times`}`)}, tried again ${again} (${cause ?? 'cause unknown'})`;
}

function leaseLine({ lease, leaseHeld, now }: JudgedStatus): string {
  if (lease === null || !leaseHeld) return 'lease    free';
  return `lease    held by \`${lease.command}\`, process ${lease.pid} on ${lease.host}, for ${duration(now - lease.acquiredAt.getTime())}, last heard of ${ago(lease.heartbeatAt, now)}`;
}
