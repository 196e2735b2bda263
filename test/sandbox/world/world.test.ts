import { expect, test } from 'vitest';
import { HOUR } from '../../../src/core/clock.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { ask, firstInbox, UNLIMITED, walk } from '../http/ask.ts';

const NOON = Date.UTC(2026, 4, 1, 12);

/** The whole world as text. */
function truth({ world }: Sandbox): string {
  return JSON.stringify([...world.inboxes.values()], (_key, value: unknown) =>
    value instanceof Map ? [...value.values()] : value,
  );
}

function timed(options: Partial<SandboxOptions> = {}) {
  const clock = { now: NOON };
  return {
    clock,
    sandbox: createSandbox({ ...UNLIMITED, activityPerHour: 120, ...options, now: () => clock.now }),
  };
}

function dataAt(now: number, seed: number): string {
  return truth(createSandbox({ seed, now: () => now }));
}

test('the same seed gives the same data all day, and another seed different data', () => {
  expect(dataAt(NOON, 7)).toBe(dataAt(NOON + HOUR, 7));
  expect(dataAt(NOON, 7)).not.toBe(dataAt(NOON, 8));
});

test('the history of the world does not depend on the number of requests or on faults', async () => {
  const asked = timed({ errorRate: 0.5, jitterMs: 0 });
  const left = timed();
  for (let nth = 0; nth < 240; nth++) {
    asked.clock.now += HOUR / 10;
    await ask(asked.sandbox, '/inboxes');
  }
  left.clock.now = asked.clock.now;
  await ask(left.sandbox, '/inboxes');
  expect(truth(left.sandbox)).toBe(truth(asked.sandbox));
  expect(truth(left.sandbox)).not.toBe(truth(timed().sandbox));
});

test('activityPerHour sets about how many events happen, and 0 means none', async () => {
  const still = timed({ activityPerHour: 0 });
  const before = truth(still.sandbox);
  still.clock.now += 1000 * HOUR;
  still.sandbox.advance(1000 * HOUR);
  await ask(still.sandbox, '/inboxes');
  expect(truth(still.sandbox)).toBe(before);

  const busy = timed({ activityPerHour: 50, conversations: [0], usersPerInbox: 0, tagsPerInbox: 0 });
  busy.sandbox.advance(40 * HOUR);
  // Nearly every event changes so small a world. 2,000 are due; over a quarter of them open a conversation.
  expect(firstInbox(busy.sandbox).conversations.size).toBeGreaterThan(400);
  expect(firstInbox(busy.sandbox).conversations.size).toBeLessThan(1400);
});

test('each event opens, assigns, tags, closes, reopens or removes one conversation', () => {
  const { sandbox } = timed({ inboxes: 1, conversations: [200] });
  const { conversations } = firstInbox(sandbox);
  const kinds = new Set<string>();
  for (let left = 600; left > 0; left--) {
    const before = new Map([...conversations].map(([id, row]) => [id, { ...row }]));
    sandbox.applyEvents(1);
    const changed: string[] = [];
    for (const [id, row] of conversations) {
      const old = before.get(id);
      if (old === undefined) changed.push('opened');
      else if (old.status !== row.status) changed.push(`${old.status} to ${row.status}`);
      else if (old.assignee !== row.assignee) changed.push('assigned');
      else if (old.tag_ids !== row.tag_ids) changed.push('tagged');
    }
    for (const id of before.keys()) if (!conversations.has(id)) changed.push('removed');
    expect(changed.length).toBe(1);
    for (const kind of changed) kinds.add(kind);
  }
  expect([...kinds].sort()).toEqual(
    [
      'opened',
      'open to closed',
      'open to pending',
      'pending to closed',
      'closed to open',
      'assigned',
      'tagged',
      'removed',
    ].sort(),
  );
});

test('a conversation opened while the clock runs has a thread id of that time', () => {
  const { clock, sandbox } = timed({ inboxes: 1, conversations: [0], activityPerHour: 3600 });
  clock.now += HOUR;
  sandbox.advance(0);
  const begun = [...firstInbox(sandbox).conversations.values()].map(({ gmail_thread_id: thread }) =>
    Number.parseInt(thread.slice(0, 11), 16),
  );
  expect(begun.length).toBeGreaterThan(100);
  expect(Math.min(...begun)).toBeGreaterThanOrEqual(NOON);
  expect(Math.max(...begun)).toBeLessThanOrEqual(NOON + HOUR);
});

/** Days from a thread's start to {@link NOON}. */
function age(thread: string): number {
  return (NOON - Number.parseInt(thread.slice(0, 11), 16)) / (24 * HOUR);
}

test('the first inboxes and users are busiest, old conversations mostly closed and some shared', () => {
  const { world } = createSandbox({ now: () => NOON, inboxes: 5, conversations: 400 });
  const inboxes = [...world.inboxes.values()];
  const sizes = inboxes.map(({ conversations }) => conversations.size);
  expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeCloseTo(2000, -1);

  const rows = inboxes.flatMap(({ conversations }) => Array.from(conversations.values()));
  const shareClosed = (some: typeof rows) =>
    some.filter(({ status }) => status === 'closed').length / some.length;
  expect(
    rows.every(
      ({ gmail_thread_id: thread }) => /^[0-9a-f]{16}$/.test(thread) && age(thread) > 0 && age(thread) < 545,
    ),
  ).toBe(true);
  expect(shareClosed(rows.filter((row) => age(row.gmail_thread_id) > 60))).toBeGreaterThan(0.95);
  expect(shareClosed(rows.filter((row) => age(row.gmail_thread_id) < 5))).toBeLessThan(0.6);

  const [busiest] = inboxes;
  const load = new Map<string, number>();
  for (const { assignee } of busiest?.conversations.values() ?? []) {
    if (assignee !== null) load.set(assignee.assignee_id, (load.get(assignee.assignee_id) ?? 0) + 1);
  }
  expect(Math.max(...load.values())).toBeGreaterThan(3 * Math.min(...load.values()));
  const twice = rows.length - new Set(rows.map(({ id }) => id)).size;
  expect(twice).toBeGreaterThan(10);
  const { world: apart } = createSandbox({ conversations: 400, sharedShare: 0 });
  const ids = [...apart.inboxes.values()].flatMap(({ conversations }) => Array.from(conversations.keys()));
  expect(new Set(ids).size).toBe(ids.length);
});

test('a list of conversation numbers sets the exact number for each inbox', () => {
  const { world } = createSandbox({ conversations: [7, 0, 123] });
  expect([...world.inboxes.values()].map(({ conversations }) => conversations.size)).toEqual([7, 0, 123]);
});

test('every method of the world throws a RangeError on an unknown or a taken id', () => {
  const { world } = createSandbox({ inboxes: 1, conversations: [1] });
  const [inbox] = world.inboxes.keys();
  const id = inbox ?? '';
  const conversation = [...(world.inboxes.get(id)?.conversations.keys() ?? [])][0] ?? '';
  const wrong: (() => unknown)[] = [
    () => world.removeInbox('1'),
    () => world.restoreInbox(id),
    () => world.addInbox({ id }),
    () => world.addUser('1'),
    () => world.removeUser(id, '1'),
    () => world.addTag('1'),
    () => world.removeTag(id, '1'),
    () => world.addConversation('1'),
    () => world.addConversation(id, { id: conversation }),
    () => world.addConversation(id, { id: '007' }),
    () => world.removeConversation(id, '1'),
    () => world.restoreConversation(id, conversation),
    () => world.setStatus(id, '1', 'open'),
    () => world.assign(id, conversation, '1'),
    () => world.tag(id, conversation, '1'),
    () => world.untag(id, conversation, '1'),
  ];
  for (const verb of wrong) expect(verb).toThrow(RangeError);
});

test('a restored conversation or inbox is as it was before its removal', async () => {
  const sandbox = createSandbox({ ...UNLIMITED, conversations: [15, 5] });
  const { id, conversations } = firstInbox(sandbox);
  const [conversation = ''] = conversations.keys();
  const before = await walk(sandbox, `/inboxes/${id}/conversations`);

  sandbox.world.removeConversation(id, conversation);
  expect((await ask(sandbox, `/inboxes/${id}/conversations/${conversation}`)).status).toBe(404);
  sandbox.world.restoreConversation(id, conversation);
  sandbox.world.removeInbox(id);
  expect((await ask(sandbox, `/inboxes/${id}`)).status).toBe(404);
  expect((await ask(sandbox, `/inboxes/${id}/conversations`)).status).toBe(404);
  sandbox.world.restoreInbox(id);
  expect(await walk(sandbox, `/inboxes/${id}/conversations`)).toEqual(before);
});
