import { EXIT, isMirrorError } from '../../core/errors.ts';
import { ago } from '../../core/humanize.ts';
import type { Order } from '../../mirror/passes/orders.ts';
import type { PassSpec } from '../../mirror/passes/passes.ts';
import { liveDaemon } from '../../session/live-daemon.ts';
import type { Session } from '../../session/session.ts';
import { type Io, paint, printLine } from '../../session/terminal.ts';
import type { PassReport } from '../../sync/pass.ts';
import { fromRecord, type PassRecord } from '../../sync/record.ts';
import type { PassDisplay } from './display.ts';
import { type Followed, followOrder } from './follow.ts';
import { passExitCode, printOutcome } from './outcome.ts';

interface Wanted {
  readonly spec: PassSpec;
  readonly json: boolean;
}

/** Places the order, says so, and leaves it at that (`--detach`). @returns the exit code */
export async function orderPass(io: Io, session: Session, { spec, json }: Wanted): Promise<number> {
  const { mirror, clock } = session;
  const { id, joined } = await mirror.orders.place(spec, clock.now());
  const daemon = await liveDaemon(session);
  if (json) printLine(io.stdout, JSON.stringify({ order: id, joined }));
  else if (joined)
    printLine(io.stdout, `${await sameAs(session, id)}, as order ${id}; \`inbox-mirror status\` shows it.`);
  else if (daemon !== null)
    printLine(io.stdout, `Order ${id} is with the daemon; \`inbox-mirror status\` shows it.`);
  if (daemon === null) {
    const words = `No daemon is running: order ${id} waits until \`inbox-mirror start\` runs one.`;
    printLine(io.stderr, `${paint(io.stderr, 'yellow', 'warning:')} ${words}`);
  }
  return EXIT.done;
}

/**
 * Hands a pass to the daemon, follows it with a display and reports as if it had been done here.
 * @returns the exit code, or null where no daemon began it after all and it is to be done here
 * @throws MirrorError `USAGE` for an inbox that the service does not have
 */
export async function followPass(
  io: Io,
  session: Session,
  display: PassDisplay,
  { spec, json }: Wanted,
): Promise<number | null> {
  const { config, mirror, clock, log } = session;
  const { budget } = config;
  const placed = await mirror.orders.place(spec, clock.now());
  const say = (text: string): void => display.writeLog(`${text}\n`);
  say(
    placed.joined
      ? `${await sameAs(session, placed.id)}; following it.`
      : `The daemon does this as order ${placed.id}; Ctrl-C leaves it at work.`,
  );
  display.begin({ budget, sentBefore: await mirror.budget.sentToday(clock.now()) });
  let followed;
  try {
    followed = await followOrder(
      {
        mirror,
        clock,
        signal: io.signal,
        budget,
        onEvent: (event) => display.event(event, log),
        note: (text) => display.note(text),
        say,
      },
      placed,
    );
  } finally {
    display.end();
  }
  if (followed.kind === 'not-begun') {
    say('The daemon has stopped and had not begun the order; doing the work here.');
    return null;
  }
  return await tellEnd(io, session, followed, json);
}

/** `The same sync is already under way, begun 3 min ago`. */
async function sameAs({ mirror, clock }: Session, id: number): Promise<string> {
  const order = await mirror.orders.read(id);
  const words = `The same ${order?.kind ?? 'pass'} is already`;
  return order?.startedAt == null
    ? `${words} ordered, ${ago(order?.requestedAt ?? null, clock.now())}`
    : `${words} under way, begun ${ago(order.startedAt, clock.now())}`;
}

async function tellEnd(
  io: Io,
  session: Session,
  followed: Exclude<Followed, { kind: 'not-begun' }>,
  json: boolean,
): Promise<number> {
  const { order } = followed;
  const report = reportOf(followed);
  // What was asked for wrongly, and what nobody knows the meaning of, is told as it is where the work is done here.
  if (isMirrorError(report.stopped, 'USAGE') || (report.stopped !== null && !isMirrorError(report.stopped)))
    throw report.stopped;

  const begun = order.startedAt ?? order.requestedAt;
  const ended = order.finishedAt ?? new Date(session.clock.now());
  const cost = {
    requests: await session.mirror.orderSweeps.countRequests(begun, ended),
    milliseconds: Math.max(0, ended.getTime() - begun.getTime()),
  };
  if (!json && isMirrorError(report.stopped, 'STOPPED')) printLine(io.stderr, report.stopped.message);
  else await printOutcome(io, session, report, { cost, order: order.id, json });
  if (followed.kind === 'left' || order.report !== null || order.state === 'done')
    return passExitCode(report);
  const words = `the daemon gave order ${order.id} up: ${order.error ?? 'cause unknown'}`;
  printLine(io.stderr, `${paint(io.stderr, 'red', 'failed:')} ${words}`);
  return EXIT.unexpected;
}

/** The order as a pass: by its own record, or by how far its lists were seen to have come. */
function reportOf({ order, lists, ...followed }: Exclude<Followed, { kind: 'not-begun' }>): PassReport {
  const record = order.report === null ? { lists, stopped: null } : fromRecord(order.report as PassRecord);
  const resumed = record.lists.some(({ outcome }) => outcome === 'already');
  const pass: PassReport['pass'] = { id: order.id, startedAt: startOf(order), resumed };
  return { pass, lists: record.lists, stopped: followed.kind === 'left' ? followed.why : record.stopped };
}

function startOf({ startedAt, requestedAt }: Order): Date {
  return startedAt ?? requestedAt;
}
