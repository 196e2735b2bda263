import { HOUR } from '../../core/clock.ts';
import type { SandboxOptions } from '../options.ts';
import { inventThreadId } from './invent.ts';
import { draw, pick, type Random, randomStream } from './random.ts';
import type { SandboxConversation, SandboxInbox } from './rows.ts';
import type { World } from './world.ts';

type EventKind = 'open' | 'assign' | 'tag' | 'pend' | 'close' | 'reopen' | 'remove';

/**
 * The share of each kind of event, in percent. About as many conversations are closed or removed as are
 * opened, so the backlog stays level.
 */
const EVENT_SHARES: readonly (readonly [EventKind, number])[] = [
  ['open', 28],
  ['assign', 20],
  ['tag', 18],
  ['pend', 6],
  ['close', 22],
  ['reopen', 4],
  ['remove', 2],
];

/** An event tries at most 30 conversations to find one that it can change; then it opens a new one. */
const MAX_CANDIDATES = 30;

/**
 * Simulates the changes in the account: events at random instants, `activityPerHour` on average. The state
 * at an instant depends on the seed alone, not on how often `catchUp` was called before.
 */
export class Activity {
  readonly #world: World;
  readonly #eventsPerHour: number;
  readonly #closedStatus: string;
  readonly #now: () => number;
  readonly #random: Random;
  readonly #timing: Random;
  #nextAt: number;
  #aheadMs = 0;

  constructor(world: World, { activityPerHour, closedStatus, now, seed }: SandboxOptions) {
    this.#world = world;
    this.#eventsPerHour = activityPerHour;
    this.#closedStatus = closedStatus;
    this.#now = now;
    this.#random = randomStream(seed, 'events');
    this.#timing = randomStream(seed, 'instants');
    this.#nextAt = now() + this.#nextInterval();
  }

  /** Applies every event that is due by now. */
  catchUp(): void {
    const until = this.#now() + this.#aheadMs;
    while (this.#nextAt <= until) {
      this.#applyEvent(this.#nextAt);
      this.#nextAt += this.#nextInterval();
    }
  }

  /** Moves all later events `ms` further ahead of the clock. The request limits still follow the clock. */
  advance(ms: number): void {
    this.#aheadMs += ms;
    this.catchUp();
  }

  /** Applies exactly `count` events now. */
  applyEvents(count: number): void {
    for (let left = count; left > 0; left--) this.#applyEvent(this.#now() + this.#aheadMs);
  }

  // Independent events have exponentially distributed intervals.
  #nextInterval(): number {
    return this.#eventsPerHour > 0 ? (-Math.log(1 - this.#timing()) * HOUR) / this.#eventsPerHour : Infinity;
  }

  #applyEvent(at: number): void {
    const inbox = this.#pickInbox();
    if (inbox === undefined) return;
    const kind = this.#pickKind();
    if (kind !== 'open') {
      for (let left = MAX_CANDIDATES; left > 0; left--) {
        const conversation = this.#pickConversation(inbox);
        if (conversation !== undefined && this.#tryChange(kind, inbox, conversation)) return;
      }
    }
    this.#world.addConversation(inbox.id, {
      gmail_thread_id: inventThreadId(this.#random, this.#world.eventTime(at)),
    });
  }

  /** Changes the conversation. @returns false if this kind of event does not apply to it */
  #tryChange(kind: EventKind, inbox: SandboxInbox, conversation: SandboxConversation): boolean {
    const { id, status, assignee, tag_ids: tags } = conversation;
    const closed = status === this.#closedStatus;
    const setStatus = (next: string): boolean => {
      this.#world.setStatus(inbox.id, id, next);
      return true;
    };
    switch (kind) {
      case 'assign': {
        if (closed || inbox.users.size === 0) return false;
        const userId = pick(this.#random, inbox.users.order, 2);
        if (assignee?.assignee_id === userId) return false;
        this.#world.assign(inbox.id, id, userId);
        return true;
      }
      case 'tag': {
        if (inbox.tags.size === 0) return false;
        const tagId = pick(this.#random, inbox.tags.order, 2);
        if (tags.includes(tagId)) this.#world.untag(inbox.id, id, tagId);
        else this.#world.tag(inbox.id, id, tagId);
        return true;
      }
      case 'pend':
        return status === 'open' && setStatus('pending');
      case 'close':
        return !closed && setStatus(this.#closedStatus);
      case 'reopen':
        return closed && setStatus('open');
      case 'remove':
        this.#world.removeConversation(inbox.id, id);
        return true;
      default:
        return false;
    }
  }

  #pickKind(): EventKind {
    let at = this.#random() * EVENT_SHARES.reduce((sum, [, percent]) => sum + percent, 0);
    return EVENT_SHARES.find(([, percent]) => (at -= percent) < 0)?.[0] ?? 'open';
  }

  #pickInbox(): SandboxInbox | undefined {
    const { order } = this.#world.inboxes;
    return this.#world.inboxes.get(order[draw(this.#random, order.length, 2)] ?? '');
  }

  #pickConversation({ conversations }: SandboxInbox): SandboxConversation | undefined {
    const { order } = conversations;
    return conversations.get(order[order.length - 1 - draw(this.#random, order.length, 3)] ?? '');
  }
}
