import type { Context } from './http/context.ts';
import { Wire } from './http/wire.ts';
import type { SandboxOptions } from './options.ts';
import { Activity } from './world/activity.ts';
import { seedWorld } from './world/seed.ts';

/** The data of one account, as the operations see it, and the events that change it. */
interface Account {
  readonly context: Context;
  readonly activity: Activity;
}

function accountOf(options: SandboxOptions): Account {
  const world = seedWorld(options);
  return { context: { world, wire: new Wire(options), options }, activity: new Activity(world, options) };
}

/** An account with other data. Some ids of inboxes are the same; no address is (decision 0017). */
function otherAccountOf(options: SandboxOptions): Account {
  const account = accountOf({ ...options, seed: options.seed + 1 });
  for (const inbox of account.context.world.inboxes.values())
    inbox.email = inbox.email.replace('@', '@other.');
  return account;
}

/** The account that answers, and the one that takes its place after `otherAccountAfter` requests. */
export class Accounts {
  readonly #first: Account;
  readonly #other: Account | null;
  readonly #otherAfter: number;
  #current: Account;

  constructor(options: SandboxOptions) {
    this.#first = accountOf(options);
    this.#current = this.#first;
    this.#otherAfter = options.otherAccountAfter ?? Infinity;
    this.#other = options.otherAccountAfter === null ? null : otherAccountOf(options);
  }

  get context(): Context {
    return this.#current.context;
  }

  /** Chooses the account that answers the `nth` request (from 1), and applies its events that are due. */
  catchUp(nth: number): void {
    if (nth > this.#otherAfter) this.#current = this.#other ?? this.#first;
    this.#current.activity.catchUp();
  }

  advance(ms: number): void {
    this.#first.activity.advance(ms);
    this.#other?.activity.advance(ms);
  }

  applyEvents(count: number): void {
    this.#current.activity.applyEvents(count);
  }
}
