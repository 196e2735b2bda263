import { unlessAborted } from '../../core/abortable.ts';
import { type ErrorCode, MirrorError } from '../../core/errors.ts';
import { sqlite } from '../../database/sqlite/dialect.ts';
import type { Cell, QueryResult, ReadOnlyMirror } from '../result.ts';

/** Message to the reader's thread. */
export type Message = { readonly sql: string; readonly values: readonly Cell[] } | 'rows' | 'hold still';

/** Its reply. */
export type Reply =
  | { readonly columns: QueryResult['columns'] }
  | { readonly rows: Cell[][]; readonly done: boolean }
  | { readonly isHeld: true }
  | { readonly failure: unknown; readonly code: ErrorCode | null };

/** The thread's first message, before any reply: the native code of SQLite's driver is loaded. */
export type Loaded = 'loaded';

/** A reader in another thread. It receives one message at a time. */
export interface Channel {
  readonly send: (message: Message) => void;
  readonly onReply: (listener: (reply: Reply) => void) => void;
  readonly onFailure: (listener: (error: unknown) => void) => void;
  readonly close: () => Promise<void>;
}

/** A mirror whose queries run at the other end of the channel. */
export function mirrorThrough(channel: Channel, signal: AbortSignal): ReadOnlyMirror {
  // Only one request is in flight. A single long-lived promise would retain every reply.
  let settle:
    | { readonly resolve: (reply: Reply) => void; readonly reject: (error: unknown) => void }
    | undefined;
  let failure: { readonly error: unknown } | undefined;
  channel.onReply((reply) => settle?.resolve(reply));
  channel.onFailure((error) => {
    failure ??= { error };
    settle?.reject(error);
  });
  const request = async (message: Message): Promise<Reply> => {
    const replied = new Promise<Reply>((resolve, reject) => (settle = { resolve, reject }));
    if (failure !== undefined) throw failure.error;
    channel.send(message);
    const reply = await unlessAborted(replied, signal);
    if ('failure' in reply) throw restoredError(reply);
    return reply;
  };
  return {
    dialect: sqlite,
    async query(sql, values = []) {
      const reply = await request({ sql, values });
      return { columns: 'columns' in reply ? reply.columns : [], rows: rowsOf(() => request('rows')) };
    },
    async holdStill() {
      await request('hold still');
    },
    close: channel.close,
  };
}

/** The other end reads the next batch while the caller uses this one. */
async function* rowsOf(request: () => Promise<Reply>): AsyncGenerator<Cell[]> {
  for (let next: Promise<Reply> | null = request(); next !== null;) {
    const reply: Reply = await next;
    if (!('rows' in reply)) return;
    next = reply.done ? null : request();
    // If the caller stops reading, no code awaits this request.
    next?.catch(() => undefined);
    for (const row of reply.rows) yield row;
  }
}

/** Gives an error back the class that it lost on the way. */
function restoredError({ failure, code }: { failure: unknown; code: ErrorCode | null }): unknown {
  return code !== null && failure instanceof Error
    ? new MirrorError(code, failure.message, { cause: failure.cause })
    : failure;
}
