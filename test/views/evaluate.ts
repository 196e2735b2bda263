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

/** The number of the sync that an instant of the mirror belongs to. */
export function syncOf(sightings: readonly Sighting[], instant: unknown): number {
  return sightings.findIndex(({ at }) => at >= String(instant));
}

/** The first sync that found an inbox: the baseline of its conversations. */
export function baselineOf(sightings: readonly Sighting[], inbox: string): number {
  return sightings.findIndex(({ inboxes }) => inboxes.includes(inbox));
}

/**
 * Since which sync each conversation has been as `is` says, without a pause, and whether that sync is its
 * inbox's first. Conversations that are gone or different now have no entry.
 */
export function lasting(
  sightings: readonly Sighting[],
  is: (seen: Seen) => boolean,
): Map<string, { since: number; isLowerBound: number }> {
  const found = new Map<string, { since: number; isLowerBound: number }>();
  for (const key of sightings.at(-1)?.seen.keys() ?? []) {
    const pause = sightings.findLastIndex(({ seen }) => !seen.has(key) || !is(seen.get(key)!));
    if (pause === sightings.length - 1) continue;
    const since = pause + 1;
    found.set(key, { since, isLowerBound: since === baselineOf(sightings, key.split('/')[0]!) ? 1 : 0 });
  }
  return found;
}

/** The last sync that found a conversation of the present new, back, or with other content. */
export function lastChange(sightings: readonly Sighting[], key: string): number {
  const content = sightings.at(-1)?.seen.get(key)?.content;
  return sightings.findLastIndex(({ seen }) => seen.get(key)?.content !== content) + 1;
}
