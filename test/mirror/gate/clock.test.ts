import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/core/clock.ts';
import { iso } from '../../../src/database/instants.ts';
import { passSpec } from '../../support/pass-spec.ts';
import { firstIds, nthInbox, removeConversations } from '../../support/rows.ts';
import { quickMirror } from '../../support/template.ts';

const JUMP = -3 * HOUR;

async function instants(
  sql: { query<Row>(text: string): Promise<Row[]> },
  text: string,
): Promise<(number | null)[]> {
  const rows = await sql.query<Record<string, Date | null>>(text);
  return rows.flatMap((row) => Object.values(row).map((at) => at?.getTime() ?? null));
}

test.each([JUMP, -JUMP])('followClock moves stored times by the %i ms of a set clock', async (jump) => {
  const mirror = await quickMirror({ sandbox: { conversations: [30] } });
  const { clock, database, writer, sandbox } = mirror;
  await mirror.sync();
  const inbox = nthInbox(sandbox, 0);
  // More than 20 suspects: the sweep does not ask for them singly, and they wait for a second witness.
  removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 25));
  clock.advance(HOUR);
  await mirror.sync();
  const now = clock.now();
  await writer.passes.begin(passSpec({ kind: 'resync', lists: ['tags'] }), now);
  await writer.sweeps.open({ list: 'tags', inboxId: inbox.id }, 'resync', now);
  const schedule = { list: 'tags', expression: '* * * * *', timezone: 'UTC' } as const;
  await writer.schedules.write({
    ...schedule,
    nextAt: new Date(now + MINUTE),
    dueSince: new Date(now - MINUTE),
  });
  await writer.writeOutage({ since: new Date(now - HOUR), until: new Date(now + MINUTE), cause: 'a test' });
  const failed = { lastId: 0, failures: 1, cause: 'HTTP 500', setAside: 0, setAsideId: null };
  await writer.deliveries.write('a receiver', { ...failed, retryAt: new Date(now + MINUTE) }, now);
  await writer.ledger.followClock(await clock.ledgerTime());

  const held = [
    `SELECT retry_at FROM webhooks`,
    `SELECT sent_at FROM requests ORDER BY id`,
    `SELECT started_at, heartbeat_at, finished_at FROM sweeps WHERE id IN (SELECT max(id) FROM sweeps GROUP BY list, inbox_id, state) ORDER BY id`,
    `SELECT requested_at, started_at, heartbeat_at FROM sync_requests WHERE state = 'running' ORDER BY id`,
    `SELECT due_since FROM schedules`,
    `SELECT outage_since, outage_until FROM gate_state`,
    `SELECT missing_since FROM conversations WHERE missing_since IS NOT NULL ORDER BY id`,
    `SELECT fetched_at FROM sweep_pages ORDER BY sweep_id, page_no`,
    `SELECT read_at FROM bookmarks ORDER BY inbox_id, after_id`,
  ];
  const before = await Promise.all(held.map((text) => instants(database, text)));
  clock.setWall(jump);
  await writer.ledger.followClock(await clock.ledgerTime());
  const after = await Promise.all(held.map((text) => instants(database, text)));
  expect(before.every((times) => times.some((at) => at !== null))).toBe(true);
  expect(after).toEqual(before.map((times) => times.map((at) => (at === null ? null : at + jump))));
});

test.each([JUMP, -JUMP])(
  'no request is granted by a time that a process read before another one followed a clock set by %i ms',
  async (jump) => {
    const { clock, writer } = await quickMirror({ sandbox: { conversations: [3] } });
    const { ledger } = writer;
    const grant = async (now: number, bootAt: number) =>
      await ledger.grant(
        { method: 'GET', path: '/inboxes', list: 'inboxes', inboxId: null, reason: 'manual' },
        { gapMs: 1000, unansweredMs: 5000, cap: 5000, access: 'key', ownIds: [], bootAt },
        now,
      );
    const read = await clock.ledgerTime();
    await ledger.followClock(read);
    clock.setWall(jump);
    const followed = await clock.ledgerTime();
    await ledger.followClock(followed);
    expect(await grant(read.now, read.boot.at)).toMatchObject({ granted: false, because: 'clock' });
    expect(await grant(followed.now, followed.boot.at)).toMatchObject({ granted: true });
  },
);

test('an instant that was written by the new clock before the ledger follows it moves no other one', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [30] } });
  const { clock, database, sandbox, writer } = mirror;
  await mirror.sync();
  const inbox = nthInbox(sandbox, 0);
  removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 25));
  clock.advance(HOUR);
  await mirror.sync();
  const since = `SELECT DISTINCT missing_since FROM conversations WHERE missing_since IS NOT NULL`;
  const [suspected] = await instants(database, since);
  clock.advance(MINUTE);
  clock.setWall(-JUMP);
  const id = `SELECT max(id) FROM sweeps`;
  await database.execute(`UPDATE sweeps SET heartbeat_at = $1 WHERE id = (${id})`, iso(clock.now()));
  await writer.ledger.followClock(await clock.ledgerTime());
  expect(await instants(database, since)).toEqual([suspected! - JUMP]);
  expect(await instants(database, `SELECT heartbeat_at FROM sweeps WHERE id = (${id})`)).toEqual([
    clock.now(),
  ]);
});

test('suspects get their second witness on time even if the clock is set back', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [300] } });
  const { clock, sandbox, database } = mirror;
  await mirror.sync();
  const inbox = nthInbox(sandbox, 0);
  removeConversations(mirror, inbox.id, firstIds(inbox.conversations, 25));
  clock.advance(MINUTE);
  await mirror.sync();
  clock.setWall(JUMP);
  clock.advance(15 * MINUTE);
  await mirror.sync();
  const gone = await database.query(`SELECT id FROM conversations WHERE deleted_at IS NOT NULL`);
  expect(gone).toHaveLength(25);
});

test('after a reboot with the clock behind, no sweep and no new pass has a time in the future', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [30] } });
  const { clock, database, writer } = mirror;
  await mirror.sync();
  await writer.ledger.followClock(await clock.ledgerTime());
  clock.reboot(MINUTE, JUMP);
  await writer.ledger.followClock(await clock.ledgerTime());
  const now = clock.now();
  const times = await instants(database, `SELECT started_at, heartbeat_at, finished_at FROM sweeps`);
  expect(Math.max(...times.map((at) => at ?? 0))).toBeLessThanOrEqual(now);
  const pass = await writer.passes.begin(passSpec({ kind: 'resync', lists: ['tags'] }), now);
  expect(pass.startedAt.getTime() - now).toBeLessThanOrEqual(1);
});

test('after a reboot with the clock ahead, the times of sweeps stay unchanged', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [30] } });
  const { clock, database, writer } = mirror;
  await mirror.sync();
  await writer.ledger.followClock(await clock.ledgerTime());
  const text = `SELECT started_at, heartbeat_at, finished_at FROM sweeps ORDER BY id`;
  const before = await instants(database, text);
  clock.reboot(MINUTE, -JUMP);
  await writer.ledger.followClock(await clock.ledgerTime());
  expect(await instants(database, text)).toEqual(before);
});

test('after a server whose time was ahead, a request of the future counts from now, and not for longer', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [3] } });
  const { clock, database, writer } = mirror;
  await mirror.sync();
  const text = `SELECT sent_at FROM requests ORDER BY id`;
  const before = await instants(database, text);
  // No run of a machine vouches for the time of a server.
  await writer.ledger.followClock({ now: clock.now() + 30 * HOUR, boot: null });
  expect(await instants(database, text), 'a time ahead moves no request').toEqual(before);
  const ahead = new Date(clock.now() + 30 * HOUR).toISOString().replace('Z', '+00:00');
  await database.execute(`UPDATE requests SET sent_at = $1 WHERE id = (SELECT max(id) FROM requests)`, ahead);
  const now = clock.now();
  await writer.ledger.followClock({ now, boot: null });
  expect(await instants(database, text)).toEqual([...before.slice(0, -1), now]);
});

test.each([
  ['between two syncs', -2 * HOUR],
  ['between two syncs', 2 * HOUR],
  ['while its page is on its way', -2 * HOUR],
  ['while its page is on its way', 2 * HOUR],
])('a change lies between its instants if the clock is set %s by %i ms', async (when, jump) => {
  const mirror = await quickMirror({ sandbox: { conversations: [30] } });
  const { clock, database, sandbox } = mirror;
  await mirror.sync();
  clock.advance(10 * MINUTE);
  const inbox = nthInbox(sandbox, 0);
  sandbox.world.setStatus(inbox.id, firstIds(inbox.conversations, 1)[0]!, 'waiting');
  let isSet = false;
  const setOnce = (): void => {
    if (!isSet) clock.setWall(jump);
    isSet = true;
  };
  if (when === 'between two syncs') setOnce();
  sandbox.script(({ path }) => {
    if (path.includes('/conversations?')) setOnce();
    return undefined;
  });
  await mirror.sync();
  const [before, after] = await instants(
    database,
    `SELECT previously_seen_at, observed_at FROM changes WHERE field = 'status'`,
  );
  expect(after! - before!).toBeGreaterThan(9 * MINUTE);
  expect(after! - before!).toBeLessThan(11 * MINUTE);
});
