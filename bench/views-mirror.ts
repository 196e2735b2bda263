import SqliteDatabase from 'better-sqlite3';
import { DAY, HOUR } from '../src/core/clock.ts';
import { openDatabase } from '../src/database/open.ts';
import { iso } from '../src/database/instants.ts';
import { dropViews, ensureViews } from '../src/database/views/views.ts';
import { computeInbox } from '../src/mirror/history/intervals/compute.ts';
import { keepViewSettings } from '../src/mirror/settings/views.ts';

/** The history covers three years, in milliseconds. */
const YEARS_MS = 3 * 365 * DAY;

/** The inboxes and how many of twenty conversations each has: of a million, the last two have 50,000. */
const PARTS = { 51001: 8, 51002: 4, 51003: 4, 51004: 2, 51005: 1, 51006: 1 };
const INBOXES = Object.keys(PARTS);
const SHARES = Object.entries(PARTS).flatMap(([inbox, parts]) => Array<string>(parts).fill(inbox));
const USERS = 20;
const TAGS = 30;
const CHANGES_EACH = 5;

type Write = (sql: string, ...values: unknown[]) => void;

/**
 * Fills a new SQLite file with invented conversations over three years, with about five changes each. A
 * tenth of the conversations are from before the first sweep.
 */
export async function buildMirror(path: string, conversations: number, now: number): Promise<void> {
  const mirror = await openDatabase(`file:${path}`);
  await dropViews(mirror);
  const database = new SqliteDatabase(path);
  database.pragma('synchronous = OFF');
  database.pragma('cache_size = -400000');
  const indexes = database
    .prepare<[], { name: string; sql: string }>(
      `SELECT name, sql FROM sqlite_master
       WHERE type = 'index' AND sql IS NOT NULL
         AND tbl_name IN ('changes', 'conversations', 'conversation_tags')`,
    )
    .all();
  for (const { name } of indexes) database.exec(`DROP INDEX ${name}`);
  const statements = new Map<string, SqliteDatabase.Statement>();
  const write: Write = (sql, ...values) => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    statement.run(...values);
  };
  database.exec('CREATE TEMP TABLE staged AS SELECT * FROM changes');
  database.exec('BEGIN');
  invent(write, conversations, now);
  // Sorted, because the program writes changes in the order of time.
  database.exec(`INSERT INTO changes
    (observed_at, previously_seen_at, list, inbox_id, item_id, field, old_value, new_value, sweep_id)
    SELECT observed_at, previously_seen_at, list, inbox_id, item_id, field, old_value, new_value, 1
    FROM staged ORDER BY observed_at`);
  database.exec('COMMIT');
  database.exec('DROP TABLE staged');
  // Partial indexes (WHERE) belong to the views: ensureViews creates them.
  for (const { sql } of indexes) if (!/\sWHERE\s/.test(sql)) database.exec(sql);
  database.close();
  await ensureViews(mirror);
  for (const inbox of INBOXES) await computeInbox(mirror, mirror.dialect, inbox);
  await keepViewSettings(
    mirror,
    { reportTimezone: 'Europe/Berlin', budget: { perDay: 5000, reserved: 250 } },
    now,
  );
  for (const statement of mirror.dialect.maintenance) await mirror.query(statement);
  await mirror.close();
}

function invent(write: Write, conversations: number, now: number): void {
  const start = now - YEARS_MS;
  const startedAt = iso(start);
  for (const inbox of INBOXES) {
    write(
      `INSERT INTO inboxes (id, display_name, raw, content_hash, first_seen_at, changed_at, known_since)
       VALUES (?, ?, '{}', '', ?, ?, ?)`,
      inbox,
      `Inbox ${inbox}`,
      startedAt,
      startedAt,
      startedAt,
    );
    write(
      `INSERT INTO sweeps (list, inbox_id, reason, state, inserted, started_at, heartbeat_at, finished_at)
       VALUES ('conversations', ?, 'schedule', 'complete', 1, ?, ?, ?)`,
      inbox,
      startedAt,
      startedAt,
      startedAt,
    );
    for (let user = 0; user < USERS; user++)
      write(
        `INSERT INTO inbox_users
          (inbox_id, id, first_name, last_name, raw, content_hash, first_seen_at, changed_at)
         VALUES (?, ?, 'Ada', ?, '{}', '', ?, ?)`,
        inbox,
        String(9000 + user),
        `No. ${user}`,
        startedAt,
        startedAt,
      );
    for (let tag = 0; tag < TAGS; tag++)
      write(
        `INSERT INTO inbox_tags (inbox_id, id, name, raw, content_hash, first_seen_at, changed_at)
         VALUES (?, ?, ?, '{}', '', ?, ?)`,
        inbox,
        String(700 + tag),
        `Tag ${tag}`,
        startedAt,
        startedAt,
      );
  }
  const random = numbers(42);
  const old = Math.floor(conversations / 10);
  for (let nth = 0; nth < conversations; nth++) {
    const appearedAt = nth < old ? start : start + ((YEARS_MS - HOUR) * (nth - old)) / (conversations - old);
    const id = String(100_000_000 + nth * 7);
    inventConversation(write, random, { id, appearedAt, isOld: nth < old, now });
  }
}

interface Life {
  readonly id: string;
  readonly appearedAt: number;
  readonly isOld: boolean;
  readonly now: number;
}

/** A conversation after all its changes. */
interface FinalState {
  readonly status: string;
  readonly assignee: string | null;
  readonly changedAt: number;
  readonly deletedAt: string | null;
}

/** Invents one conversation and writes it: its changes, its tags and its row. */
function inventConversation(write: Write, random: () => number, life: Life): void {
  const inbox = SHARES[Math.floor(random() * SHARES.length)] ?? '';
  const firstTag = Math.floor(random() * TAGS);
  const state = inventChanges(write, random, life, { inbox, firstTag });
  for (const tag of random() < 0.5 ? [firstTag] : [firstTag, (firstTag + 1) % TAGS])
    write(
      `INSERT INTO conversation_tags (inbox_id, conversation_id, tag_id) VALUES (?, ?, ?)`,
      inbox,
      life.id,
      String(700 + tag),
    );
  writeRow(write, inbox, life, state);
}

/**
 * Writes the changes of one conversation: it appears, gets an assignee and a tag, and changes its status
 * several times. Most end closed; a few are removed.
 */
function inventChanges(
  write: Write,
  random: () => number,
  { id, appearedAt, isOld, now }: Life,
  { inbox, firstTag }: { inbox: string; firstTag: number },
): FinalState {
  let at = appearedAt;
  const left = { changes: CHANGES_EACH };
  let status = 'open';
  let assignee: string | null = null;
  let deletedAt: string | null = null;
  const change = (field: string, from: string | null, to: string | null): void => {
    left.changes -= 1;
    write(
      `INSERT INTO staged
        (observed_at, previously_seen_at, list, inbox_id, item_id, field, old_value, new_value)
       VALUES (?, ?, 'conversations', ?, ?, ?, ?, ?)`,
      iso(at),
      to === 'present' ? null : iso(at - DAY / 96),
      inbox,
      id,
      field,
      from,
      to,
    );
  };
  const advance = (days: number): boolean => {
    const next = at + days * DAY * random();
    if (next < now) at = next;
    return next < now;
  };
  const setStatus = (to: string): void => {
    change('status', status, to);
    status = to;
  };
  if (!isOld) change('presence', 'missing', 'present');
  if (random() < 0.9 && advance(0.2)) {
    assignee = String(9000 + Math.floor(random() * USERS));
    change('assignee_id', null, assignee);
  }
  if (advance(1)) change('tags', null, String(700 + firstTag));
  while (left.changes > 1 && advance(3)) setStatus(nextStatus(status, random));
  if (status !== 'closed' && random() < 0.95 && advance(3)) setStatus('closed');
  if (random() < 0.02 && advance(30)) {
    change('presence', 'present', 'missing');
    deletedAt = iso(at);
  }
  return { status, assignee, changedAt: at, deletedAt };
}

function nextStatus(status: string, random: () => number): string {
  if (status === 'open') return random() < 0.5 ? 'pending' : 'closed';
  return status === 'pending' ? 'closed' : 'open';
}

function writeRow(
  write: Write,
  inbox: string,
  { id, appearedAt }: Life,
  { status, assignee, changedAt, deletedAt }: FinalState,
): void {
  const link = `https://inbox.example/conversations/${id}`;
  write(
    `INSERT INTO conversations
     (inbox_id, id, status, assignee_type, assignee_id, permalink, raw, content_hash, first_seen_at,
      changed_at, deleted_at)
     VALUES (?, ?, ?, 'user', ?, ?, ?, ?, ?, ?, ?)`,
    inbox,
    id,
    status,
    assignee,
    link,
    JSON.stringify({
      id,
      status,
      assignee: { assignee_type: 'user', assignee_id: assignee },
      private_permalink: link,
    }),
    `0123456789abcdef0123456789abcdef${id}`,
    iso(appearedAt),
    iso(changedAt),
    deletedAt,
  );
}

/** Pseudo-random numbers from 0 to 1, the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
