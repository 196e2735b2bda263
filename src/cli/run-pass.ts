import { LIST_NAMES, type ListName } from '../core/lists.ts';
import { MirrorError, isMirrorError } from '../core/errors.ts';
import { duration, count, plural } from '../core/words.ts';
import { BUDGET_WINDOW_MS } from '../core/ledger.ts';
import type { PassSpec } from '../store/passes.ts';
import { countSent } from '../store/status.ts';
import { runPass } from '../sync/pass.ts';
import type { Io } from './io.ts';
import { printLine } from './io.ts';
import { type PassDisplay, passDisplay } from './pass-display.ts';
import { type PassCost, passExitCode, printReport, reportAsJson } from './pass-report.ts';
import { type Session, openSession } from './session.ts';

export interface PassCommand {
  readonly spec: Omit<PassSpec, 'requestedBy'>;
  readonly command: string;
  readonly json: boolean;
  /** Runs before the first request; false ends the command there. */
  readonly before?: (session: Session) => Promise<boolean>;
}

/** Words of a person to list names, all of them where none is given. @throws MirrorError `USAGE` */
export function parseLists(words: readonly string[]): readonly ListName[] {
  const unknown = words.filter((word) => !LIST_NAMES.some((list) => list === word));
  if (unknown.length > 0)
    throw new MirrorError(
      'USAGE',
      `There is no list ${unknown.map((word) => `"${word}"`).join(', ')}. The lists are: ${LIST_NAMES.join(', ')}.`,
    );
  return words.length === 0 ? LIST_NAMES : LIST_NAMES.filter((list) => words.includes(list));
}

/** Runs one pass as `sync` and `resync` do: claim, walk with a display, report. @returns the exit code */
export async function runPassCommand(io: Io, { spec, command, json, before }: PassCommand): Promise<number> {
  const display = passDisplay(io.stderr, () => Date.now());
  const session = await openSession(io, {
    writeLog: (line) => display.writeLog(line),
    onGateEvent: (event) => display.gateEvent(event),
  });
  try {
    if (before !== undefined && !(await before(session))) return 0;
    return await runClaimed(io, session, display, { spec, command, json });
  } finally {
    await session.close();
  }
}

async function runClaimed(io: Io, session: Session, display: PassDisplay, { spec, command, json }: PassCommand): Promise<number> {
  const { config, clock, client, database, log } = session;
  const { store, signal } = await session.claim(command);
  const sentBefore = await countSent(database, clock.now() - BUDGET_WINDOW_MS);
  const startedAt = clock.now();
  const startedMonotonic = clock.monotonic();
  const onAbort = (): void => display.stopping();
  signal.addEventListener('abort', onAbort);
  display.begin({ ...config, sentBefore });
  let report;
  try {
    const deps = {
      client,
      store,
      clock,
      signal,
      onEvent: (event: Parameters<PassDisplay['event']>[0]) => display.event(event, log),
    };
    report = await runPass(deps, { ...spec, requestedBy: command });
  } finally {
    signal.removeEventListener('abort', onAbort);
    display.end();
  }
  if (report.stopped !== null && !isMirrorError(report.stopped)) throw report.stopped;

  const requests = await countSent(database, startedAt - 1);
  const cost: PassCost = { requests, milliseconds: clock.monotonic() - startedMonotonic };
  if (json) {
    printLine(io.stdout, JSON.stringify(reportAsJson(report, cost), null, 2));
  } else {
    const names = new Map((await store.liveInboxes()).map(({ id, name }) => [id, name]));
    const sent = await countSent(database, clock.now() - BUDGET_WINDOW_MS);
    const words = `${plural(requests, 'request')} in ${duration(cost.milliseconds)}; ${count(sent)} of the day's ${count(config.requestsPerDay)} are used.`;
    printReport(io, report, { cost: words, inboxName: (id) => names.get(id) ?? null });
  }
  return passExitCode(report);
}
