import { count, duration, plural } from '../../core/humanize.ts';
import { listId } from '../../core/lists.ts';
import type { Session } from '../../session/session.ts';
import { type Io, printLine, wrapped } from '../../session/terminal.ts';
import { unknownInbox } from '../../sync/pass.ts';
import { type Forecast, forecastResync } from '../../sync/planning/forecast.ts';

/** Prints what a resync would cost: requests, share of the day budget, when it would end. Sends nothing. */
export async function printForecast(
  io: Io,
  { config, clock, mirror }: Session,
  scope: Parameters<typeof forecastResync>[1],
  json: boolean,
): Promise<void> {
  const inboxes = await mirror.inboxes();
  const { inboxId } = scope;
  if (inboxId !== null && inboxes.length > 0 && !inboxes.some(({ id }) => id === inboxId))
    throw unknownInbox(inboxId, inboxes);
  const sent = await mirror.budget.sentToday(clock.now());
  const forecast = await forecastResync(mirror, scope, config.budget, sent);
  const endsAt = new Date(clock.now() + forecast.lastsMs);
  printLine(
    io.stdout,
    json ? JSON.stringify(asJson(forecast, endsAt), null, 2) : wrapped(io.stdout, asWords(forecast, endsAt)),
  );
}

function asWords(forecast: Forecast, endsAt: Date): string {
  const { requests, perDay, sentToday, lastsMs, complete } = forecast;
  const share = ((requests / perDay) * 100).toFixed(1);
  const least = complete ? '' : 'at least ';
  const lines = [
    `A resync of ${plural(forecast.lists.length, 'list')} takes ${least}${plural(requests, 'request')}: ${share} % of the day's ${count(perDay)}, of which ${count(sentToday)} are used.`,
    `It would end ${complete ? 'about' : 'at the earliest'} ${endsAt.toISOString().replace(/\.\d+Z$/, 'Z')}, in ${duration(lastsMs)}.`,
  ];
  if (!complete) lines.push('Some lists were never read to their end, so their size is not known yet.');
  if (requests + sentToday > perDay)
    lines.push(
      'It does not fit into what is left of the day: it would pause, and go on when you run it again.',
    );
  return lines.join('\n');
}

function asJson({ lists, requests, complete, sentToday, perDay, lastsMs }: Forecast, endsAt: Date): unknown {
  return {
    requests,
    complete,
    share_of_day: requests / perDay,
    sent_today: sentToday,
    requests_per_day: perDay,
    seconds: Math.round(lastsMs / 1000),
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
