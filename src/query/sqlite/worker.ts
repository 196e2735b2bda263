// The thread of `thread.ts`.
import { workerData } from 'node:worker_threads';
import { toStarter } from './loaded.ts';
import { repliesOf } from './replies.ts';
import type { Message } from './requests.ts';
import type { ThreadData } from './thread.ts';

const { path, mostCharacters } = workerData as ThreadData;
const replyTo = repliesOf(path, mostCharacters);
const starter = toStarter();

starter.on('message', (message: Message) => {
  void replyTo(message).then((reply) => starter.postMessage(reply));
});
