// The thread that reads a file for `read-only-thread.ts`: it is told the SQL, then asked for rows, some at a time.
import { parentPort, workerData } from 'node:worker_threads';
import { isMirrorError } from '../../core/errors.ts';
import { AT_ONCE, type Cell, charactersOf } from '../result.ts';
import { openSqliteReadOnly } from './reader.ts';
import type { Answer, Ask } from './thread.ts';

let rows: Iterator<Cell[]> = [].values();

parentPort?.on('message', (ask: Ask) => {
  void answer(ask).then((said) => parentPort?.postMessage(said));
});

async function answer(ask: Ask): Promise<Answer> {
  try {
    if (ask === 'rows') return nextRows(rows);
    const { columns, rows: found } = await openSqliteReadOnly(String(workerData)).query(ask.sql);
    rows = (found as Iterable<Cell[]>)[Symbol.iterator]();
    return { columns };
  } catch (error) {
    // A class does not come through; its code would be lost.
    return { failure: error, code: isMirrorError(error) ? error.code : null };
  }
}

function nextRows(from: Iterator<Cell[]>): Answer {
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
