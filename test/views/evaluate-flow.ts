import { baselineOf, type Sighting } from './evaluate.ts';

/** The columns of `flow_daily` that count, each for one inbox and day. */
export interface Flow {
  appeared: number;
  closed: number;
  reopened: number;
  removed: number;
  opening_backlog: number;
  came_open: number;
  returned_open: number;
  went_open: number;
  open_back_with_inbox: number;
  open_lost_with_inbox: number;
  closing_backlog: number;
}

export type IsFinal = (status: string) => boolean;

const NONE: Flow = {
  appeared: 0,
  closed: 0,
  reopened: 0,
  removed: 0,
  opening_backlog: 0,
  came_open: 0,
  returned_open: 0,
  went_open: 0,
  open_back_with_inbox: 0,
  open_lost_with_inbox: 0,
  closing_backlog: 0,
};

/**
 * `flow_daily` without SQL, by `day inbox`: what happened to each conversation between two syncs counts on the
 * day of the later one. Every inbox has a row for each of `days` from that of its first sync.
 */
export function flows(
  sightings: readonly Sighting[],
  dayOf: (at: string) => string,
  days: readonly string[],
  isFinal: IsFinal,
): Map<string, Flow> {
  const found = new Map<string, Flow>();
  for (const inbox of new Set(sightings.flatMap(({ inboxes }) => inboxes))) {
    const first = baselineOf(sightings, inbox);
    for (const day of days.filter((one) => one >= dayOf(sightings[first]!.at))) {
      const flow = { ...NONE };
      for (let nth = first + 1; nth < sightings.length; nth++)
        if (dayOf(sightings[nth]!.at) === day) count(flow, sightings, { inbox, nth, isFinal });
      const before = sightings.findLastIndex(({ at }) => dayOf(at) < day);
      flow.opening_backlog = backlogOf(sightings[Math.max(first, before)]!, inbox, isFinal);
      flow.closing_backlog = backlogOf(
        sightings.findLast(({ at }) => dayOf(at) <= day)!,
        inbox,
        isFinal,
      );
      found.set(`${day} ${inbox}`, flow);
    }
  }
  return found;
}

function backlogOf({ seen }: Sighting, inbox: string, isFinal: IsFinal): number {
  return [...seen].filter(([key, { status }]) => key.startsWith(`${inbox}/`) && !isFinal(status)).length;
}

/** Adds what the sync `nth` found new in an inbox. */
function count(
  flow: Flow,
  sightings: readonly Sighting[],
  { inbox, nth, isFinal }: { inbox: string; nth: number; isFinal: IsFinal },
): void {
  const keys = new Set(sightings.flatMap(({ seen }) => [...seen.keys()]));
  const hadInbox = sightings[nth - 1]!.inboxes.includes(inbox);
  const hasInbox = sightings[nth]!.inboxes.includes(inbox);
  for (const key of [...keys].filter((one) => one.startsWith(`${inbox}/`))) {
    // While its inbox is gone, a conversation is as it was: the inbox brings it back before a sweep sees it.
    const before = sightings[nth - 1]!.seen.get(key) ?? null;
    const now = sightings[nth]!.seen.get(key) ?? null;
    const last = sightings
      .slice(0, nth)
      .findLast(({ seen }) => seen.has(key))
      ?.seen.get(key);
    const wasLost = last !== undefined && !hadInbox && wasThere(sightings, inbox, key, nth);
    const [isOpen, wasOpen] = [now !== null && !isFinal(now.status), !isFinal(last?.status ?? '')];
    if (wasLost && hasInbox) {
      flow.appeared += 1;
      if (wasOpen) flow.open_back_with_inbox += 1;
      if (now === null) flow.removed += 1;
      if (now === null && wasOpen) flow.went_open += 1;
    } else if (before === null && now !== null) {
      flow.appeared += 1;
      if (last === undefined && isOpen) flow.came_open += 1;
      if (last !== undefined && wasOpen) flow.returned_open += 1;
    } else if (before !== null && now === null) {
      flow.removed += 1;
      if (wasOpen && hasInbox) flow.went_open += 1;
      if (wasOpen && !hasInbox) flow.open_lost_with_inbox += 1;
    }
    if (now === null || last === undefined) continue;
    if (wasOpen && !isOpen) flow.closed += 1;
    if (!wasOpen && isOpen) flow.reopened += 1;
  }
}

/** True if a conversation was there when its inbox was last there before the sync `nth`. */
function wasThere(sightings: readonly Sighting[], inbox: string, key: string, nth: number): boolean {
  const lost = sightings.slice(0, nth).findLast(({ inboxes }) => inboxes.includes(inbox));
  return lost?.seen.has(key) ?? false;
}
