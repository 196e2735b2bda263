// The thread of `thread.ts`.
import { parentPort, workerData } from 'node:worker_threads';
import { repliesOf } from './replies.ts';
import type { Message } from './requests.ts';
import type { ThreadData } from './thread.ts';

const { path, mostCharacters } = workerData as ThreadData;
const replyTo = repliesOf(path, mostCharacters);

parentPort?.on('message', (message: Message) => {
  void replyTo(message).then((reply) => parentPort?.postMessage(reply));
});
