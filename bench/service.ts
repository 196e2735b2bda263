/** The sandbox in a process of its own, so that none of its CPU and memory counts for the side that is measured. */
import { createSandbox } from '../src/sandbox/sandbox.ts';
import type { Service } from './processes.ts';

const { conversations, inboxes } = JSON.parse(process.argv[2] ?? '{}') as {
  conversations: number;
  inboxes: number;
};
const sandbox = createSandbox({ rate: 0, perDay: 0, inboxes, conversations: conversations / inboxes });
const { url } = await sandbox.listen();
// What a walk over every list has to bring.
let rows = sandbox.world.inboxes.size;
for (const { users, tags, conversations: list } of sandbox.world.inboxes.values())
  rows += users.size + tags.size + list.size;
process.send?.({ url, rows } satisfies Service);
process.once('disconnect', () => process.exit());
