import { expect, test } from 'vitest';
import { served } from '../daemon/http/served.ts';
import { firstInbox } from '../support/rows.ts';

const BROWSER = { headers: { accept: 'text/html' } };

/** The note of each table that is cut, and how many rows the answer behind its link has. */
const CUT = /<h2>([^<]+)<\/h2>\s*<p class="note">\s*([^<]+)<a\s+href="([^"]+)"\s*>the whole list<\/a>/g;

test('a table that is cut says how many rows it leaves out, and links to all of them', async () => {
  const { ask, sync, mirror } = await served({
    sandbox: { inboxes: 1, conversations: [0], usersPerInbox: 110, tagsPerInbox: 50 },
  });
  const { world } = mirror.sandbox;
  const { id, users, tags } = firstInbox(mirror.sandbox);
  for (const user of users.order)
    world.addConversation(id, { assignee: { assignee_type: 'user', assignee_id: user } });
  for (const tag of tags.order) world.tag(id, world.addConversation(id).id, tag);
  await sync();
  const said: string[][] = [];
  for (const path of ['/', '/people', `/inboxes/${id}`]) {
    const { body } = await ask(path, BROWSER);
    for (const [, heading = '', words = '', href = ''] of body.matchAll(CUT)) {
      const answer = await ask(href.replaceAll('&amp;', '&').replaceAll('&#39;', "'"), BROWSER);
      said.push([path, heading, words.trim(), /(\d+) rows\./.exec(answer.body)?.[1] ?? answer.body]);
    }
  }
  expect(said).toEqual([
    ['/', 'Waiting longest for an assignee', 'The first 12 of 50. The other 38 are in', '50'],
    ['/people', 'Workload', 'The first 100 of 110. The other 10 are in', '110'],
    ['/people', 'Tags', 'The first 40 of 50. The other 10 are in', '50'],
    [`/inboxes/${id}`, 'Tags', 'The first 20 of 50. The other 30 are in', '50'],
    [`/inboxes/${id}`, 'Waiting longest for an assignee', 'The first 12 of 50. The other 38 are in', '50'],
    [`/inboxes/${id}`, 'Not closed, newest change first', 'The first 25 of 160. The other 135 are in', '160'],
  ]);
});

test('a table with all its rows says nothing of others', async () => {
  const { ask, sync, mirror } = await served({ sandbox: { inboxes: 1, conversations: [3] } });
  await sync();
  for (const path of ['/', '/people', `/inboxes/${firstInbox(mirror.sandbox).id}`])
    expect((await ask(path, BROWSER)).body).not.toContain('the whole list');
});
