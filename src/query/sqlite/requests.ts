import { unlessAborted } from '../../core/abortable.ts';
import { sqlite } from '../../database/sqlite/dialect.ts';
import type { Cell, QueryResult, ReadOnlyMirror } from '../result.ts';
import { type Failure, restoredError } from './failure.ts';
import type { DriverThread } from './start.ts';

/** Message to the reader's thread. */
export type Message = { readonly sql: string; readonly values: readonly Cell[] } | 'rows' | 'hold still';

/** Its reply. */
export type Reply =
  | { readonly columns: QueryResult['columns'] }
  | { readonly rows: Cell[][]; readonly done: boolean }
  | { readonly isHeld: true }
  | Failure;

/** A mirror whose queries run in the thread, which receives one message at a time. */
export function mirrorThrough(thread: DriverThread<Message, Reply>, signal: AbortSignal): ReadOnlyMirror {
  // Only one request is in flight. A single long-lived promise would retain every reply.
  let settle:
    | { readonly resolve: (reply: Reply) => void; readonly reject: (error: unknown) => void }
    | undefined;
  let failure: { readonly error: unknown } | undefined;
  thread.onMessage((reply) => settle?.resolve(reply));
  thread.onFailure((error) => {
    failure ??= { error };
    settle?.reject(error);
  });
  const request = async (message: Message): Promise<Reply> => {
    const replied = new Promise<Reply>((resolve, reject) => (settle = { resolve, reject }));
    if (failure !== undefined) throw failure.error;
    thread.send(message);
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
    close: thread.close,
  };
}

/** The thread reads the next batch while the caller uses this one. */
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
