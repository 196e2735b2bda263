import type { Seen, Sighting } from './evaluate.ts';

/** What became of something at one sync. */
interface Turn<State> {
  readonly at: string;
  readonly state: State;
}

/** The history of one conversation, in the order of the syncs. */
interface Life {
  /** Its status and assignee; null while it was gone by itself. */
  readonly turns: Turn<Seen | null>[];
  /** Whether it carried each tag, after the first sight. */
  readonly links: Map<string, { first: boolean; turns: Turn<boolean>[] }>;
}

/**
 * What `docs/history.md` says of a clock that was set back, without SQL: the state at each sync's instant, in the
 * order of time. The state of a conversation is what the last of its changes until then says, in the order of
 * the syncs; its inbox and each of its tags have their own. Where the clock only went forward, these are the
 * sightings themselves.
 */
export function inOrderOfTime(sightings: readonly Sighting[]): Sighting[] {
  const inboxes = new Map(
    [...new Set(sightings.flatMap((one) => one.inboxes))].map((inbox) => [inbox, staysOf(sightings, inbox)]),
  );
  const keys = new Set(sightings.flatMap(({ seen }) => [...seen.keys()]));
  const lives = new Map([...keys].map((key) => [key, lifeOf(sightings, key)]));
  const sorted = sightings.toSorted((a, b) => (a.at < b.at ? -1 : 1));
  return sorted.map(({ at }) => {
    const seen = new Map<string, Seen>();
    for (const [key, { turns, links }] of lives) {
      const stays = inboxes.get(key.split('/')[0]!)!;
      const state = lastUntil(turns, at)?.state ?? null;
      if (state === null || !(lastUntil(stays, at)?.state ?? true)) continue;
      const tags = [...links].filter(([, link]) => lastUntil(link.turns, at)?.state ?? link.first);
      seen.set(key, { ...state, tags: tags.map(([tag]) => tag) });
    }
    const present = [...inboxes].filter(([, stays]) => lastUntil(stays, at)?.state === true);
    return { at, inboxes: present.map(([inbox]) => inbox), seen };
  });
}

/** True if a sync has an earlier instant than the one before it. */
export function isSetBack(sightings: readonly Sighting[]): boolean {
  return sightings.some(({ at }, nth) => at < (sightings[nth - 1]?.at ?? ''));
}

function lastUntil<State>(turns: readonly Turn<State>[], at: string): Turn<State> | undefined {
  return turns.findLast((turn) => turn.at <= at);
}

/** When an inbox was found to be there, and not to be there. */
function staysOf(sightings: readonly Sighting[], inbox: string): Turn<boolean>[] {
  const turns: Turn<boolean>[] = [];
  for (const { at, inboxes } of sightings) {
    const state = inboxes.includes(inbox);
    if (state !== (turns.at(-1)?.state ?? false)) turns.push({ at, state });
  }
  return turns;
}

/** While its inbox is gone, a conversation is as it was. */
function lifeOf(sightings: readonly Sighting[], key: string): Life {
  const life: Life = { turns: [], links: new Map() };
  let tags: readonly string[] | null = null;
  for (const { at, inboxes, seen } of sightings) {
    if (!inboxes.includes(key.split('/')[0]!)) continue;
    const state = seen.get(key) ?? null;
    const before = life.turns.at(-1)?.state ?? null;
    if (state?.status !== before?.status || state?.assignee !== before?.assignee)
      life.turns.push({ at, state });
    if (state === null) continue;
    for (const tag of new Set([...(tags ?? []), ...state.tags])) {
      const has = state.tags.includes(tag);
      const link = life.links.get(tag) ?? { first: tags === null && has, turns: [] };
      life.links.set(tag, link);
      if (has !== (link.turns.at(-1)?.state ?? link.first)) link.turns.push({ at, state: has });
    }
    tags = state.tags;
  }
  return life;
}
