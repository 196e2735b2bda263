import { rowTooLong } from '../faults.ts';
import { AT_ONCE, type Cell, charactersOf, type ReadOnlyMirror } from '../result.ts';
import { failureOf } from './failure.ts';
import { openSqliteReadOnly } from './reader.ts';
import type { Message, Reply } from './requests.ts';

/**
 * Answers messages about one file in a thread of its own: first the SQL, then requests for its
 * rows, one batch at a time. The next SQL ends the one before.
 * @param mostCharacters a longer row is an error
 */
export function repliesOf(path: string, mostCharacters: number): (message: Message) => Promise<Reply> {
  let mirror: ReadOnlyMirror | undefined;
  let rows: Iterator<Cell[]> = [].values();

  async function holdStill(): Promise<Reply> {
    mirror ??= openSqliteReadOnly(path);
    await mirror.holdStill();
    return { isHeld: true };
  }

  async function begin(sql: string, values: readonly Cell[]): Promise<Reply> {
    mirror ??= openSqliteReadOnly(path);
    // A statement that still has rows would keep its view of the mirror, and with it the write-ahead log.
    rows.return?.();
    const { columns, rows: found } = await mirror.query(sql, values);
    rows = (found as Iterable<Cell[]>)[Symbol.iterator]();
    return { columns };
  }

  return async (message) => {
    try {
      if (message === 'rows') return nextRows(rows, mostCharacters);
      return message === 'hold still' ? await holdStill() : await begin(message.sql, message.values);
    } catch (error) {
      return failureOf(error);
    }
  };
}

function nextRows(from: Iterator<Cell[]>, mostCharacters: number): Reply {
  const batch: Cell[][] = [];
  let characters = 0;
  while (batch.length < AT_ONCE.rows && characters < AT_ONCE.characters) {
    const { done, value } = from.next();
    if (done === true) return { rows: batch, done: true };
    const length = charactersOf(value);
    if (length > mostCharacters) throw rowTooLong(length, mostCharacters);
    batch.push(value);
    characters += length;
  }
  return { rows: batch, done: false };
}
