import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ask, firstInbox, idsIn, pageIn, UNLIMITED, walk } from './ask.ts';

function numerically(a: string, b: string): number {
  return BigInt(a) < BigInt(b) ? -1 : 1;
}

/** The ids of a list in the world, in the order in which the sandbox lists them. */
function truth(rows: ReadonlyMap<string, unknown>): string[] {
  return [...rows.keys()].sort(numerically);
}

/** Parses JSON with every number as a string of its digits, so that rows compare whatever their id type. */
function plain(text: string): unknown {
  return JSON.parse(text.replaceAll(/(?<=[:[,])\d+(?=[,\]}])/g, '"$&"'));
}

/** Replaces all seven shapes of no assignee with null. */
function noAssigneeAsNull(text: string): string {
  return text
    .replaceAll(
      /"assignee":(?:\{\}|\[\]|""|0|\{"assignee_type":"user","assignee_id":null\})/g,
      '"assignee":null',
    )
    .replaceAll(/("id":"?\d+"?,)(?="status")/g, '$1"assignee":null,');
}

function sizes(pages: string[]): number[] {
  return pages.map((body) => pageIn({ body }).results.length);
}

describe.each(['data', 'top'] as const)('the sandbox with the envelope %s', (envelope) => {
  describe.each(['string', 'number', 'mixed'] as const)('and ids as %s', (idType) => {
    test('lists exactly the rows of its world page by page, with every digit of their ids', async () => {
      const sandbox = createSandbox({
        ...UNLIMITED,
        envelope,
        idType,
        inboxes: 12,
        conversations: 60,
        usersPerInbox: 23,
        tagsPerInbox: 17,
      });
      const { inboxes } = sandbox.world;

      expect(idsIn(await walk(sandbox, '/inboxes', 'limit=10'))).toEqual(truth(inboxes));
      for (const [id, inbox] of inboxes) {
        for (const list of ['users', 'tags', 'conversations'] as const) {
          expect(idsIn(await walk(sandbox, `/inboxes/${id}/${list}`, 'limit=10'))).toEqual(
            truth(inbox[list]),
          );
        }
      }
      const beyond = [...inboxes.values()]
        .flatMap(({ conversations }) => truth(conversations))
        .filter((id) => BigInt(id) > 2n ** 53n);
      expect(beyond.some((id) => String(Number(id)) !== id)).toBe(true);
    });

    test('lists rows with the fields of its world', async () => {
      const sandbox = createSandbox({ ...UNLIMITED, envelope, idType, conversations: 30 });
      const [before, after] = envelope === 'data' ? ['{"data":', '}'] : ['', ''];
      // One page holds all rows. The whole text is compared, envelope included.
      const expectList = async (
        path: string,
        rows: ReadonlyMap<string, object>,
        list = (text: string) => text,
      ) => {
        const { body } = await ask(sandbox, `${path}?limit=100`);
        const results = JSON.stringify(truth(rows).map((id) => rows.get(id)));
        const wanted = `${before}{"results":${results},"pagination":{"next_page":null}}${after}`;
        expect(plain(list(body))).toEqual(plain(wanted));
      };
      const inboxes = new Map<string, object>();
      for (const [id, inbox] of sandbox.world.inboxes) {
        const { users, tags, conversations, unlisted, notes, drafts, ...fields } = inbox;
        expect([[...unlisted], notes, drafts]).toEqual([[], [], []]);
        inboxes.set(id, fields);
        await expectList(`/inboxes/${id}/users`, users);
        await expectList(`/inboxes/${id}/tags`, tags);
        await expectList(`/inboxes/${id}/conversations`, conversations, noAssigneeAsNull);
      }
      await expectList('/inboxes', inboxes);
    });
  });
});

/**
 * Whether ids are numbers in the JSON: of a listed conversation, its assignee, its tags, its inbox, and of
 * the conversation alone.
 */
async function forms(idType: 'string' | 'number' | 'mixed'): Promise<boolean[]> {
  const sandbox = createSandbox({ ...UNLIMITED, idType, inboxes: 1, conversations: 0 });
  const { id, users, tags } = firstInbox(sandbox);
  const [user] = users.values();
  const [tag] = tags.values();
  sandbox.world.addConversation(id, {
    id: '9007199254740993',
    assignee: { assignee_type: 'user', assignee_id: user?.id ?? '' },
    tag_ids: [tag?.id ?? ''],
  });
  const { body } = await ask(sandbox, `/inboxes/${id}/conversations`);
  const inboxes = (await ask(sandbox, '/inboxes')).body;
  const alone = (await ask(sandbox, `/inboxes/${id}/conversations/9007199254740993`)).body;
  return [
    body.includes('"id":9007199254740993,'),
    body.includes(`"assignee_id":${user?.id}}`),
    body.includes(`"tag_ids":[${tag?.id}]`),
    inboxes.includes(`"id":${id},`),
    alone.includes('"id":9007199254740993,'),
  ];
}

test('mixed ids are numbers for listed conversations and assignees; other types are uniform', async () => {
  expect(await forms('mixed')).toEqual([true, true, false, false, false]);
  expect(await forms('string')).toEqual([false, false, false, false, false]);
  expect(await forms('number')).toEqual([true, true, true, true, true]);
});

test('no assignee has seven shapes, and each conversation keeps its shape', async () => {
  const sandbox = createSandbox({ ...UNLIMITED, inboxes: 1, conversations: 0 });
  const { id } = firstInbox(sandbox);
  for (let left = 60; left > 0; left--) sandbox.world.addConversation(id);
  const [text = ''] = await walk(sandbox, `/inboxes/${id}/conversations`);
  const shapes = pageIn({ body: text }).results.map((row) =>
    'assignee' in row ? JSON.stringify(row.assignee) : 'missing',
  );
  expect([...new Set(shapes)].sort()).toEqual(
    ['missing', 'null', '{"assignee_type":"user","assignee_id":null}', '{}', '[]', '""', '0'].sort(),
  );
  expect(await walk(sandbox, `/inboxes/${id}/conversations`)).toEqual([text]);
});

test('a page has ten rows by default, and rows that fill pages exactly leave no empty page', async () => {
  const sandbox = createSandbox({ ...UNLIMITED, conversations: [30, 0] });
  const [full, empty] = sandbox.world.inboxes.keys();
  expect(sizes(await walk(sandbox, `/inboxes/${full}/conversations`, ''))).toEqual([10, 10, 10]);
  expect(sizes(await walk(sandbox, `/inboxes/${full}/conversations`, 'limit=15'))).toEqual([15, 15]);
  expect(sizes(await walk(sandbox, `/inboxes/${full}/conversations`, 'limit=15&sort_order=desc'))).toEqual([
    15, 15,
  ]);
  expect(sizes(await walk(sandbox, `/inboxes/${empty}/conversations`, ''))).toEqual([0]);
});

test('the sandbox sorts ids as numbers, not as text, in both directions', async () => {
  const sandbox = createSandbox({ ...UNLIMITED, conversations: [0] });
  const { id } = firstInbox(sandbox);
  const ids = ['9', '10', '99', '100', '9007199254740992', '9007199254740993', '9223372036854775807'];
  for (const conversation of ids.toReversed()) sandbox.world.addConversation(id, { id: conversation });
  expect(idsIn(await walk(sandbox, `/inboxes/${id}/conversations`))).toEqual(ids);
  expect(idsIn(await walk(sandbox, `/inboxes/${id}/conversations`, 'sort_by=id&sort_order=desc'))).toEqual(
    ids.toReversed(),
  );
});

test('a token has the published form, survives the removal of its row and sets the order', async () => {
  const sandbox = createSandbox({ ...UNLIMITED, conversations: [25] });
  const { id, conversations } = firstInbox(sandbox);
  const order = [...conversations.order];
  const token =
    pageIn(await ask(sandbox, `/inboxes/${id}/conversations?sort_order=desc`)).pagination.next_page ?? '';
  expect(token).toMatch(/^[A-Za-z0-9+/]+=*$/);
  expect(token.length % 4).toBe(0);
  const decoded: { cursor: string } = JSON.parse(Buffer.from(token, 'base64').toString());
  expect(decoded).toEqual({ cursor: expect.any(String), sort_order: 'desc', sort_by: 'id' });
  expect(decoded.cursor).toMatch(/^[\w-]+$/);
  expect(Buffer.from(decoded.cursor, 'base64url').toString()).toBe(
    `{"gmailunit_id":${order[15]},"_pointsToNextItems":true}`,
  );

  sandbox.world.removeConversation(id, order[15] ?? '');
  sandbox.world.removeConversation(id, order[20] ?? '');
  sandbox.world.addConversation(id);
  const second = await ask(sandbox, `/inboxes/${id}/conversations?next_page=${encodeURIComponent(token)}`);
  expect(idsIn([second.body])).toEqual(order.slice(5, 15).toReversed());
});

test('a walk sees each row that stays exactly once, whatever changes between its pages', async () => {
  const step = fc.record({
    remove: fc.array(fc.nat(99), { maxLength: 5 }),
    add: fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { maxLength: 80 }),
      fc.array(step),
      fc.boolean(),
      async (start, steps, down) => {
        const sandbox = createSandbox({ ...UNLIMITED, conversations: [0] });
        const { id, conversations } = firstInbox(sandbox);
        for (const number of start) sandbox.world.addConversation(id, { id: String(number) });
        const stayed = new Set(conversations.keys());
        const seen: string[] = [];
        let token: string | null = null;
        do {
          const path = `/inboxes/${id}/conversations?sort_order=${down ? 'desc' : 'asc'}`;
          const { body } = await ask(
            sandbox,
            token === null ? path : `${path}&next_page=${encodeURIComponent(token)}`,
          );
          seen.push(...idsIn([body]));
          token = pageIn({ body }).pagination.next_page;
          const { remove, add } = steps.shift() ?? { remove: [], add: [] };
          for (const nth of remove) {
            const gone = conversations.order[nth];
            if (gone === undefined) continue;
            stayed.delete(gone);
            // Deletes from the map itself, not by a method of the world: the order of ids must still follow.
            conversations.delete(gone);
          }
          for (const number of add)
            if (!conversations.has(String(number))) sandbox.world.addConversation(id, { id: String(number) });
        } while (token !== null);
        expect(new Set(seen).size).toBe(seen.length);
        expect([...stayed].filter((row) => !seen.includes(row))).toEqual([]);
        expect(conversations.order).toEqual([...conversations.keys()].sort(numerically));
      },
    ),
    { numRuns: 60 },
  );
});

test('the searches list users by their whole address, and tags by their whole name or a part', async () => {
  const sandbox = createSandbox({ ...UNLIMITED, inboxes: 1 });
  const { id } = firstInbox(sandbox);
  const user = sandbox.world.addUser(id, { email: 'plus+sign@example.org' });
  const tag = sandbox.world.addTag(id, { name: 'Späte Post' });
  const search = async (path: string, of = sandbox) => pageIn(await ask(of, `/inboxes/${id}/${path}`));
  expect(await search(`users/search?email=${encodeURIComponent(user.email)}`)).toEqual({
    results: [user],
    pagination: { next_page: null },
  });
  expect((await search('users/search?email=plus')).results).toEqual([]);
  expect((await search(`tags/search?name=${encodeURIComponent(tag.name)}`)).results).toEqual([tag]);
  expect((await search('tags/search?name=Post')).results).toEqual([]);

  const partial = createSandbox({ ...UNLIMITED, inboxes: 1, tagSearch: 'partial' });
  for (let nth = 0; nth < 12; nth++) partial.world.addTag(id, { name: `Post ${nth}` });
  const first = await search('tags/search?name=Post', partial);
  expect(first.results.length).toBe(10);
  expect(
    (
      await search(
        `tags/search?name=Post&next_page=${encodeURIComponent(first.pagination.next_page ?? '')}`,
        partial,
      )
    ).results.length,
  ).toBe(2);
});
