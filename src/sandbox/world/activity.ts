import type { SandboxOptions } from '../options.ts';
import { inventThreadId } from './invent.ts';
import { draw, pick, type Random, randomStream } from './random.ts';
import type { SandboxConversation, SandboxInbox } from './rows.ts';
import type { World } from './world.ts';

type Kind = 'open' | 'assign' | 'tag' | 'pend' | 'close' | 'reopen' | 'remove';

/** How often each kind comes, in percent; about as many are closed or removed as are opened, so that the backlog stays level. */
const KINDS: readonly (readonly [Kind, number])[] = [
  ['open', 28],
  ['assign', 20],
  ['tag', 18],
  ['pend', 6],
  ['close', 22],
  ['reopen', 4],
  ['remove', 2],
];

/** How many conversations an event of a kind is offered before a new one is opened instead. */
const TRIES = 30;

/**
 * The account's life: events at random instants, `activityPerHour` on average. What has happened by an instant depends on the
 * seed alone, not on how often the clock was looked at.
 */
export class Activity {
  readonly #world: World;
  readonly #perHour: number;
  readonly #closed: string;
  readonly #now: () => number;
  readonly #events: Random;
  readonly #instants: Random;
  #nextAt: number;
  #ahead = 0;

  constructor(world: World, { activityPerHour, closedStatus, now, seed }: SandboxOptions) {
    this.#world = world;
    this.#perHour = activityPerHour;
    this.#closed = closedStatus;
    this.#now = now;
    this.#events = randomStream(seed, 'events');
    this.#instants = randomStream(seed, 'instants');
    this.#nextAt = now() + this.#pause();
  }

  /** Lets everything happen that is due by now. */
  catchUp(): void {
    const until = this.#now() + this.#ahead;
    while (this.#nextAt <= until) {
      this.#happen(this.#nextAt);
      this.#nextAt += this.#pause();
    }
  }

  /** Runs ahead of the clock by `ms` for good; the limits keep to the clock. */
  advance(ms: number): void {
    this.#ahead += ms;
    this.catchUp();
  }

  /** Exactly `count` changes at once. */
  apply(count: number): void {
    for (let left = count; left > 0; left--) this.#happen(this.#now() + this.#ahead);
  }

  // Waiting times between events that know nothing of each other: exponential.
  #pause(): number {
    return this.#perHour > 0 ? (-Math.log(1 - this.#instants()) * 3_600_000) / this.#perHour : Infinity;
  }

  #happen(at: number): void {
    const inbox = this.#busyInbox();
    if (inbox === undefined) return;
    const kind = this.#kind();
    if (kind !== 'open') {
      for (let left = TRIES; left > 0; left--) {
        const conversation = this.#recentConversation(inbox);
        if (conversation !== undefined && this.#change(kind, inbox, conversation)) return;
      }
    }
    this.#world.addConversation(inbox.id, {
      gmail_thread_id: inventThreadId(this.#events, this.#world.instant(at)),
    });
  }

  /** Changes the conversation; false when this kind of event would change nothing about it. */
  #change(kind: Kind, inbox: SandboxInbox, conversation: SandboxConversation): boolean {
    const { id, status, assignee, tag_ids: tags } = conversation;
    const closed = status === this.#closed;
    const to = (next: string): boolean => {
      this.#world.setStatus(inbox.id, id, next);
      return true;
    };
    switch (kind) {
      case 'assign': {
        if (closed || inbox.users.size === 0) return false;
        const userId = pick(this.#events, inbox.users.order, 2);
        if (assignee?.assignee_id === userId) return false;
        this.#world.assign(inbox.id, id, userId);
        return true;
      }
      case 'tag': {
        if (inbox.tags.size === 0) return false;
        const tagId = pick(this.#events, inbox.tags.order, 2);
        if (tags.includes(tagId)) this.#world.untag(inbox.id, id, tagId);
        else this.#world.tag(inbox.id, id, tagId);
        return true;
      }
      case 'pend':
        return status === 'open' && to('pending');
      case 'close':
        return !closed && to(this.#closed);
      case 'reopen':
        return closed && to('open');
      case 'remove':
        this.#world.removeConversation(inbox.id, id);
        return true;
      default:
        return false;
    }
  }

  #kind(): Kind {
    let at = this.#events() * KINDS.reduce((sum, [, percent]) => sum + percent, 0);
    return KINDS.find(([, percent]) => (at -= percent) < 0)?.[0] ?? 'open';
  }

  #busyInbox(): SandboxInbox | undefined {
    const { order } = this.#world.inboxes;
    return this.#world.inboxes.get(order[draw(this.#events, order.length, 2)] ?? '');
  }

  #recentConversation({ conversations }: SandboxInbox): SandboxConversation | undefined {
    const { order } = conversations;
    return conversations.get(order[order.length - 1 - draw(this.#events, order.length, 3)] ?? '');
  }
}
