import { EXIT, isMirrorError } from '../../core/errors.ts';
import { fromNow } from '../../core/humanize.ts';
import { accessId } from '../../core/secrets.ts';
import { type EndedPass, endedPassOf, isForThisKey } from '../../library/pass/daemon-or-here.ts';
import { followOrder } from '../../library/pass/follow.ts';
import type { PassSpec } from '../../mirror/passes/passes.ts';
import { liveDaemon } from '../../session/lease/live-daemon.ts';
import type { Session } from '../../session/session.ts';
import {
  type Io,
  type Output,
  printFailure,
  printJson,
  printLine,
  printWarning,
  type Streams,
  wrapped,
} from '../../session/terminal.ts';
import { withDisplay } from './display.ts';
import { passExitCode, printOutcome } from './outcome.ts';

interface PassRequest {
  readonly spec: PassSpec;
  readonly json: boolean;
}

/** Places the order and prints its number, without following it (`--detach`). @returns the exit code */
export async function orderPass(
  { stdout, stderr }: Streams,
  session: Session,
  { spec, json }: PassRequest,
): Promise<number> {
  const { mirror, clock, replaceable } = session;
  const { id, joined } = await mirror.orders.place(spec, clock.now(), accessId(session.access()));
  const daemon = await liveDaemon({ mirror, clock });
  if (daemon !== null) await warnOfOtherAccess(stderr, session, spec);
  const say = (text: string): void => printLine(stdout, wrapped(stdout, text));
  if (json) printJson(stdout, JSON.stringify({ order: id, joined }));
  else if (joined) say(`${await sameOrder(session, id)}, as order ${id}; \`inbox-mirror status\` shows it.`);
  else if (daemon !== null && daemon.holder !== replaceable)
    say(`Order ${id} is with the daemon; \`inbox-mirror status\` shows it.`);
  if (daemon !== null && daemon.holder === replaceable)
    printWarning(
      stderr,
      `The service refuses the key of the daemon on ${daemon.host}, so order ${id} will fail. ` +
        'The same command without --detach does the work itself.',
    );
  if (daemon === null) {
    const message = `No daemon is running: order ${id} waits for one, or for this command without --detach.`;
    printWarning(stderr, message);
  }
  return EXIT.done;
}

/**
 * Hands a pass to the daemon, shows its progress, and prints the outcome as if this process had done it.
 * @returns the exit code; null if this process is to do the pass, because no daemon began the order or the
 *   service refuses the daemon's key
 * @throws MirrorError `USAGE` for an inbox that the service does not have
 */
export async function followPass(
  io: Io,
  session: Session,
  { spec, json }: PassRequest,
): Promise<number | null> {
  const { config, mirror, clock } = session;
  const placed = await mirror.orders.place(spec, clock.now(), accessId(session.access()));
  await warnOfOtherAccess(io.stderr, session, spec);
  printLine(
    io.stderr,
    placed.joined
      ? `${await sameOrder(session, placed.id)}; following it.`
      : `The daemon does this as order ${placed.id}; Ctrl-C does not stop it.`,
  );
  const followed = await withDisplay(io.stderr, session, ({ event, note, writeLog }) =>
    followOrder(
      {
        mirror,
        clock,
        signal: io.signal,
        budget: config.budget,
        onEvent: event,
        note,
        print: (text) => writeLog(`${text}\n`),
      },
      placed,
    ),
  );
  if (followed.kind === 'not-begun') {
    printLine(io.stderr, 'The daemon stopped before it began the order; this command does the work.');
    return null;
  }
  const ended = await endedPassOf(session, followed);
  if (await isForThisKey(session, ended, io.signal)) {
    printLine(io.stderr, "The service refuses the daemon's key; this command does the work with its own.");
    return null;
  }
  return await printEnd(io, session, ended, json);
}

/** A daemon refuses the consent to another account of a command with another access. */
async function warnOfOtherAccess(
  stderr: Output,
  { mirror, access }: Session,
  { acceptAccount }: PassSpec,
): Promise<void> {
  const { access: known, refusedSince } = await mirror.account();
  const isKnown = known !== null && refusedSince === null;
  if (acceptAccount || !isKnown || known === accessId(access())) return;
  printWarning(
    stderr,
    'The daemon last read the service with another key or address than those of this command. It does the ' +
      'work with its own.',
  );
}

/** `The same sync is already running, begun 3 min ago`. */
async function sameOrder({ mirror, clock }: Session, id: number): Promise<string> {
  const order = await mirror.orders.read(id);
  const same = `The same ${order?.kind ?? 'pass'} is already`;
  return order?.startedAt == null
    ? `${same} ordered, ${fromNow(order?.requestedAt ?? null, clock.now())}`
    : `${same} running, begun ${fromNow(order.startedAt, clock.now())}`;
}

async function printEnd(
  streams: Streams,
  session: Session,
  ended: EndedPass,
  json: boolean,
): Promise<number> {
  const { stderr } = streams;
  const { stopped } = ended.report;
  // A wrong request and a bug end the command as they do without a daemon.
  if (isMirrorError(stopped, 'USAGE') || (stopped !== null && !isMirrorError(stopped))) throw stopped;

  if (!json && isMirrorError(stopped, 'STOPPED')) printLine(stderr, wrapped(stderr, stopped.message));
  else await printOutcome(streams, session, ended, json);
  if (ended.givenUp === null) return passExitCode(ended.report);
  printFailure(stderr, ended.givenUp);
  return EXIT.unexpected;
}
