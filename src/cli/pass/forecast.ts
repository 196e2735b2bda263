import { SECOND } from '../../core/clock.ts';
import { clockTime, thousands, duration, plural } from '../../core/humanize.ts';
import { listId } from '../../core/lists.ts';
import { inboxNotInService } from '../../mirror/mirror.ts';
import type { Scope } from '../../mirror/passes/scope.ts';
import type { Session } from '../../session/session.ts';
import { type Output, printJson, printLine, wrapped } from '../../session/terminal.ts';
import { notBefore, sendingWords, shutGate } from '../../status/sending.ts';
import { type Forecast, forecastResync } from '../../sync/planning/forecast.ts';

/**
 * Prints the cost of a resync: requests, share of the day's budget, and when it would end. Sends no request.
 * @throws MirrorError `USAGE` for an inbox that the mirror does not have
 */
export async function printForecast(
  output: Output,
  { config, clock, mirror }: Session,
  scope: Scope,
  json: boolean,
): Promise<void> {
  const inboxes = await mirror.inboxes();
  const { inboxId } = scope;
  if (inboxId !== null && inboxes.length > 0 && !inboxes.some(({ id }) => id === inboxId))
    throw inboxNotInService(inboxId, inboxes);
  const now = clock.now();
  const window = await mirror.budget.windowByHour(now);
  const forecast = await forecastResync(mirror, scope, config.budget, window);
  const shut = shutGate({ gate: (await mirror.loopState()).gate, now });
  const opensAt = notBefore(shut, now);
  // The wait for another key has no known end: the forecast then begins now.
  const endsAt = new Date((opensAt === Infinity ? now : opensAt) + forecast.lastsMs);
  if (json) {
    printJson(output, JSON.stringify(asJson(forecast, endsAt), null, 2));
    return;
  }
  const words = asWords(forecast, clockTime(endsAt, now, config.reportTimezone));
  const stopped = sendingWords(shut, now, config.reportTimezone);
  const wait = `Requests are ${stopped}: the resync begins after that.`;
  printLine(output, wrapped(output, shut === null ? words : `${words}\n${wait}`));
}

/** @param end the time of day at which the resync would end */
function asWords(forecast: Forecast, end: string): string {
  const { requests, perDay, sentInWindow, lastsMs, complete } = forecast;
  const percent = (requests / perDay) * 100;
  const share = percent > 0 && percent < 0.1 ? 'under 0.1' : percent.toFixed(1);
  const lists = plural(forecast.lists.length, 'list');
  const cost = `${complete ? '' : 'at least '}${plural(requests, 'request')}`;
  const lines = [
    `A resync of ${lists} costs ${cost}: ` +
      `${share} % of the day's ${thousands(perDay)}, of which ${thousands(sentInWindow)} are used.`,
    `It takes ${complete ? '' : 'at least '}${duration(lastsMs)}, until ${end}.`,
  ];
  if (!complete) lines.push('The size of some lists is unknown: no sweep has read them to their end yet.');
  if (requests + sentInWindow > perDay)
    lines.push('It needs more requests than the day has left, and pauses then; run it again to resume.');
  return lines.join('\n');
}

function asJson(
  { lists, requests, complete, sentInWindow, perDay, lastsMs }: Forecast,
  endsAt: Date,
): unknown {
  return {
    requests,
    complete,
    share_of_day: requests / perDay,
    sent_today: sentInWindow,
    requests_per_day: perDay,
    seconds: Math.round(lastsMs / SECOND),
    ends_at: endsAt.toISOString(),
    lists: lists.map(({ key, requests: cost, known }) => ({
      list: key.list,
      inbox_id: key.inboxId,
      id: listId(key),
      requests: cost,
      known,
    })),
  };
}
