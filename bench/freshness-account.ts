import { DAY, HOUR, MINUTE } from '../src/core/clock.ts';
import type { Sandbox } from '../src/sandbox/sandbox.ts';
import { pick, type Random, randomStream } from '../src/sandbox/world/random.ts';

/** An account to measure. */
export interface Account {
  readonly name: string;
  readonly inboxes: number;
  readonly conversations: number;
  /** New conversations on a working day. */
  readonly newADay: number;
}

export const ACCOUNTS: readonly Account[] = [
  { name: 'S', inboxes: 5, conversations: 5000, newADay: 60 },
  { name: 'M', inboxes: 20, conversations: 60_000, newADay: 300 },
  { name: 'L', inboxes: 100, conversations: 400_000, newADay: 1500 },
];

/** People work from 8:00 to 18:00 UTC, every day. */
const OPENS = 8 * HOUR;
const CLOSES = 18 * HOUR;

/** Mean milliseconds from the opening of a conversation to each later change, and the share that has it. */
const LATER = {
  assign: { after: 30 * MINUTE, share: 0.9 },
  tag: { after: 45 * MINUTE, share: 0.6 },
  close: { after: 6 * HOUR, share: 0.95 },
  reopen: { after: 10 * HOUR, share: 0.2 },
} as const;

/** A change of a conversation at the service. */
export interface Change {
  readonly at: number;
  /** The inbox and the conversation, as `INBOX/CONVERSATION`. */
  readonly row: string;
}

interface Event {
  readonly at: number;
  readonly apply: () => string;
}

/** The people of an account: they open, assign, tag, close and reopen conversations through office hours. */
export class People {
  readonly #sandbox: Sandbox;
  readonly #random: Random;
  readonly #events: Event[] = [];
  #next = 0;

  constructor(
    sandbox: Sandbox,
    { newADay }: Account,
    { from, days, seed }: { from: number; days: number; seed: number },
  ) {
    this.#sandbox = sandbox;
    this.#random = randomStream(seed, 'freshness');
    for (let day = 0; day < days; day += 1)
      for (let nth = 0; nth < newADay; nth += 1)
        this.#conversation(from + day * DAY + OPENS + this.#random() * (CLOSES - OPENS));
    this.#events.sort((a, b) => a.at - b.at);
  }

  /** Applies every event up to an instant. Returns the changes in order. */
  upTo(now: number): Change[] {
    const changes: Change[] = [];
    for (let event = this.#events[this.#next]; event !== undefined && event.at <= now;) {
      changes.push({ at: event.at, row: event.apply() });
      event = this.#events[(this.#next += 1)];
    }
    return changes;
  }

  /** Plans one conversation: opened at `at`, in a larger inbox rather than in a small one. */
  #conversation(at: number): void {
    const { world } = this.#sandbox;
    const inboxes = [...world.inboxes.values()];
    const weights = inboxes.map((_, rank) => 1 / (rank + 1));
    let drawn = this.#random() * weights.reduce((sum, weight) => sum + weight, 0);
    const inbox = inboxes[weights.findIndex((weight) => (drawn -= weight) < 0)] ?? inboxes[0]!;
    let id = '';
    const row = (): string => `${inbox.id}/${id}`;
    const later = (kind: keyof typeof LATER, change: () => void): void => {
      if (this.#random() >= LATER[kind].share) return;
      const due = at - LATER[kind].after * Math.log(1 - this.#random());
      this.#events.push({ at: inOfficeHours(due), apply: () => (change(), row()) });
    };
    this.#events.push({ at, apply: () => ((id = world.addConversation(inbox.id).id), row()) });
    later('assign', () => world.assign(inbox.id, id, pick(this.#random, inbox.users.order)));
    later('tag', () => world.tag(inbox.id, id, pick(this.#random, inbox.tags.order)));
    later('close', () => world.setStatus(inbox.id, id, 'closed'));
    later('reopen', () => world.setStatus(inbox.id, id, 'open'));
  }
}

/** An instant out of office hours moves into them, with the same distance from their end. */
function inOfficeHours(at: number): number {
  const night = DAY - (CLOSES - OPENS);
  let moved = at;
  while (moved % DAY < OPENS || moved % DAY >= CLOSES) moved += night;
  return moved;
}
