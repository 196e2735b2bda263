import { expect, test } from 'vitest';
import { DAY } from '../../src/core/clock.ts';
import { count, firstIds, firstInbox } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';
import { ask } from '../views/support.ts';

test('housekeeping drops old requests, ended passes and empty sweeps, but no mirrored row', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [12] } });
  for (let syncs = 0; syncs < 5; syncs++) {
    await mirror.sync();
    mirror.clock.advance(10 * DAY);
  }
  const { writer, clock, database } = mirror;
  // The dropped requests are 50, 40 and 30 days old, for four lists each. Each list keeps its first sweep,
  // which found rows, its two newest ones, and the one before these: the view `reads` needs it.
  expect(await writer.housekeep(clock.now())).toEqual({ requests: 12, pages: 0, sweeps: 4, orders: 3 });
  expect(await count(database, 'requests')).toBe(8);
  expect(await writer.housekeep(clock.now())).toEqual({ requests: 0, pages: 0, sweeps: 0, orders: 0 });
  await expectEqualToService(mirror);
});

test('housekeeping keeps the earliest starts in the views, and the days of an empty inbox', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [1], usersPerInbox: 1, tagsPerInbox: 1 } });
  const { sandbox, clock, database, writer } = mirror;
  const { id: empty } = sandbox.world.addInbox({ display_name: 'Empty' });
  const syncs = async (times: number): Promise<void> => {
    for (let nth = 0; nth < times; nth++) {
      clock.advance(DAY);
      await mirror.sync({ lists: ['inboxes', 'conversations'] });
    }
  };
  await syncs(4);
  sandbox.world.addConversation(empty, { status: 'open' });
  await syncs(4);
  clock.advance(31 * DAY);
  const viewRows = async (): Promise<unknown> => [
    await ask(mirror, `SELECT from_earliest, from_at FROM status_intervals ORDER BY from_at DESC`),
    await ask(
      mirror,
      `SELECT inbox_id, min(day) AS since FROM flow_daily GROUP BY inbox_id ORDER BY inbox_id`,
    ),
  ];
  const before = await viewRows();
  const sweeps = await count(database, 'sweeps');
  await writer.housekeep(clock.now());
  expect(await count(database, 'sweeps')).toBeLessThan(sweeps - 8);
  expect(await viewRows()).toEqual(before);
});

test('the view reads has no gap of readings that housekeeping has deleted', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [1], usersPerInbox: 1, tagsPerInbox: 1 } });
  const { sandbox, clock, writer } = mirror;
  const inbox = firstInbox(sandbox);
  const [user = ''] = inbox.users.order;
  const read = async (): Promise<void> => {
    await mirror.sync();
    await writer.housekeep(clock.now());
    clock.advance(3 * DAY);
  };
  const gaps = async (): Promise<unknown> =>
    await ask(
      mirror,
      `SELECT list, max((gap_seconds + 3600) / 86400) AS longest,
         max(CASE WHEN finished_at < '2026-03-20' THEN (gap_seconds + 3600) / 86400 END) AS longest_ago
       FROM reads GROUP BY list ORDER BY list`,
    );
  for (let nth = 0; nth < 3; nth++) await read();
  sandbox.world.addConversation(inbox.id);
  inbox.users.get(user)!.last_name = 'Renamed';
  for (let nth = 0; nth < 14; nth++) await read();
  expect(await gaps()).toEqual([
    // The sweep before one that found a conversation is kept.
    { list: 'conversations', longest: 3, longest_ago: 3 },
    { list: 'inboxes', longest: 3, longest_ago: null },
    { list: 'tags', longest: 3, longest_ago: null },
    { list: 'users', longest: 3, longest_ago: null },
  ]);
  clock.advance(37 * DAY);
  for (let nth = 0; nth < 4; nth++) await read();
  expect(await gaps()).toEqual([
    { list: 'conversations', longest: 40, longest_ago: 3 },
    { list: 'inboxes', longest: 40, longest_ago: null },
    { list: 'tags', longest: 40, longest_ago: null },
    { list: 'users', longest: 40, longest_ago: null },
  ]);
});

test('housekeeping forgets the questions for conversations that are listed again', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [12] } });
  const { sandbox, database, clock } = mirror;
  await mirror.sync();
  const inbox = firstInbox(sandbox);
  const [listed = '', missing = ''] = firstIds(inbox.conversations, 2, 4);
  for (const id of [listed, missing]) sandbox.world.unlistConversation(inbox.id, id);
  sandbox.script(({ path }) => (/conversations\/\d+$/.test(path) ? { status: 403 } : undefined));
  await mirror.sync();
  expect(await count(database, 'undecided')).toBe(2);
  await database.execute('UPDATE conversations SET missing_since = NULL WHERE id = $1', listed);
  await mirror.writer.housekeep(clock.now());
  expect(await database.query('SELECT conversation_id AS id FROM undecided')).toEqual([{ id: missing }]);
});
