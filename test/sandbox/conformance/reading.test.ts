// The specification's sections 4.2 and 4.3: paging, and the six operations with a documented shape.
import { describe, expect, test } from 'vitest';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ask, firstInbox, idsIn, type Page, pageIn, rowAt, UNLIMITED, walk } from '../http/ask.ts';

const sandbox = createSandbox({
  ...UNLIMITED,
  inboxes: 25,
  conversations: [130],
  usersPerInbox: 34,
  tagsPerInbox: 23,
});
const inbox = firstInbox(sandbox);
const { users, tags, conversations } = inbox;

/** The lists of the specification, with every row that they must return. */
const LISTS = [
  ['operation 1', '/inboxes', sandbox.world.inboxes],
  ['operation 3', `/inboxes/${inbox.id}/users`, users],
  ['operation 5', `/inboxes/${inbox.id}/tags`, tags],
  ['list conversations (§4.4)', `/inboxes/${inbox.id}/conversations`, conversations],
] as const;

async function page(path: string): Promise<Page> {
  const answer = await ask(sandbox, path);
  expect([answer.status, path]).toEqual([200, path]);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  return pageIn(answer);
}

const sizes = (pages: string[]): number[] => pages.map((body) => pageIn({ body }).results.length);

describe.each(LISTS)('§4.2 paging of %s', (_, path, rows) => {
  const all = [...rows.order];

  test('§4.2 without parameters a page has 10 rows', async () => {
    expect((await page(path)).results.length).toBe(10);
  });

  test('§4.2 limit sets the rows of a page, from 10 to 100', async () => {
    expect((await page(`${path}?limit=10`)).results.length).toBe(10);
    expect((await page(`${path}?limit=11`)).results.length).toBe(11);
    expect((await page(`${path}?limit=100`)).results.length).toBe(Math.min(100, all.length));
  });

  // Rule 3 of §7 leaves this open; the sandbox refuses, so that a client that relies on clamping is noticed.
  test.each(['9', '101', '0', '-10', '1e2', ''])('§7 a limit of "%s" gets 400', async (limit) => {
    expect((await ask(sandbox, `${path}?limit=${limit}`)).status).toBe(400);
  });

  test('§4.2 sort_order is ascending by default, and sort_by takes the id', async () => {
    expect(idsIn(await walk(sandbox, path))).toEqual(all);
    expect(idsIn(await walk(sandbox, path, 'limit=100&sort_order=asc'))).toEqual(all);
    const descending = await walk(sandbox, path, 'limit=10&sort_by=id&sort_order=desc');
    expect(idsIn(descending)).toEqual(all.toReversed());
  });

  test('§4.2 rule 1: the token of each answer leads to the next page, up to the last row', async () => {
    const pages = await walk(sandbox, path, 'limit=10');
    expect(idsIn(pages)).toEqual(all);
    expect(sizes(pages).slice(0, -1)).toEqual(Array.from({ length: pages.length - 1 }, () => 10));
  });

  test('§4.2 rule 1: a token alone is enough, and serves the same page again', async () => {
    const { pagination } = await page(path);
    const next = `${path}?next_page=${encodeURIComponent(pagination.next_page ?? '')}`;
    expect((await page(next)).results.map(({ id }) => id)).toEqual(all.slice(10, 20));
    expect(await page(next)).toEqual(await page(next));
  });

  test('§4.2 rule 2: next_page is a text, and null on the last page', async () => {
    const tokens = (await walk(sandbox, path)).map((body) => pageIn({ body }).pagination);
    const last = tokens.pop();
    expect(last).toEqual({ next_page: null });
    for (const pagination of tokens) expect(pagination).toEqual({ next_page: expect.any(String) as unknown });
  });
});

describe('§4.3 the documented operations', () => {
  test('§4.3 operation 1: GET /inboxes lists every inbox', async () => {
    expect(idsIn(await walk(sandbox, '/inboxes'))).toEqual([...sandbox.world.inboxes.order]);
  });

  test('§4.3 operation 2: GET /inboxes/{inbox_id} returns one inbox and ignores queries', async () => {
    const { results } = await page('/inboxes?limit=100');
    for (const row of results) {
      const { status, body } = await ask(sandbox, `/inboxes/${String(row['id'])}`);
      expect([status, JSON.parse(body)]).toEqual([200, { data: row }]);
    }
    expect((await ask(sandbox, `/inboxes/${inbox.id}?limit=7&next_page=x`)).status).toBe(200);
  });

  test('§4.3 operation 2: an id past 2^53 keeps every digit', async () => {
    const beyond = rowAt(sandbox.world.inboxes, -1).id;
    expect(BigInt(beyond)).toBeGreaterThan(2n ** 53n);
    expect(JSON.parse((await ask(sandbox, `/inboxes/${beyond}`)).body)).toMatchObject({
      data: { id: beyond },
    });
  });

  test('§4.3 operation 3: GET /inboxes/{inbox_id}/users lists the users of that inbox alone', async () => {
    for (const { id, users: own } of sandbox.world.inboxes.values())
      expect(idsIn(await walk(sandbox, `/inboxes/${id}/users`))).toEqual([...own.order]);
  });

  test('§4.3 operation 4: the search for a user takes the whole address, exactly as it is', async () => {
    const user = rowAt(users, 20);
    const search = (email: string): Promise<Page> =>
      page(`/inboxes/${inbox.id}/users/search?email=${encodeURIComponent(email)}`);
    const listed = (await page(`/inboxes/${inbox.id}/users?limit=100`)).results[20];
    const none: Page = { results: [], pagination: { next_page: null } };
    expect(await search(user.email)).toEqual({ ...none, results: [listed] });
    for (const other of [user.email.slice(1), user.email.slice(0, -1), user.email.toUpperCase()])
      expect(await search(other)).toEqual(none);
    const elsewhere = rowAt(sandbox.world.inboxes, 1);
    const stranger = [...elsewhere.users.values()].find(({ id }) => !users.has(id));
    expect(await search(stranger?.email ?? '')).toEqual(none);
  });

  test('§4.3 operation 5: GET /inboxes/{inbox_id}/tags lists the tags of that inbox alone', async () => {
    for (const { id, tags: own } of sandbox.world.inboxes.values())
      expect(idsIn(await walk(sandbox, `/inboxes/${id}/tags`))).toEqual([...own.order]);
  });

  test('§4.3 operation 6: the search for a tag takes its name; a part matches only by option', async () => {
    const listed = (await page(`/inboxes/${inbox.id}/tags?limit=100`)).results;
    const search = `/inboxes/${inbox.id}/tags/search?name=`;
    for (const tag of listed) {
      const { results, pagination } = await page(search + encodeURIComponent(String(tag['name'])));
      expect(results).toEqual([tag]);
      expect(pagination).toEqual({ next_page: null });
    }
    expect((await page(`${search}Urg`)).results).toEqual([]);
    const partial = createSandbox({ ...UNLIMITED, inboxes: 1, tagSearch: 'partial' });
    const found = pageIn(await ask(partial, `/inboxes/${firstInbox(partial).id}/tags/search?name=Urg`));
    expect(found.results).toMatchObject([{ name: 'Urgent' }]);
  });
});
