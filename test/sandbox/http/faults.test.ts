import { expect, test } from 'vitest';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ask, firstInbox, idsIn, pageIn, rowAt, UNLIMITED, walk } from './ask.ts';

const SIZE = { ...UNLIMITED, inboxes: 3, conversations: [25, 25, 25] };

test('a fault named by a path concerns that list, and one named by a kind all lists of the kind', async () => {
  const sandbox = createSandbox(SIZE);
  const [one = '', two = ''] = sandbox.world.inboxes.order;
  const rows = async (path: string) => pageIn(await ask(sandbox, path)).results.length;
  sandbox.faults.set(`/inboxes/${one}/tags`, 'empty').set('conversations', 'empty');
  expect([await rows(`/inboxes/${one}/tags`), await rows(`/inboxes/${two}/tags`)]).toEqual([0, 8]);
  for (const id of [one, two]) expect(await rows(`/inboxes/${id}/conversations`)).toBe(0);
  const alone = `/inboxes/${one}/conversations/${rowAt(firstInbox(sandbox).conversations, 0).id}`;
  expect((await ask(sandbox, alone)).status).toBe(200);
  sandbox.faults.set('inboxes', 'forbidden');
  expect((await ask(sandbox, '/inboxes')).status).toBe(403);
  expect((await ask(sandbox, `/inboxes/${one}`)).status).toBe(200);
});

test('an endless list, and rows that cannot be read, keep every digit of their ids as numbers', async () => {
  const sandbox = createSandbox({ ...SIZE, idType: 'number' });
  const path = `/inboxes/${rowAt(sandbox.world.inboxes, -1).id}/conversations`;
  const [whole = ''] = await walk(sandbox, path);
  for (const fault of ['endless', 'unreadable'] as const) {
    sandbox.faults.set('conversations', fault);
    const { body } = await ask(sandbox, `${path}?limit=100`);
    expect(idsIn([body])).toEqual(idsIn([whole]));
    expect(typeof pageIn({ body }).pagination.next_page).toBe(fault === 'endless' ? 'string' : 'object');
  }
});

test('another account answers after the given number of requests, and no inbox address stays', async () => {
  const sandbox = createSandbox({ ...SIZE, otherAccountAfter: 2, activityPerHour: 60 });
  const before = sandbox.world;
  const inboxes = async () => pageIn(await ask(sandbox, '/inboxes')).results;
  const first = await inboxes();
  expect(await inboxes()).toEqual(first);
  const other = await inboxes();
  expect(sandbox.world).not.toBe(before);
  expect(other.length).toBe(first.length);
  expect(await inboxes()).toEqual(other);
  const addresses = new Set(first.map(({ email }) => email));
  expect(other.filter(({ email }) => addresses.has(email))).toEqual([]);
  const { size } = firstInbox(sandbox).conversations;
  sandbox.advance(400 * 3_600_000);
  expect(firstInbox(sandbox).conversations.size).not.toBe(size);
});
