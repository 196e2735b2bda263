import { expect, test } from 'vitest';
import { DAY } from '../../src/core/clock.ts';
import { type Served, served } from '../daemon/http/served.ts';
import { firstInbox, nthInbox } from '../support/rows.ts';

const text = async (ask: Served['ask'], path: string): Promise<string> => {
  const { body } = await ask(path, { headers: { accept: 'text/html' } });
  return body
    .replaceAll('\n', ' ')
    .replaceAll(/<[^>]+>|\u00A0/g, ' ')
    .replaceAll(/ +/g, ' ');
};

test("a conversation's page has its whole history: what changed, from what to what, seen when", async () => {
  const { ask, sync, mirror, clock } = await served();
  await sync();
  const { world } = mirror.sandbox;
  const [inbox] = world.inboxes.values();
  const [id = ''] = inbox!.conversations.order;
  const [tag] = inbox!.tags.values();
  const path = `/inboxes/${inbox!.id}/conversations/${id}`;
  const before = await text(ask, path);
  expect(before).toContain('the mirror first saw this conversation');
  clock.advance(3_600_000);
  await mirror.database.execute(`UPDATE inbox_tags SET name = $1 WHERE id = $2`, '<i>Größe</i> 🏷️', tag!.id);
  const [user] = inbox!.users.values();
  for (const [field, from, to] of [
    ['status', 'open', 'closed'],
    ['tags', null, tag!.id],
    ['assignee_id', user!.id, null],
    ['permalink', 'a<b', null],
  ])
    await mirror.database.execute(
      `INSERT INTO changes (observed_at, previously_seen_at, list, inbox_id, item_id, field, old_value, new_value)
       VALUES ($1, $2, 'conversations', $3, $4, $5, $6, $7)`,
      '2026-03-02T09:00:00.000+00:00',
      '2026-03-02T08:45:00.000+00:00',
      inbox!.id,
      id,
      field,
      from,
      to,
    );
  const after = await text(ask, path);
  expect(after).toContain(
    'seen 2 Mar 2026, 09:00:00 UTC, not before 2 Mar 2026, 08:45:00 UTC (within 15 min)',
  );
  expect(after).toContain('status from open to closed');
  expect(after).toContain('got the tag &lt;i&gt;Größe&lt;/i&gt; 🏷️');
  const [row] = await mirror.database.query<{ name: string }>(
    `SELECT first_name || ' ' || last_name AS name FROM inbox_users WHERE id = $1`,
    user!.id,
  );
  expect(after).toContain(`assignee from ${row!.name} to unassigned`);
  expect(after).toContain('permalink from a&lt;b to nothing');
});

test('the last change of a conversation may be earlier if the first sweep saw it and no change since', async () => {
  const { ask, sync, mirror, clock } = await served({ sandbox: { conversations: [2] } });
  await sync();
  const { world } = mirror.sandbox;
  const { id, conversations } = firstInbox(mirror.sandbox);
  const [still = '', closed = ''] = conversations.order;
  clock.advance(DAY);
  const { id: appeared } = world.addConversation(id);
  world.setStatus(id, closed, 'snoozed');
  await sync();
  const lastChange = async (conversation: string): Promise<string | undefined> =>
    /Last change (.*?) Link/.exec(await text(ask, `/inboxes/${id}/conversations/${conversation}`))?.[1];
  expect([await lastChange(still), await lastChange(closed), await lastChange(appeared)]).toEqual([
    '1 d ago or earlier',
    'just now',
    'just now',
  ]);
  world.removeConversation(id, still);
  for (let pass = 0; pass < 2; pass++) {
    clock.advance(DAY);
    await sync({ acceptDeletes: true });
  }
  expect(await lastChange(still), 'it was deleted').toBe('3 d ago or earlier');
  expect(await text(ask, `/inboxes/${id}/conversations/${still}`)).toContain('the mirror first saw this');
});

test('a deleted conversation says that it is gone, and since when', async () => {
  const { ask, sync, mirror, clock } = await served({ sandbox: { conversations: [10] } });
  await sync();
  const [inbox] = mirror.sandbox.world.inboxes.values();
  const [id = ''] = inbox!.conversations.order;
  mirror.sandbox.world.removeConversation(inbox!.id, id);
  clock.advance(60_000);
  await sync();
  expect(await text(ask, `/inboxes/${inbox!.id}/conversations/${id}`)).toMatch(
    /The service (no longer lists|did not list) this conversation/,
  );
});

test("an inbox's page has its people, its tags and its open conversations by name", async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  const [inbox] = mirror.sandbox.world.inboxes.values();
  const page = await text(ask, `/inboxes/${inbox!.id}`);
  const people = await mirror.database.query<{ assignee: string; open: number; pending: number }>(
    'SELECT assignee, open, pending FROM assignee_workload WHERE inbox_id = $1',
    inbox!.id,
  );
  expect(people.length).toBeGreaterThan(0);
  for (const { assignee, open, pending } of people) expect(page).toContain(`${assignee} ${open} ${pending}`);
  const tags = await mirror.database.query<{ tag: string; not_closed: number; conversations: number }>(
    'SELECT tag, not_closed, conversations FROM tag_volume WHERE inbox_id = $1 AND conversations > 0',
    inbox!.id,
  );
  for (const row of tags) expect(page).toContain(`${row.tag} ${row.not_closed} ${row.conversations}`);
  expect(page, 'nothing was seen to change').toMatch(
    /newest change first .* (open|pending) .* just now or earlier/,
  );
});

test('an inbox that is gone, and its conversations, say so, and no more of their present', async () => {
  const { ask, sync, mirror, clock } = await served({ sandbox: { conversations: [3, 3] } });
  await sync();
  const { world } = mirror.sandbox;
  const { id, conversations } = nthInbox(mirror.sandbox, 1);
  world.removeInbox(id);
  for (let pass = 0; pass < 2; pass++) {
    clock.advance(DAY);
    await sync({ acceptDeletes: true });
  }
  const page = await text(ask, `/inboxes/${id}`);
  expect(page).toMatch(/no longer has this inbox: it was gone .* \. Its conversations went with it\./);
  expect(page).toContain('Backlog, 90 days');
  const ofConversation = await text(ask, `/inboxes/${id}/conversations/${conversations.order[0]!}`);
  expect(ofConversation).toContain('The service no longer lists this conversation');
  for (const words of [page, ofConversation])
    expect(words).not.toMatch(/first copy|As of|is closed|No conversation|No person|Well done/);
});

test.each(['/inboxes/1', '/inboxes/1/conversations/2', "/inboxes/'%20OR%20'1'%3D'1", '/inboxes/%00'])(
  'an unknown item is a page with 404: %s',
  async (path) => {
    const { ask, sync } = await served();
    await sync();
    const { status, body } = await ask(path, { headers: { accept: 'text/html' } });
    expect(status).toBe(404);
    expect(body).toContain('The mirror has nothing under this address.');
  },
);
