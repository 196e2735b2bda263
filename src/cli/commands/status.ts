import type { Command } from 'commander';
import { SECOND } from '../../core/clock.ts';
import { EXIT, isMirrorError, isPassingFailure, MirrorError } from '../../core/errors.ts';
import { harmless, type Io, printJson, printLine, wrapped } from '../../session/terminal.ts';
import type { WholeStatus } from '../../status/observe.ts';
import { jsonOption, type Runner } from '../options.ts';

/** `--watch` reads the mirror again after this many ms. */
const WATCH_MS = 2 * SECOND;

interface StatusOptions {
  readonly all?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
}

export function addStatus(program: Command, run: Runner): void {
  program
    .command('status')
    .summary('print freshness, budget, requests and lease')
    .description(
      'Prints one sentence, the lists that need a look, the budget, whether requests leave, and the lease. ' +
        'Sends no request. ' +
        'Exits with 5 if a list is stale or was never complete, its latest sweep failed, the gate is shut, ' +
        'or a daemon has recorded an outage.',
    )
    .option('--all', 'print every list, also the fresh ones')
    .option('--watch', 'print again every 2 s on a terminal, until Ctrl-C')
    .addOption(jsonOption())
    .action((options: StatusOptions) => run((io) => runStatus(io, options)));
}

async function runStatus(
  io: Io,
  { all = false, watch = false, json = false }: StatusOptions,
): Promise<number> {
  if (watch) return await watchStatus(io, { all, json });
  const { statusAsJson } = await import('../../status/json.ts');
  const { statusAsText } = await import('../output/status/status.ts');
  const status = await readStatus(io);
  if (json) printJson(io.stdout, statusAsJson(status));
  else printLine(io.stdout, statusAsText(io.stdout, status, all));
  return status.healthy ? EXIT.done : EXIT.stale;
}

/** Draws the status in place until the signal is aborted. */
async function watchStatus(io: Io, { all, json }: { all: boolean; json: boolean }): Promise<number> {
  const { stdout, signal } = io;
  if (json || stdout.isTTY !== true)
    throw new MirrorError(
      'USAGE',
      '--watch draws on a terminal only, and no JSON. For a program, run `status --json` again and again.',
    );
  const { createLogUpdate } = await import('log-update');
  const { systemClock } = await import('../../session/clock.ts');
  const { statusAsText } = await import('../output/status/status.ts');
  const update = createLogUpdate(stdout as NodeJS.WriteStream);
  const clock = systemClock();
  try {
    while (!signal.aborted) {
      const text = await readStatus(io).then(
        (status) => statusAsText(stdout, status, all),
        (error: unknown) => {
          if (!isPassingFailure(error)) throw error;
          return wrapped(stdout, `${error.message} Meanwhile --watch tries again.`);
        },
      );
      update(harmless(stdout, text));
      await clock.sleep(WATCH_MS, signal).catch(() => undefined);
    }
  } finally {
    update.done();
  }
  return EXIT.interrupted;
}

async function readStatus(io: Io): Promise<WholeStatus> {
  const { thisProcess } = await import('../../session/lease/claim.ts');
  const { sharedClock, systemClock } = await import('../../session/clock.ts');
  const { openReader } = await import('../../session/reader.ts');
  const { readDetails, readJudgedStatus } = await import('../../status/observe.ts');
  const { recordedCrons } = await import('../../sync/planning/stretch.ts');
  const { openExisting } = await import('../../query/open.ts');
  const { config, mirror, others } = await openReader(io, openExisting);
  try {
    const { clock } = await sharedClock(mirror, systemClock());
    const self = { ...thisProcess(), isWriter: false };
    const judged = await readJudgedStatus(mirror, { now: clock.now(), config, self, others });
    if (!judged.daemonRuns) {
      const crons = recordedCrons(judged.schedules, config);
      // An account that may only read prints the status all the same: the view keeps the slots that it has.
      await mirror.keepSlots(crons, clock.now()).catch((error: unknown) => {
        if (!isMirrorError(error, 'DATABASE')) throw error;
      });
    }
    return await readDetails(mirror, config, judged);
  } finally {
    await mirror.close();
  }
}
