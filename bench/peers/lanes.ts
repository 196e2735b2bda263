import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

/** Conversations by `INBOX/ID`, each with its status, assignee and tags as one text. */
export type Rows = Record<string, string>;

/** The rows that an event changed, with their new text; null: the row is gone. */
export type Changed = Record<string, string | null>;

/** The requests that a sandbox has received: all, those with 200, those with 429. */
export interface Counts {
  readonly requests: number;
  readonly answered: number;
  readonly refused: number;
}

/** A message to the process of the sandboxes (service.ts). */
export type Call =
  | { do: 'open'; lane: string; conversations: number[] }
  | { do: 'rows' | 'counts' | 'truncate'; lane: string }
  | { do: 'remove'; lane: string; count: number }
  | { do: 'change'; lanes: string[] };

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** The sandboxes of all lanes. Each method rejects if that process ends. */
export class Lanes {
  readonly #child: ChildProcess = fork(join(import.meta.dirname, 'service.ts'));
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #next = 0;

  constructor() {
    this.#child.on('message', ({ id, value, error }: Reply) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(`the sandbox: ${error}`));
    });
    this.#child.once('exit', (code) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`the process of the sandboxes ended with code ${code}`));
    });
  }

  /** Starts a sandbox. @returns its address, which ends in `/v1` */
  async open(lane: string, conversations: number[]): Promise<string> {
    return (await this.#call({ do: 'open', lane, conversations })) as string;
  }

  async rows(lane: string): Promise<Rows> {
    return (await this.#call({ do: 'rows', lane })) as Rows;
  }

  async counts(lane: string): Promise<Counts> {
    return (await this.#call({ do: 'counts', lane })) as Counts;
  }

  /** The lane answers one page in the middle of a list as if it were the end, without rows. */
  async truncate(lane: string): Promise<void> {
    await this.#call({ do: 'truncate', lane });
  }

  async remove(lane: string, count: number): Promise<void> {
    await this.#call({ do: 'remove', lane, count });
  }

  /** Applies the same event in all these lanes. They must have had the same events before. */
  async change(lanes: string[]): Promise<Changed> {
    return (await this.#call({ do: 'change', lanes })) as Changed;
  }

  close(): void {
    this.#child.removeAllListeners('exit');
    this.#child.disconnect();
  }

  #call(call: Call): Promise<unknown> {
    const waiting = Promise.withResolvers<unknown>();
    this.#next += 1;
    this.#waiting.set(this.#next, waiting);
    this.#child.send({ id: this.#next, call });
    return waiting.promise;
  }
}
