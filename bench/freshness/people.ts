import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { pick, type Random, randomStream } from '../../src/sandbox/world/random.ts';
import type { SandboxInbox } from '../../src/sandbox/world/rows.ts';
import type { Change, Trace } from './trace.ts';

/** The people of an account: they do at the sandbox what a trace says. Each change alters its row. */
export class People {
  readonly #sandbox: Sandbox;
  readonly #changes: readonly Change[];
  readonly #inboxes: readonly SandboxInbox[];
  readonly #random: Random;
  #next = 0;

  constructor(sandbox: Sandbox, { changes }: Trace, seed: number) {
    this.#sandbox = sandbox;
    this.#changes = changes;
    this.#inboxes = [...sandbox.world.inboxes.values()];
    this.#random = randomStream(seed, 'people');
  }

  /** Applies every change up to an instant. `onChange` gets each with its row, as `INBOX/CONVERSATION`. */
  upTo(now: number, onChange: (row: string, change: Change) => void): void {
    for (let change = this.#changes[this.#next]; change !== undefined && change.at <= now;) {
      const inbox = this.#inboxes[change.inbox]!;
      onChange(`${inbox.id}/${this.#apply(change, inbox)}`, change);
      change = this.#changes[(this.#next += 1)];
    }
  }

  #apply({ kind, row }: Change, { id: inboxId, conversations }: SandboxInbox): string {
    const { world } = this.#sandbox;
    if (kind === 'open') return world.addConversation(inboxId).id;
    const id = conversations.order[row]!;
    const { status } = world.conversation(inboxId, id);
    if (kind === 'close' && status !== 'closed') world.setStatus(inboxId, id, 'closed');
    else if (kind === 'reopen' && status === 'closed') world.setStatus(inboxId, id, 'open');
    else if (kind === 'assign') this.#assign(inboxId, id);
    else this.#tag(inboxId, id);
    return id;
  }

  #assign(inboxId: string, id: string): void {
    const { world } = this.#sandbox;
    const { assignee } = world.conversation(inboxId, id);
    const others = world.inbox(inboxId).users.order.filter((user) => user !== assignee?.assignee_id);
    world.assign(inboxId, id, pick(this.#random, others));
  }

  /** Adds a tag, or removes it. */
  #tag(inboxId: string, id: string): void {
    const { world } = this.#sandbox;
    const tag = pick(this.#random, world.inbox(inboxId).tags.order);
    if (world.conversation(inboxId, id).tag_ids.includes(tag)) world.untag(inboxId, id, tag);
    else world.tag(inboxId, id, tag);
  }
}
