// The thread of `thread.ts`, which sends it the SQL first and then requests rows, one batch at a time.
import { parentPort, workerData } from 'node:worker_threads';
import { isMirrorError } from '../../core/errors.ts';
import { AT_ONCE, type Cell, charactersOf, type ReadOnlyMirror } from '../result.ts';
import { openSqliteReadOnly } from './reader.ts';
import type { Message, Reply } from './thread.ts';

let mirror: ReadOnlyMirror | undefined;
let rows: Iterator<Cell[]> = [].values();

parentPort?.on('message', (message: Message) => {
  void replyTo(message).then((reply) => parentPort?.postMessage(reply));
});

async function replyTo(message: Message): Promise<Reply> {
  try {
    if (message === 'rows') return nextRows(rows);
    mirror ??= openSqliteReadOnly(String(workerData));
    if (message === 'hold still') {
      await mirror.holdStill();
      return { isHeld: true };
    }
    // A statement that still has rows would keep its view of the mirror, and with it the write-ahead log.
    rows.return?.();
    const { columns, rows: found } = await mirror.query(message.sql, message.values);
    rows = (found as Iterable<Cell[]>)[Symbol.iterator]();
    return { columns };
  } catch (error) {
    // Messages between threads lose an error's class, and with it the code.
    return { failure: error, code: isMirrorError(error) ? error.code : null };
  }
}

function nextRows(from: Iterator<Cell[]>): Reply {
  const batch: Cell[][] = [];
  let characters = 0;
  while (batch.length < AT_ONCE.rows && characters < AT_ONCE.characters) {
    const { done, value } = from.next();
    if (done === true) return { rows: batch, done: true };
    batch.push(value);
    characters += charactersOf(value);
  }
  return { rows: batch, done: false };
}
