// The thread of `thread.ts`.
import { parentPort, workerData } from 'node:worker_threads';
import { repliesOf } from './replies.ts';
import type { Message } from './requests.ts';

const replyTo = repliesOf(String(workerData));

parentPort?.on('message', (message: Message) => {
  void replyTo(message).then((reply) => parentPort?.postMessage(reply));
});
