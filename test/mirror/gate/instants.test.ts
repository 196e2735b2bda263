import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/core/clock.ts';
import { iso } from '../../../src/database/instants.ts';
import type { TestMirror } from '../../support/mirror.ts';
import { passSpec } from '../../support/pass-spec.ts';
import { bySql, modelsOf } from '../../support/prisma-dates.ts';
import { firstIds, nthInbox } from '../../support/rows.ts';
import { quickMirror } from '../../support/template.ts';

/** The instants that are compared with the time, or with each other, and move along with a set clock. */
const MOVE = new Set([
  'bookmark_lists.lost_at',
  'bookmarks.read_at',
  'conversations.missing_since',
  'gate_state.account_since',
  'gate_state.account_until',
  'gate_state.day_limit_at',
  'gate_state.outage_since',
  'gate_state.outage_until',
  'gate_state.paused_at',
  'gate_state.paused_until',
  'inbox_tags.missing_since',
  'inbox_users.missing_since',
  'inboxes.missing_since',
  'rejects.seen_at',
  'requests.sent_at',
  'schedules.due_since',
  'sweep_pages.fetched_at',
  'sweeps.finished_at',
  'sweeps.heartbeat_at',
  'sweeps.retry_at',
  'sweeps.started_at',
  'sync_requests.heartbeat_at',
  'sync_requests.requested_at',
  'sync_requests.started_at',
  'undecided.asked_at',
  'unlisted.asked_at',
  'unlisted.returned_at',
  'unlisted.since',
  'webhooks.retry_at',
]);

/** The instants that stay, by reason: patterns of `table.column`. */
const STAY: Readonly<Record<string, RegExp>> = {
  'the service wrote it': /\.(created_at|thread_started_at)$|^inboxes\.updated_at$|^requests\.service_at$/,
  'the history keeps what the clock showed':
    /\.(first_seen_at|changed_at|deleted_at|known_since)$|^changes\.|_spans\.|^epochs\.|^sync_requests\.finished_at$/,
  'a calendar, of which a set clock needs other days':
    /^(report_days|counted_days|report_offsets|office_hours|schedule_slots)\.|^schedules\.next_at$/,
  'it holds for a day at most; a longer one counts as none': /^leases\./,
  'at worst one attempt comes too early': /^gate_state\.refused_at$/,
  'it only says how old a record is':
    /^webhooks\.updated_at$|^rates\.updated_at$|^bookmark_lists\.baseline_at$/,
  'following the clock writes it': /^gate_state\.clock_/,
};

const COLUMNS = modelsOf()
  .filter(({ kind }) => kind === 'model')
  .flatMap(({ name: table, fields }) =>
    fields.filter(({ type }) => type === 'DateTime').map(({ name: column }) => ({ table, column })),
  );

test('each stored instant either moves along with a set clock or stays for one reason', () => {
  expect(COLUMNS.length).toBeGreaterThan(50);
  const reasons = COLUMNS.map(({ table, column }) => {
    const name = `${table}.${column}`;
    const stays = Object.keys(STAY).filter((reason) => STAY[reason]?.test(name));
    return { name, reasons: MOVE.has(name) ? ['moves', ...stays] : stays };
  });
  expect(reasons.filter(({ reasons: found }) => found.length !== 1)).toEqual([]);
  const names = new Set(reasons.map(({ name }) => name));
  expect([...MOVE].filter((name) => !names.has(name))).toEqual([]);
});

test.each([3 * HOUR, -3 * HOUR])('a clock set by %i ms moves exactly these instants', async (jump) => {
  const mirror = await livedIn();
  const { clock, database, writer } = mirror;
  await writer.ledger.followClock(await clock.ledgerTime());
  const at = clock.now() - 10 * MINUTE;
  const filled = COLUMNS.filter(({ table, column }) => !`${table}.${column}`.startsWith('gate_state.clock_'));
  for (const { table, column } of filled)
    await database.execute(`UPDATE ${table} SET ${column} = $1`, iso(at));
  clock.setWall(jump);
  await writer.ledger.followClock(await clock.ledgerTime());

  const found = new Map<string, number[]>();
  for (const place of filled) {
    const times = new Set(await bySql(database, place));
    found.set(
      `${place.table}.${place.column}`,
      [...times].map((time) => (time ?? Number.NaN) - at),
    );
  }
  for (const [name, moved] of found)
    if (MOVE.has(name)) expect(moved, name).toEqual([jump]);
    else
      expect(
        moved.filter((by) => by !== 0),
        name,
      ).toEqual([]);
});

/** A mirror with a row in each table whose instants move. */
async function livedIn(): Promise<TestMirror> {
  const mirror = await quickMirror({ sandbox: { conversations: [30] } });
  const { clock, database, sandbox, writer } = mirror;
  await mirror.sync();
  const inbox = nthInbox(sandbox, 0);
  sandbox.world.unlistConversation(inbox.id, inbox.conversations.order[3]!);
  // No status of the service is a number.
  Object.assign(inbox.conversations.get(inbox.conversations.order[5]!)!, { status: 7 });
  const [undecided = ''] = firstIds(inbox.conversations, 1, 8);
  sandbox.world.unlistConversation(inbox.id, undecided);
  sandbox.script(({ path }) => (path.endsWith(`/${undecided}`) ? { status: 403 } : undefined));
  await mirror.sync();
  // A pass that has ended belongs to the history.
  await database.execute('DELETE FROM sync_requests');
  const now = clock.now();
  await writer.passes.begin(passSpec({ kind: 'resync', lists: ['tags'] }), now);
  await writer.sweeps.open({ list: 'tags', inboxId: nthInbox(sandbox, 0).id }, 'resync', now);
  const slot = { list: 'tags', expression: '* * * * *', timezone: 'UTC' } as const;
  await database.execute(
    'INSERT INTO webhooks (target, last_id, updated_at) VALUES ($1, 0, $2)',
    'a target',
    iso(now),
  );
  await writer.schedules.write({ ...slot, nextAt: new Date(now), dueSince: new Date(now) });
  return mirror;
}
