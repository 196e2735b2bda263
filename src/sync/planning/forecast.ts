import type { ListKey, ListName } from '../../core/lists.ts';
import type { Reader } from '../../mirror/mirror.ts';

/** What a full resync would cost, from what the last complete sweeps cost. */
export interface Forecast {
  readonly lists: readonly { readonly key: ListKey; readonly requests: number; readonly known: boolean }[];
  readonly requests: number;
  /** False where a list was never read whole: its first page is all that is counted of it. */
  readonly complete: boolean;
  readonly sentToday: number;
  readonly perDay: number;
  /** Milliseconds from now to its end: by the pace, or by the day budget where that binds. */
  readonly lastsMs: number;
}

export interface ForecastLimits {
  readonly pageSize: number;
  readonly requestsPerSecond: number;
  readonly requestsPerDay: number;
}

const DAY_MS = 24 * 3_600_000;

/** Forecasts a resync of `lists`: `ceil(rows/page size)` requests a list, at least 1 (DESIGN.md, "Planning"). */
export async function forecastResync(
  store: Pick<Reader, 'liveInboxes' | 'lastComplete'>,
  { lists, inboxId }: { lists: readonly ListName[]; inboxId: string | null },
  limits: ForecastLimits,
  sentToday: number,
): Promise<Forecast> {
  const inboxes = (await store.liveInboxes()).filter(
    ({ id, suspect }) => (inboxId === null || id === inboxId) && !suspect,
  );
  const keys = lists.flatMap((list): ListKey[] =>
    list === 'inboxes' ? [{ list, inboxId: null }] : inboxes.map(({ id }) => ({ list, inboxId: id })),
  );
  if (inboxes.length === 0 && !lists.includes('inboxes')) keys.unshift({ list: 'inboxes', inboxId: null });
  const costs = [];
  for (const key of keys) {
    const last = await store.lastComplete(key);
    costs.push({
      key,
      requests: Math.max(1, Math.ceil((last?.items ?? 0) / limits.pageSize)),
      known: last !== null,
    });
  }
  const requests = costs.reduce((sum, cost) => sum + cost.requests, 0);
  return {
    lists: costs,
    requests,
    complete: costs.length > 0 && inboxes.length > 0 && costs.every(({ known }) => known),
    sentToday,
    perDay: limits.requestsPerDay,
    lastsMs: lasting(requests, limits, sentToday),
  };
}

function lasting(
  requests: number,
  { requestsPerSecond, requestsPerDay }: ForecastLimits,
  sentToday: number,
): number {
  const byPace = (requests / requestsPerSecond) * 1000;
  const leftToday = Math.max(0, requestsPerDay - sentToday);
  if (requests <= leftToday) return byPace;
  // What does not fit today waits for a window's worth of requests to leave, a day at the most each time.
  const daysWaited = Math.ceil((requests - leftToday) / requestsPerDay);
  return daysWaited * DAY_MS + (((requests - leftToday) % requestsPerDay) / requestsPerSecond) * 1000;
}
