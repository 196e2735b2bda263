/**
 * Evaluates the views' definitions (docs/sql.md) without SQL: from what the service held at each sync.
 */

/** A conversation as the service held it. `closed` stands for both of the service's words. */
export interface Seen {
  readonly status: string;
  readonly assignee: string | null;
  readonly tags: readonly string[];
  /** The whole row, in the service's words. */
  readonly content: string;
}

/** The state of the service at an instant after a sync. */
export interface Sighting {
  readonly at: string;
  readonly inboxes: readonly string[];
  /** By `inbox/conversation`. */
  readonly seen: ReadonlyMap<string, Seen>;
}

/** The syncs of a history: as they came, and `sightings` in the order of time. */
export interface Told {
  readonly seen: readonly Sighting[];
  readonly sightings: readonly Sighting[];
}

/** The instant after the sync that an instant of the mirror belongs to. @param sightings in the order of time */
export function syncOf(sightings: readonly Sighting[], instant: unknown): string | undefined {
  return sightings.find(({ at }) => at >= String(instant))?.at;
}

/** The first sync that found an inbox: the baseline of its conversations. */
export function baselineOf(sightings: readonly Sighting[], inbox: string): number {
  return sightings.findIndex(({ inboxes }) => inboxes.includes(inbox));
}

/** The syncs that found the inbox of a conversation. */
function reachedOf(sightings: readonly Sighting[], key: string): Sighting[] {
  return sightings.filter(({ inboxes }) => inboxes.includes(key.split('/')[0]!));
}

/** When the inbox of a conversation was last found new or back, in the order of syncs; '' if it was always there. */
function backAt(sightings: readonly Sighting[], key: string): string {
  const has = (one: Sighting | undefined): boolean => one?.inboxes.includes(key.split('/')[0]!) ?? true;
  return sightings.findLast((one, nth) => has(one) && !has(sightings[nth - 1]))?.at ?? '';
}

/**
 * Since which sync each conversation has been as `is` says, without a pause, and whether that sync is its
 * inbox's first: the later of the instant since which it has been so by itself, and of the last return of its
 * inbox. Conversations that are gone or different now have no entry.
 */
export function lasting(
  sightings: readonly Sighting[],
  is: (seen: Seen) => boolean,
): Map<string, { since: string; isLowerBound: number }> {
  const found = new Map<string, { since: string; isLowerBound: number }>();
  for (const key of sightings.at(-1)?.seen.keys() ?? []) {
    const reached = reachedOf(sightings, key);
    const pause = reached.findLastIndex(({ seen }) => !seen.has(key) || !is(seen.get(key)!));
    if (pause === reached.length - 1) continue;
    const own = reached[pause + 1]!.at;
    const back = backAt(sightings, key);
    found.set(key, { since: own > back ? own : back, isLowerBound: pause < 0 && own >= back ? 1 : 0 });
  }
  return found;
}

/** When a conversation of the present was last found new, back by itself, or with other content. */
export function lastChange(sightings: readonly Sighting[], key: string): string {
  const content = sightings.at(-1)?.seen.get(key)?.content;
  const reached = reachedOf(sightings, key);
  return reached[reached.findLastIndex(({ seen }) => seen.get(key)?.content !== content) + 1]!.at;
}
