import type { Command } from 'commander';
import { EXIT } from '../../core/errors.ts';
import { type Io, printJson, printLine } from '../../session/terminal.ts';
import { jsonOption, type Runner } from '../options.ts';

export function addPlan(program: Command, run: Runner): void {
  program
    .command('plan')
    .summary('print which pages are read next, and why')
    .description(
      'Prints which pages of conversations the daemon reads in the next hour, and why, what was learned of ' +
        'the delays, and what another budget would bring. Sends no request.',
    )
    .addOption(jsonOption())
    .action(({ json = false }: { json?: boolean }) => run((io) => printPlan(io, json)));
}

async function printPlan(io: Io, json: boolean): Promise<number> {
  const { sharedClock, systemClock } = await import('../../session/clock.ts');
  const { openReader } = await import('../../session/reader.ts');
  const { measuredDelay } = await import('../../status/delay.ts');
  const { haltOf, notBefore } = await import('../../status/sending.ts');
  const { liveDaemon } = await import('../../session/lease/live-daemon.ts');
  const { nextWalk } = await import('../../sync/planning/agenda.ts');
  const { loadOf } = await import('../../sync/planning/load/load.ts');
  const { readOutlook } = await import('../../sync/planning/pages/outlook.ts');
  const { recordedCrons } = await import('../../sync/planning/stretch.ts');
  const { planAsJson, planAsText } = await import('../output/plan.ts');
  const { config, mirror } = await openReader(io);
  try {
    const { clock } = await sharedClock(mirror, systemClock());
    const now = clock.now();
    const { budget, readPages, reportTimezone: timezone } = config;
    const stretches = readPages?.stretches === true;
    const readsPages = readPages !== null;
    const crons = recordedCrons(await mirror.schedules.all(), config);
    const { gate, outage: stored, otherAccount } = await mirror.loopState();
    const daemonRuns = (await liveDaemon({ mirror, clock })) !== null;
    // Without a daemon nothing ends an outage that is over.
    const outage = daemonRuns || (stored?.until.getTime() ?? 0) > now ? stored : null;
    const report = {
      now,
      gate,
      outage,
      otherAccount,
      daemonRuns,
      readsPages,
      outlook: await readOutlook(mirror, {
        budget,
        readsPages,
        stretches,
        cron: crons.conversations,
        timezone,
        now,
        opensAt: notBefore(haltOf({ gate, outage, otherAccount, now }), now),
      }),
      load: await loadOf(mirror, crons, { budget, readPages }, now),
      walkAt: readsPages ? await nextWalk(mirror, budget, now) : null,
      delay: measuredDelay(await mirror.delays(now), now),
      spent: await mirror.budget.byKind(now),
      lost: await mirror.bookmarks.lost(),
      names: new Map((await mirror.inboxes()).map(({ id, name }) => [id, name])),
    };
    if (json) printJson(io.stdout, planAsJson(report));
    else printLine(io.stdout, planAsText(io.stdout, report));
    return EXIT.done;
  } finally {
    await mirror.close();
  }
}
