import { expect, test } from 'vitest';
import { openMirror } from '../../src/mirror/mirror.ts';
import { type Served, served } from '../daemon/http/served.ts';

const text = async (ask: Served['ask']): Promise<string> => {
  const { body } = await ask('/people', { headers: { accept: 'text/html' } });
  return body
    .replaceAll('\n', ' ')
    .replaceAll(/<[^>]+>|\u00A0/g, ' ')
    .replaceAll(/ +/g, ' ');
};

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
  for (const { tag, inbox, n } of tags) expect(page).toContain(`${tag} ${inbox} ${n} `);
});

test('history is counted once for all visitors, and appears when it is counted', async () => {
  const { ask, sync, mirror, clock } = await served();
  await sync();
  await openMirror(mirror.database).keepViewSettings(
    { reportTimezone: 'UTC', budget: { perDay: 5000, reserved: 250 } },
    clock.now(),
  );
  const [row] = await mirror.database.query<{ inbox_id: string; id: string; tag: string }>(
    `SELECT conversations.inbox_id, conversations.id, inbox_tags.id AS tag
     FROM conversations JOIN inbox_tags ON inbox_tags.inbox_id = conversations.inbox_id`,
  );
  await mirror.database.execute(`UPDATE inbox_tags SET name = 'Refund'`);
  await mirror.database.execute(
    `INSERT INTO changes (observed_at, list, inbox_id, item_id, field, new_value)
     VALUES ('2026-03-02T07:00:00.000+00:00', 'conversations', $1, $2, 'tags', $3)`,
    row!.inbox_id,
    row!.id,
    row!.tag,
  );
  await expect.poll(() => text(ask)).toContain('2 Mar: Refund 1');
  await expect.poll(() => text(ask)).toMatch(/Time in status Counted just now/);
});
