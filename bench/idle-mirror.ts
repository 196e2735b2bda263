/** Makes a mirror that was just filled look like one that a daemon has kept for weeks. */
import { BUDGET_WINDOW_MS } from '../src/core/budget.ts';
import { DAY, HOUR, SECOND } from '../src/core/clock.ts';
import type { Sql } from '../src/database/database.ts';
import { iso } from '../src/database/instants.ts';
import { openDatabase } from '../src/database/open.ts';
import { AGES, KINDS } from '../src/mirror/mirror.ts';

/** The planner learns the busy hours from so many days of changes. */
const DAYS_OF_CHANGES = 28;

/** Changes a day for each thousand conversations, as in the account L of `npm run bench:freshness`. */
const CHANGES_A_DAY = 12;

/** A day's budget less the reserve. */
const REQUESTS_A_DAY = 4750;

/**
 * Spreads the ledger and the readings over the last day, and adds a history and learned rates. Every page
 * gets rows of every kind: then the planner has most to compute.
 * @param now epoch ms
 */
export async function ageMirror(file: string, now: number): Promise<void> {
  const database = await openDatabase(`file:${file}`);
  try {
    await database.transaction(async (tx) => {
      await spendEvenly(tx, now);
      await readEvenly(tx, now);
      await learn(tx, now);
      await changeForWeeks(tx, now);
    });
    await database.execute('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    await database.close();
  }
}

/** The requests of a day, one after another. Those of the filling are gone: they would spend the budget. */
async function spendEvenly(tx: Sql, now: number): Promise<void> {
  await tx.execute(`DELETE FROM requests`);
  const gap = BUDGET_WINDOW_MS / REQUESTS_A_DAY;
  const rows = Array.from({ length: REQUESTS_A_DAY }, (_, nth) => iso(now - SECOND - nth * gap)).toReversed();
  await tx.execute(
    `INSERT INTO requests (sent_at, method, path, list, reason, status, duration_ms)
     SELECT value, 'GET', '/', 'conversations', 'page', 200, 100 FROM json_each($1)`,
    JSON.stringify(rows),
  );
}

async function readEvenly(tx: Sql, now: number): Promise<void> {
  const kinds = Array.from({ length: KINDS }, (_, kind) => (kind % AGES === AGES - 1 ? 36 : 2));
  const pages = await tx.query<{ rowid: number }>(`SELECT rowid FROM bookmarks ORDER BY random()`);
  const rows = pages.map(({ rowid }, nth) => ({ rowid, at: iso(now - (nth * DAY) / pages.length) }));
  await tx.execute(
    `UPDATE bookmarks SET kinds = $2, read_at = read.at
     FROM (SELECT value ->> 'rowid' AS id, value ->> 'at' AS at FROM json_each($1)) AS read
     WHERE bookmarks.rowid = read.id`,
    JSON.stringify(rows),
    JSON.stringify(kinds),
  );
}

async function learn(tx: Sql, now: number): Promise<void> {
  const inboxes = await tx.query<{ id: string }>(`SELECT id FROM inboxes`);
  const kinds = Array.from({ length: KINDS }, (_, kind) => kind).flatMap((kind) =>
    ['newest', 'new', 'old'].map((depth) => `kind/${kind}/${depth}`),
  );
  const names = [...kinds, ...inboxes.map(({ id }) => `arrivals/${id}`)];
  await tx.execute(
    `INSERT INTO rates (name, events, hours, updated_at)
     SELECT value, 5, 1000, $2 FROM json_each($1) WHERE TRUE ON CONFLICT (name) DO NOTHING`,
    JSON.stringify(names),
    iso(now),
  );
}

async function changeForWeeks(tx: Sql, now: number): Promise<void> {
  await tx.execute(`DELETE FROM changes`);
  const [{ n } = { n: 0 }] = await tx.query<{ n: number }>(`SELECT count(*) AS n FROM conversations`);
  const many = Math.round((DAYS_OF_CHANGES * CHANGES_A_DAY * n) / 1000);
  const gap = (DAYS_OF_CHANGES * DAY) / many;
  const rows = await tx.query<{ inbox_id: string; id: string }>(
    `SELECT inbox_id, id FROM conversations ORDER BY random() LIMIT $1`,
    many,
  );
  const changes = rows.map(({ inbox_id: inbox, id }, nth) => {
    const at = now - nth * gap;
    return { inbox, id, at: iso(at), before: iso(at - ((nth % 40) + 1) * (HOUR / 20)) };
  });
  await tx.execute(
    `INSERT INTO changes (observed_at, previously_seen_at, list, inbox_id, item_id, field, sweep_id)
     SELECT value ->> 'at', value ->> 'before', 'conversations', value ->> 'inbox', value ->> 'id',
       'status', 1
     FROM json_each($1)`,
    JSON.stringify(changes.toReversed()),
  );
}
