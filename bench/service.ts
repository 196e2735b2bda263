/** Runs the sandbox in a separate process, so that its CPU time and memory do not count. */
import { createSandbox } from '../src/sandbox/sandbox.ts';
import type { Service } from './processes.ts';

const { conversations, inboxes } = JSON.parse(process.argv[2] ?? '{}') as {
  conversations: number;
  inboxes: number;
};
const sandbox = createSandbox({ rate: 0, perDay: 0, inboxes, conversations: conversations / inboxes });
const { url } = await sandbox.listen();
// The number of rows that a walk over all lists must return.
let rows = sandbox.world.inboxes.size;
for (const { users, tags, conversations: list } of sandbox.world.inboxes.values())
  rows += users.size + tags.size + list.size;
process.send?.({ url, rows } satisfies Service);
process.once('disconnect', () => process.exit());
