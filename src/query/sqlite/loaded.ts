import { type MessagePort, parentPort } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';

/** The first message of a thread: the native code of SQLite's driver is loaded. */
export type Loaded = 'loaded';

/** Loads the driver, says so, and returns the port to whoever started this thread. */
export function toStarter(): MessagePort {
  if (parentPort === null) throw new Error('this is no thread');
  // The first database loads the driver's native code.
  new SqliteDatabase(':memory:').close();
  parentPort.postMessage('loaded' satisfies Loaded);
  return parentPort;
}
