// The process of `process.ts`.
import { repliesOf } from './replies.ts';
import type { Message } from './requests.ts';

/** A longer row would fill the memory of the daemon, which receives it whole. */
const MOST_CHARACTERS = 4_000_000;

const replyTo = repliesOf(process.argv[2] ?? '', MOST_CHARACTERS);

process.on('message', (message: Message) => {
  void replyTo(message).then((reply) => process.send?.(reply));
});
// The daemon is gone.
process.once('disconnect', () => process.exit());
