/**
 * The sandboxes, in a process of their own: neither the peers nor the measurement delays an answer. Each lane
 * has one, with the same seed, so that all lanes show the same account and none takes another's requests.
 */
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import type { Call, Changed, Counts, Rows } from './lanes.ts';

/** The pages of the first inbox that are answered before the empty one. */
const GOOD_PAGES = 4;

const lanes = new Map<string, Sandbox>();

function laneOf(name: string): Sandbox {
  const lane = lanes.get(name);
  if (lane === undefined) throw new Error(`there is no lane ${name}`);
  return lane;
}

/** The columns that every peer copies, as one text. */
function rowsOf({ world }: Sandbox): Rows {
  const rows: Rows = {};
  for (const inbox of world.inboxes.values())
    for (const { id, status, assignee, tag_ids: tags } of inbox.conversations.values())
      rows[`${inbox.id}/${id}`] = [status, assignee?.assignee_id ?? '', ...tags.toSorted()].join(' ');
  return rows;
}

function countsOf({ arrivals }: Sandbox): Counts {
  return {
    requests: arrivals.length,
    answered: arrivals.filter(({ status }) => status === 200).length,
    refused: arrivals.filter(({ status }) => status === 429).length,
  };
}

/** Applies the same random event in several lanes. @returns the rows that it changed; null: removed */
function change(names: readonly string[]): Changed {
  const first = laneOf(names[0] ?? '');
  const before = rowsOf(first);
  for (const name of names) laneOf(name).applyEvents(1);
  const after = rowsOf(first);
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...keys].filter((key) => before[key] !== after[key]).map((key) => [key, after[key] ?? null]),
  );
}

/** Removes conversations of the last inbox, which the empty page does not touch. */
function remove(sandbox: Sandbox, count: number): void {
  const inbox = [...sandbox.world.inboxes.values()].at(-1);
  for (const id of inbox?.conversations.order.slice(0, count) ?? [])
    sandbox.world.removeConversation(inbox!.id, id);
}

/** Once, answers a page in the middle of the first inbox's conversations with 200, no rows and no token. */
function truncate(sandbox: Sandbox): void {
  const path = `/v1/inboxes/${[...sandbox.world.inboxes.keys()][0]}/conversations?`;
  const from = sandbox.arrivals.length;
  sandbox.script((request) => {
    if (!request.path.startsWith(path)) return undefined;
    const pages = sandbox.arrivals.slice(from).filter((one) => one.path.startsWith(path));
    if (pages.filter(({ status }) => status === 200).length < GOOD_PAGES) return undefined;
    sandbox.script(undefined);
    const headers = { 'content-type': 'application/json' };
    return { status: 200, headers, body: '{"results":[],"pagination":{"next_page":null}}' };
  });
}

async function answer(call: Call): Promise<unknown> {
  if (call.do === 'change') return change(call.lanes);
  if (call.do === 'open') {
    const sandbox = createSandbox({ conversations: call.conversations });
    lanes.set(call.lane, sandbox);
    return (await sandbox.listen()).url;
  }
  const sandbox = laneOf(call.lane);
  if (call.do === 'rows') return rowsOf(sandbox);
  if (call.do === 'counts') return countsOf(sandbox);
  if (call.do === 'remove') return remove(sandbox, call.count);
  return truncate(sandbox);
}

process.on('message', ({ id, call }: { id: number; call: Call }) => {
  answer(call).then(
    (value) => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
process.once('disconnect', () => process.exit());
