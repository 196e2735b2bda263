import { expect, test } from 'vitest';
import { HOUR, SECOND } from '../../src/core/clock.ts';
import type { Database } from '../../src/database/database.ts';
import { iso } from '../../src/database/instants.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { type Served, served } from '../daemon/http/served.ts';
import { passSpec } from '../support/pass-spec.ts';

const engine = async (ask: Served['ask']): Promise<string> => {
  const { status, body } = await ask('/engine', { headers: { accept: 'text/html' } });
  expect(status).toBe(200);
  // One line a row, without the tags.
  return body
    .replaceAll('\n', ' ')
    .replaceAll('</tr>', '\n')
    .replaceAll(/<[^>]+>|\u00A0/g, ' ')
    .replaceAll(/ +/g, ' ');
};

/** Makes the lease one of a daemon that runs. */
const playDaemon = async (database: Database, now: number): Promise<void> => {
  const lease = `UPDATE leases SET command = 'inbox-mirror start', expires_at = $1, heartbeat_at = $2`;
  await database.execute(lease, iso(now + 20_000), iso(now));
};

test('the engine room counts requests against the budget, and names each list with its age', async () => {
  const { ask, sync, status, clock } = await served();
  await sync();
  clock.advance(90_000);
  const text = await engine(ask);
  const { sent } = await status();
  expect(text).toContain(`${sent} of 5,000; ${(5000 - sent).toLocaleString('en-US')} left`);
  expect(text).toContain(`${sent} for commands; 250 a day are kept for people.`);
  expect(text).toMatch(/^ Support conversations 1 min 30 s ago 30 min 230 \d+ fresh $/m);
  expect(text).toContain('No daemon runs, so no list is read on schedule.');
});

test('the engine room says how late changes were seen', async () => {
  const { ask, sync, mirror, clock } = await served();
  await sync();
  for (let nth = 1; nth <= 20; nth += 1)
    await mirror.database.execute(
      `INSERT INTO changes (observed_at, previously_seen_at, list, inbox_id, item_id, field, sweep_id)
       SELECT $1, $2, list, inbox_id, $3, 'status', id FROM sweeps WHERE list = 'conversations' ORDER BY id LIMIT 1`,
      iso(clock.now()),
      iso(clock.now() - nth * SECOND),
      String(nth),
    );
  expect(await engine(ask)).toContain(
    'Delay of changes 10 s half of 20 changes were seen within this time, 95 % within 19 s',
  );
});

test('the engine room says that requests flow only while they do', async () => {
  const { ask, sync, mirror, clock } = await served();
  await sync();
  await playDaemon(mirror.database, clock.now());
  const flowing = await engine(ask);
  expect(flowing).toMatch(/All \d lists are fresh, and requests flow\./);
  await mirror.database.execute(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
     INSERT INTO requests (sent_at, method, path, reason, status) SELECT $1, 'GET', '/', 'page', 200 FROM n`,
    iso(clock.now() - HOUR),
  );
  clock.advance(2000);
  const spent = await engine(ask);
  expect(spent).not.toContain('requests flow');
  expect(spent).toMatch(/All \d lists are fresh\. Requests are stopped until tomorrow .* budget is spent\./);
});

test('the engine room shows stale lists and held deletions before its figures, and names failures', async () => {
  const { ask, sync, clock, mirror } = await served({ sandbox: { conversations: [100] } });
  await sync();
  const [inbox] = mirror.sandbox.world.inboxes.values();
  for (const id of inbox!.conversations.order.slice(0, 30))
    mirror.sandbox.world.removeConversation(inbox!.id, id);
  await sync();
  clock.advance(HOUR);
  await sync();
  await mirror.database.execute('UPDATE requests SET status = 503 WHERE id = 2');
  await mirror.database.execute(
    `UPDATE sweeps SET state = 'failed', error = 'no end'
     WHERE id = (SELECT max(id) FROM sweeps WHERE list = 'tags')`,
  );
  clock.advance(2 * HOUR);
  const text = await engine(ask);
  expect(text).toContain('2 lists older than 30 min: inboxes, conversations of Support .');
  expect(text).toMatch(
    /conversations of Support : 30 rows are missing at the service and still count\. If they are gone, run inbox-mirror resync conversations --inbox \d+ --accept-deletes \./,
  );
  for (const trouble of ['2 lists older than', '30 rows are missing'])
    expect(text.indexOf(trouble)).toBeLessThan(text.indexOf('Requests, 24 hours'));
  expect(text).toContain('30 deletions held');
  expect(text).toMatch(/failed: no end ; failed once \(2 requests\)/);
  expect(text, 'an item that is gone').not.toContain('HTTP 404');
  expect(text).toMatch(/3 h ago \S+ of Support HTTP 503/);
});

test.for([
  ['a mailbox without access', 'UPDATE inboxes SET is_authorised = false WHERE id = $1', 'lost access'],
  [
    'an unreadable row',
    `INSERT INTO rejects (sweep_id, list, inbox_id, reason, raw, seen_at)
     SELECT 1, 'conversations', inbox_id, 'id is not text', '{}', read_at FROM bookmarks WHERE inbox_id = $1`,
    '1 row unreadable; deletions wait: 1 row without a readable id',
  ],
] as const)('the engine room names a fresh list that needs a look for %s', async ([, change, words]) => {
  const { ask, sync, mirror, clock } = await served({ sandbox: { conversations: Array(14).fill(3) } });
  await sync();
  // The sandbox has mailboxes without access.
  await mirror.database.execute('UPDATE inboxes SET is_authorised = true');
  await playDaemon(mirror.database, clock.now());
  expect(await engine(ask)).toContain('All 43 lists are fresh, and requests flow.');
  await mirror.database.execute(change, [...mirror.sandbox.world.inboxes.keys()].at(-1));
  clock.advance(2000);
  const text = await engine(ask);
  expect(text).not.toContain('requests flow');
  expect(text).toMatch(/\d lists? needs? a look: [^.]*conversations of /);
  const [open, folded] = text.split(/The other \d+ lists/);
  expect(open).toContain(words);
  expect(folded).not.toContain(words);
});

test('an order is shown with its inbox, by whom and since when', async () => {
  const { ask, mirror, clock, sync } = await served();
  await sync();
  const [inbox] = mirror.sandbox.world.inboxes.values();
  const spec = passSpec({ kind: 'resync', inboxId: inbox!.id, requestedBy: '<ada>@desk' });
  await mirrorOn(mirror.database).orders.place(spec, clock.now());
  clock.advance(60_000);
  expect(await engine(ask)).toMatch(/ 2: resync Support &lt;ada&gt;@desk 1 min ago waits /);
});
