import { BUDGET_WINDOW_MS } from '../core/ledger.ts';
import { count, duration, plural } from '../core/words.ts';
import { liveInboxes } from '../store/inboxes.ts';
import { countSent } from '../store/status.ts';
import type { PassReport } from '../sync/pass.ts';
import { type Io, printLine } from './io.ts';
import { type PassCost, printReport, reportAsJson } from './pass-report.ts';
import type { Session } from './session.ts';

/** Prints how a pass ended, done here or, where `order` is an id, by the daemon. */
export async function printOutcome(
  io: Io,
  { config, clock, database }: Session,
  report: PassReport,
  { cost, order, json }: { cost: PassCost; order: number | null; json: boolean },
): Promise<void> {
  if (json) {
    printLine(io.stdout, JSON.stringify(reportAsJson(report, cost, order), null, 2));
    return;
  }
  const names = new Map((await liveInboxes(database)).map(({ id, name }) => [id, name]));
  const sent = await countSent(database, clock.now() - BUDGET_WINDOW_MS);
  const words = `${plural(cost.requests, 'request')} in ${duration(cost.milliseconds)}; ${count(sent)} of the day's ${count(config.requestsPerDay)} are used.`;
  printReport(io, report, { cost: words, inboxName: (id) => names.get(id) ?? null });
}
