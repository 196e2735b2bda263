// The thread of `thread.ts`.
import { parentPort, workerData } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';
import { repliesOf } from './replies.ts';
import type { Loaded, Message } from './requests.ts';
import type { ThreadData } from './thread.ts';

// The first database loads the driver's native code.
new SqliteDatabase(':memory:').close();
parentPort?.postMessage('loaded' satisfies Loaded);

const { path, mostCharacters } = workerData as ThreadData;
const replyTo = repliesOf(path, mostCharacters);

parentPort?.on('message', (message: Message) => {
  void replyTo(message).then((reply) => parentPort?.postMessage(reply));
});
