import { expect, test } from 'vitest';
import { type Served, served } from '../daemon/http/served.ts';
import { atEnd } from '../support/lasting.ts';
import { firstInbox } from '../support/rows.ts';

const text = async (ask: Served['ask'], path: string): Promise<string> => {
  const { status, body } = await ask(path, { headers: { accept: 'text/html' } });
  expect(status).toBe(200);
  return body
    .replaceAll('\n', ' ')
    .replaceAll('</tr>', '\n')
    .replaceAll(/<[^>]+>|\u00A0/g, ' ')
    .replaceAll(/ +/g, ' ');
};

/** A mirror with `count` changes of the status of one conversation, and one of another field. */
async function changed(
  count: number,
): Promise<Served & { inbox: string; conversation: string; name: string }> {
  const all = await served();
  await all.sync();
  const [row] = await all.mirror.database.query<{ id: string; inbox_id: string; name: string }>(
    `SELECT conversations.id, inbox_id, display_name AS name
     FROM conversations JOIN inboxes ON inboxes.id = inbox_id ORDER BY 2, 1`,
  );
  const insert = (field: string, from: string | null, to: string): Promise<unknown> =>
    all.mirror.database.execute(
      `INSERT INTO changes (observed_at, previously_seen_at, list, inbox_id, item_id, field, old_value, new_value)
       VALUES ('2026-03-02T08:00:00.000+00:00', NULL, 'conversations', $1, $2, $3, $4, $5)`,
      row!.inbox_id,
      row!.id,
      field,
      from,
      to,
    );
  for (let nth = 0; nth < count; nth += 1) await insert('status', `s${nth}`, `s${nth + 1}`);
  await insert('permalink', 'a', 'b');
  return { ...all, inbox: row!.inbox_id, conversation: row!.id, name: row!.name };
}

test('the feed shows what changed, the newest first, with names', async () => {
  const { ask, conversation, name } = await changed(3);
  const page = await text(ask, '/feed');
  const rows = page.split('\n').filter((line) => line.includes(conversation));
  expect(rows).toEqual([
    expect.stringContaining(`${name} ${conversation} permalink from a to b`),
    expect.stringContaining('status from s2 to s3'),
    expect.stringContaining('status from s1 to s2'),
    expect.stringContaining('status from s0 to s1'),
  ]);
});

test('the feed says what an item was first seen with, and leaves out the kind of a new assignee', async () => {
  const { ask, sync, mirror, clock } = await served();
  await sync();
  const { world } = mirror.sandbox;
  const inbox = firstInbox(mirror.sandbox);
  const [user] = inbox.users.values();
  const name = `${user!.first_name} ${user!.last_name}`;
  const assignee = { assignee_type: 'user', assignee_id: user!.id };
  const added = world.addConversation(inbox.id, { status: 'open', assignee });
  const free = world.addConversation(inbox.id, { status: 'pending', assignee: null });
  clock.advance(60_000);
  await sync();
  world.assign(inbox.id, free.id, user!.id);
  clock.advance(60_000);
  await sync();
  const rows = (await text(ask, '/feed')).split('\n');
  const of = (id: string): string => rows.filter((row) => row.includes(` ${id} `)).join('\n');
  expect(of(added.id)).toContain(`first seen: open , assigned to ${name}`);
  expect(of(free.id)).toContain('first seen: pending , unassigned');
  expect(of(free.id)).toContain(`assignee from unassigned to ${name}`);
  expect(of(free.id)).not.toContain('kind of assignee');
  expect(await text(ask, `/inboxes/${inbox.id}/conversations/${free.id}`)).not.toContain('kind of assignee');
});

test('the feed of a person has the conversations that appear with the person as their assignee', async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  const { id: inbox, users } = firstInbox(mirror.sandbox);
  const [own = '', other = ''] = users.order;
  const [added, foreign] = [own, other].map((id) =>
    mirror.sandbox.world.addConversation(inbox, { assignee: { assignee_type: 'user', assignee_id: id } }),
  );
  await sync();
  const feed = await text(ask, `/feed?person=${own}`);
  expect(feed).toContain(` ${added!.id} `);
  expect(feed).not.toContain(` ${foreign!.id} `);
});

test('the feed is filtered by inbox, field and person, and pages lead to the oldest change', async () => {
  const { ask, inbox, mirror } = await changed(120);
  expect(await text(ask, `/feed?inbox=${inbox}&field=permalink`)).not.toContain('status from');
  expect(await text(ask, '/feed?inbox=1')).toContain('No change fits.');
  await mirror.database.execute(`UPDATE inbox_users SET first_name = 'Ada', last_name = 'No'`);
  const people = (await ask('/feed', { headers: { accept: 'text/html' } })).body;
  expect(people, 'people of one name').toMatch(/<option value="(\d+)" *>Ada No \(\1\)<\/option>/);
  const [user] = await mirror.database.query<{ id: string }>('SELECT id FROM inbox_users');
  expect(await text(ask, `/feed?person=${user!.id}`)).toContain('No change fits.');
  const first = await ask('/feed?field=status', { headers: { accept: 'text/html' } });
  const [, older = ''] = /href="(\/feed\?[^"]+before[^"]+)"/.exec(first.body) ?? [];
  const rest = await text(ask, older.replaceAll('&amp;', '&'));
  expect(rest).toContain('status from s0 to s1');
  expect(rest).not.toContain('status from s20 to s21');
});

/** A reader of the live feed. */
interface LiveReader {
  /** All events until one has the word. */
  until(word: string): Promise<string>;
}

/** A mirror with changes up to the id `id`, and its live feed. */
async function liveFeed(): Promise<{
  id: number;
  clock: Served['clock'];
  /** Adds a change to this status. */
  insert(to: string): Promise<void>;
  /** Puts a backup back whose newest change has this id. */
  restore(id: number): Promise<void>;
  open(query: string, headers?: Record<string, string>): Promise<LiveReader>;
}> {
  const { url, mirror, clock, inbox, conversation } = await changed(1);
  const [last] = await mirror.database.query<{ id: number }>('SELECT max(id) AS id FROM changes');
  return {
    id: last!.id,
    clock,
    async insert(to) {
      await mirror.database.execute(
        `INSERT INTO changes (observed_at, list, inbox_id, item_id, field, old_value, new_value)
         VALUES ('2026-03-02T08:00:00.000+00:00', 'conversations', $1, $2, 'status', NULL, $3)`,
        inbox,
        conversation,
        to,
      );
    },
    async restore(id) {
      await mirror.database.execute('DELETE FROM changes WHERE id > $1', id);
    },
    async open(query, headers = {}) {
      const stop = new AbortController();
      atEnd(() => stop.abort());
      const { body } = await fetch(`${url}/feed/live?${query}`, { headers, signal: stop.signal });
      const parts = body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
      let found = '';
      return {
        async until(word) {
          while (!found.includes(word)) {
            const { done, value } = await parts.next();
            if (done === true) break;
            found += value;
          }
          return found;
        },
      };
    },
  };
}

test('the live feed sends each new change once, also after a break', async () => {
  const { id, clock, insert, open } = await liveFeed();
  await insert('first');
  // All readers share the newest id for a second.
  clock.advance(2000);
  const reader = await open(`after=${id}`);
  expect(await reader.until('first')).toMatch(new RegExp(`id: ${id + 1}\nevent: changes\ndata: <tr>.*first`));
  await insert('second');
  clock.advance(2000);
  const again = await open('after=0', { 'last-event-id': String(id + 1) });
  expect(await again.until('second')).not.toContain('first');
});

test('the live feed sends a change once if it is newer than the id that the readers share', async () => {
  const { id, clock, insert, open } = await liveFeed();
  await insert('first');
  clock.advance(2000);
  await (await open(`after=${id}&field=status`)).until('first');
  await insert('second');
  const reader = await open(`after=${id}`);
  await reader.until('first');
  await insert('third');
  clock.advance(2000);
  expect((await reader.until('third')).match(/second/g)).toHaveLength(1);
});

test('the live feed omits no change that is newer than the rows that the readers share', async () => {
  const { id, clock, insert, open } = await liveFeed();
  await insert('first');
  clock.advance(2000);
  await (await open(`after=${id}&field=status`)).until('first');
  clock.advance(500);
  await (await open(`after=${id}`)).until('first');
  // The next reader gets the new id, while the rows that the reader before got are half a second old.
  await insert('second');
  clock.advance(500);
  const reader = await open(`after=${id}`);
  await reader.until('first');
  await insert('third');
  clock.advance(2000);
  expect((await reader.until('third')).match(/second/g)).toHaveLength(1);
});

test('the live feed has the page read itself again once a restored backup lacks the changes that it shows', async () => {
  const { id, clock, insert, restore, open } = await liveFeed();
  const reader = await open(`after=${id}`);
  await insert('lost');
  clock.advance(2000);
  await reader.until('lost');
  await restore(id);
  clock.advance(2000);
  expect(await reader.until('restored')).toMatch(/event: restored\ndata: read the page again\n\n$/);
  await restore(id - 1);
  clock.advance(2000);
  expect(await (await open(`after=${id}`)).until('restored'), 'a page that comes later').toContain(
    'restored',
  );
});

test('the live feed leaves a page alone that is ahead of the id that the readers share', async () => {
  const { id, clock, insert, open } = await liveFeed();
  await (await open(`after=${id - 1}`)).until('changes');
  await insert('newer');
  const reader = await open(`after=${id + 1}`);
  await reader.until('retry');
  clock.advance(2000);
  await insert('newest');
  clock.advance(2000);
  expect(await reader.until('newest')).not.toMatch(/restored|newer/);
});

test('the live feed needs the token like every page', async () => {
  const { ask } = await served({}, { token: 't0ken.of~endpoints' });
  expect((await ask('/feed/live')).status).toBe(303);
});
