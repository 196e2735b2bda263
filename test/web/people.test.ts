import { expect, test } from 'vitest';
import { DAY } from '../../src/core/clock.ts';
import { type Served, served } from '../daemon/http/served.ts';
import { firstInbox } from '../support/rows.ts';
import { ask as askView } from '../views/support.ts';

const text = async (ask: Served['ask']): Promise<string> => {
  const { body } = await ask('/people', { headers: { accept: 'text/html' } });
  return body
    .replaceAll('\n', ' ')
    .replaceAll(/<[^>]+>|\u00A0/g, ' ')
    .replaceAll(/ +/g, ' ');
};

/** Gives a conversation of the first inbox a tag that it lacks. */
function giveTag({ sandbox }: Served['mirror']): { id: string; tag: string } {
  const { id, tags, conversations } = firstInbox(sandbox);
  const [tag = ''] = tags.order;
  const lacking = conversations.order.find((one) => !conversations.get(one)?.tag_ids.includes(tag)) ?? '';
  sandbox.world.tag(id, lacking, tag);
  return { id, tag };
}

test('the page of people adds up the work of a person in all inboxes, and names each tag with its inbox', async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  await mirror.database.execute(`UPDATE inbox_users SET first_name = 'Ada', last_name = '<b>'`);
  const people = await mirror.database.query<{ id: string; open: number; pending: number }>(
    `SELECT assignee_id AS id, CAST(sum(open) AS INTEGER) AS open, CAST(sum(pending) AS INTEGER) AS pending
     FROM assignee_workload GROUP BY assignee_id`,
  );
  expect(people.length).toBeGreaterThan(0);
  const page = await text(ask);
  for (const { open, pending } of people) expect(page).toContain(`Ada &lt;b&gt; ${open} ${pending}`);
  const tags = await mirror.database.query<{ tag: string; inbox: string; n: number }>(
    `SELECT tag, display_name AS inbox, not_closed AS n FROM tag_volume
     JOIN inboxes ON inboxes.id = inbox_id WHERE conversations > 0`,
  );
  expect(tags.length).toBeGreaterThan(0);
  for (const { tag, inbox, n } of tags) expect(page).toContain(`${tag} ${inbox} ${n} `);
});

test('history is counted once for all visitors, and appears when it is counted', async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  giveTag(mirror);
  await sync();
  await mirror.database.execute(`UPDATE inbox_tags SET name = 'Refund'`);
  await askView(mirror, `SELECT 1 AS one`);
  await expect.poll(() => text(ask)).toContain('2 Mar: Refund 1');
  await expect.poll(() => text(ask)).toMatch(/Time in status Counted just now/);
});

test('the chart of tags begins with the first day of the mirror, and has zeros from then on', async () => {
  const { ask, sync, mirror, clock } = await served();
  await sync();
  await mirror.database.execute(`UPDATE inbox_tags SET name = 'Refund'`);
  clock.advance(2 * DAY);
  giveTag(mirror);
  await sync();
  await askView(mirror, `SELECT 1 AS one`);
  await expect.poll(() => text(ask)).toMatch(/ Day Refund 4 Mar 1 3 Mar 0 2 Mar 0 /);
  expect(await text(ask)).not.toContain('1 Mar');
});

test('the chart of tags says what tag_daily says, also of conversations that appear with a tag', async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  const { id: inbox, tag } = giveTag(mirror);
  for (let came = 0; came < 2; came++) mirror.sandbox.world.addConversation(inbox, { tag_ids: [tag] });
  await sync();
  await mirror.database.execute(`UPDATE inbox_tags SET name = 'Refund'`);
  const days = `SELECT day, CAST(sum(tagged) AS INTEGER) AS tagged FROM tag_daily WHERE tagged > 0 GROUP BY day`;
  expect(await askView(mirror, days)).toEqual([{ day: '2026-03-02', tagged: 3 }]);
  await expect.poll(() => text(ask)).toContain('2 Mar: Refund 3');
});

test('the chart of tags keeps tags without a name apart, by their ids', async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  const { tag } = giveTag(mirror);
  await sync();
  await mirror.database.execute(`UPDATE inbox_tags SET name = ''`);
  await askView(mirror, `SELECT 1 AS one`);
  await expect.poll(() => text(ask)).toContain(`2 Mar: ${tag} 1`);
});

test('the chart of tags does not count the tags that conversations had at first', async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  await askView(mirror, `SELECT 1 AS one`);
  const empty = 'No conversation got a tag or appeared with one in the last 60 days.';
  await expect.poll(() => text(ask)).toContain(empty);
});
