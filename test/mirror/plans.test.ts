import { expect, test } from 'vitest';
import type { Database, Sql } from '../../src/database/database.ts';
import { History } from '../../src/mirror/history/read.ts';
import { openWriter } from '../../src/mirror/mirror.ts';
import { runPass } from '../../src/sync/pass.ts';
import { accountCheck } from '../support/account.ts';
import { mirrorOf } from '../support/mirror.ts';
import { passSpec } from '../support/pass-spec.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { firstIds, firstInbox } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

/** Records every statement that passes through, with its parameters. */
function listening(sql: Sql, statements: Map<string, unknown[]>): Sql {
  return {
    query: (text, ...parameters) => {
      statements.set(text, parameters);
      return sql.query(text, ...parameters);
    },
    execute: (text, ...parameters) => {
      statements.set(text, parameters);
      return sql.execute(text, ...parameters);
    },
  };
}

function listeningDatabase(database: Database, statements: Map<string, unknown[]>): Database {
  return {
    ...database,
    ...listening(database, statements),
    transaction: (work) => database.transaction((tx) => work(listening(tx, statements))),
  };
}

// Tables that grow with the mailbox or with time, and the conditions that each access must at least have.
const NEEDED_CONDITIONS: Record<string, RegExp> = {
  conversations: /inbox_id = .*\bid = /,
  status_spans: /inbox_id = .*conversation_id = /,
  assignee_spans: /inbox_id = .*conversation_id = /,
  tag_spans: /inbox_id = .*conversation_id = /,
  conversation_tags: /inbox_id = .*conversation_id = /,
  inbox_users: /inbox_id = /,
  inbox_tags: /inbox_id = /,
  // A day of changes, those of one item or of the few inboxes, or one change.
  changes: /inbox_id = .*item_id = |observed_at ?>|inbox_id IS NULL|^\(id = /,
  sweep_pages: /sweep_id = /,
  rejects: /list = .*inbox_id = /,
  // One request, or those of the future, which a set clock has left.
  requests: /\b(row)?id = |sent_at ?>/,
};

/** How a statement reads a table: its index conditions, or `whole` for a full scan. */
interface Access {
  readonly table: string;
  readonly detail: string;
}

async function accessesOnSqlite(
  database: Database,
  text: string,
  parameters: readonly unknown[],
): Promise<Access[]> {
  const plan = await database.query<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...parameters);
  return plan.flatMap(({ detail }) => {
    const [, how, name] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? [];
    if (name === undefined) return [];
    // `pages` is the alias of `sweep_pages` in joins.
    return [
      {
        table: name === 'pages' ? 'sweep_pages' : name,
        detail: how === 'SCAN' ? 'whole' : detail.replaceAll('=', ' = '),
      },
    ];
  });
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Recheck Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

async function accessesOnPostgres(
  database: Database,
  text: string,
  parameters: readonly unknown[],
): Promise<Access[]> {
  const [row] = await database.query<Record<string, [{ Plan: PlanNode }]>>(
    `EXPLAIN (FORMAT JSON) ${text}`,
    ...parameters,
  );
  const accesses: Access[] = [];
  const visit = (node: PlanNode): void => {
    const table = node['Relation Name'];
    if (table !== undefined && node['Node Type'] !== 'ModifyTable')
      accesses.push({ table, detail: node['Index Cond'] ?? node['Recheck Cond'] ?? 'whole' });
    for (const inner of node.Plans ?? []) visit(inner);
  };
  visit(row!['QUERY PLAN']![0].Plan);
  return accesses;
}

/** Fills the tables. PostgreSQL plans by the tables' sizes and rightly scans small tables whole. */
async function growTables(database: Database, inboxId: string): Promise<void> {
  const many = `generate_series(1000000, 1030000) AS n`;
  const kept = `'{}', 'x', now(), now() FROM ${many}`;
  for (const statement of [
    `INSERT INTO conversations (inbox_id, id, raw, content_hash, first_seen_at, changed_at) SELECT $1, n, ${kept}`,
    `INSERT INTO inbox_users (inbox_id, id, raw, content_hash, first_seen_at, changed_at) SELECT n, n, ${kept}`,
    `INSERT INTO inbox_tags (inbox_id, id, raw, content_hash, first_seen_at, changed_at) SELECT n, n, ${kept}`,
    `INSERT INTO conversation_tags (inbox_id, conversation_id, tag_id) SELECT $1, n, 1 FROM generate_series(1000000, 1150000) AS n`,
    ...['status', 'assignee', 'tag'].map(
      (kind) =>
        `INSERT INTO ${kind}_spans (inbox_id, conversation_id, ${kind === 'status' ? kind : `${kind}_id`}, from_at, is_lower_bound) SELECT $1, n, 'x', now(), false FROM ${many}`,
    ),
    `INSERT INTO changes (list, inbox_id, item_id, field, new_value, observed_at)
     SELECT 'conversations', $1, n, CASE n % 2 WHEN 0 THEN 'presence' ELSE 'status' END, CASE n % 4 WHEN 0 THEN 'present' WHEN 2 THEN 'missing' ELSE 'closed' END, now() FROM ${many}`,
    `INSERT INTO sweep_pages (sweep_id, page_no, item_ids, fetched_at) SELECT n / 100, n % 100, '["1", "2"]', now() FROM ${many}`,
    `INSERT INTO rejects (sweep_id, list, inbox_id, reason, raw, seen_at) SELECT n, 'tags', n, 'x', '{}', now() FROM ${many}`,
    `INSERT INTO requests (sent_at, method, path, reason) SELECT timestamptz '2020-01-01', 'GET', '/', 'schedule' FROM ${many}`,
  ])
    await database.execute(statement, inboxId);
  await database.execute('ANALYZE');
}

/**
 * Statements that read a whole list once a sweep: the rows that no page held, the suspects, the brake. The
 * brake also reads the rows of inboxes that went within a day.
 */
const ONCE_A_SWEEP =
  /(NOT IN \(|FROM \()\s*SELECT seen\.value|count\(\*\) AS (n|live)\b.* FROM \w+\s+WHERE|AS covered\s+FROM inboxes/s;

/** Reads the ledger of one hour, or the first row that fits. */
const FEW =
  /SELECT 1 AS one FROM requests|AND missing_since IS NULL\s+AND id NOT IN \(SELECT item_id FROM rejects/;

/** Reads one row at the end of the key's index, which PostgreSQL's plan shows as a scan without a condition. */
const NEWEST = 'SELECT max(id) AS id FROM changes';

test('no statement for a page or a suspect scans a whole table, however large the table is', async () => {
  const mirror = await mirrorOf({
    path: await freshMirrorFile(),
    pageSize: 10,
    sandbox: { conversations: [45] },
  });
  const { database, sandbox, client, clock } = mirror;
  const statements = new Map<string, unknown[]>();
  const writer = openWriter(listeningDatabase(database, statements), mirror.lease);
  const account = accountCheck({ mirror: writer, clock });
  const sync = async (): Promise<void> => {
    const { stopped } = await runPass(
      {
        client,
        mirror: writer,
        account,
        clock,
        goneAfterMs: 0,
        onEvent: () => undefined,
        signal: new AbortController().signal,
      },
      passSpec(),
    );
    expect(stopped).toBeNull();
    clock.advance(1000);
  };
  // The history has changes, tags, suspects of every kind, a return, a reject and a list that fails.
  await sync();
  const inbox = firstInbox(sandbox);
  const [gone, changed, broken, tagged] = firstIds(inbox.conversations, 4);
  const { world } = sandbox;
  world.removeConversation(inbox.id, gone!);
  world.setStatus(inbox.id, changed!, 'another');
  const row = inbox.conversations.get(tagged!)!;
  row.tag_ids = row.tag_ids.length > 0 ? [] : [inbox.tags.order[0]!];
  const user = world.removeUser(inbox.id, inbox.users.order[0]!);
  await sync();
  world.restoreConversation(inbox.id, gone!);
  world.addUser(inbox.id, user);
  row.tag_ids = row.tag_ids.length > 0 ? [] : [inbox.tags.order[0]!];
  (inbox.conversations.get(broken!) as { status: unknown }).status = 7;
  await sync();
  sandbox.script(({ path }) => (path.includes('next_page') ? { status: 404 } : undefined));
  await sync();
  await sync();

  expect(statements.size).toBeGreaterThan(25);
  if (!ON_SQLITE) await growTables(database, inbox.id);
  const wide: string[] = [];
  for (const [text, parameters] of statements) {
    if (ONCE_A_SWEEP.test(text) || text === NEWEST || FEW.test(text)) continue;
    const accesses = ON_SQLITE
      ? await accessesOnSqlite(database, text, parameters)
      : await accessesOnPostgres(database, text, parameters);
    for (const { table, detail } of accesses) {
      const needed = NEEDED_CONDITIONS[table];
      if (needed !== undefined && !needed.test(detail))
        wide.push(`${table} ${detail} <- ${text.replaceAll(/\s+/g, ' ')}`);
    }
  }
  expect(wide).toEqual([]);
});

test.runIf(ON_SQLITE)('the changes of one list in an inbox are found by the list and the inbox', async () => {
  const { database } = await mirrorOf({ path: await freshMirrorFile() });
  const statements = new Map<string, unknown[]>();
  const history = new History(listening(database, statements));
  await history.newest({ list: 'conversations', inboxId: '7' }, 10);
  await history.after({ id: 0, epoch: null }, { list: 'conversations', inboxId: '7' }, 10);
  const accesses = await Promise.all(
    [...statements].map(([text, parameters]) => accessesOnSqlite(database, text, parameters)),
  );
  const reads = accesses.flat().filter(({ table }) => table === 'changes');
  expect(reads).toHaveLength(3);
  for (const { detail } of reads) expect(detail).toContain('(list = ? AND inbox_id = ?');
});

test.runIf(ON_SQLITE)(
  'the daily views find changes by the index `changes_moves`, whatever PRAGMA optimize has sampled',
  async () => {
    const { database } = await mirrorOf({ path: await freshMirrorFile() });
    await database.execute(`ANALYZE`);
    await database.execute(`DELETE FROM sqlite_stat1`);
    for (const [index, stat] of [
      ['changes_moves', '518454 2001 2001 2001 2001 1 1'],
      ['changes_life', '698489 2001 4 1 1 1 1 1'],
      ['changes_list_inbox_id_item_id_idx', '898408 2001 2001 5'],
    ])
      await database.execute(
        `INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('changes', $1, $2)`,
        index,
        stat,
      );
    await database.execute(`ANALYZE sqlite_schema`);
    const plan = await database.query<{ detail: string }>(`EXPLAIN QUERY PLAN SELECT * FROM flow_daily`);
    const searches = plan
      .map(({ detail }) => detail)
      .filter((detail) => detail.startsWith('SEARCH changes USING'));
    expect(searches.length).toBeGreaterThan(4);
    expect(searches.filter((detail) => !detail.includes('changes_moves'))).toEqual([]);
  },
);

test.runIf(ON_SQLITE)(
  'the daily views count the intervals of a day by indexes that hold all they need',
  async () => {
    const { database } = await mirrorOf({ path: await freshMirrorFile() });
    for (const view of ['flow_daily', 'backlog_daily']) {
      const plan = await database.query<{ detail: string }>(`EXPLAIN QUERY PLAN SELECT * FROM ${view}`);
      const reads = plan.map(({ detail }) => detail).filter((detail) => /\b(begun|ended)\b/.test(detail));
      expect(reads.length).toBeGreaterThan(1);
      const live = plan.filter(({ detail }) => /^SCAN conversations\b/.test(detail));
      expect(live.map(({ detail }) => detail)).toEqual([
        expect.stringMatching(/COVERING INDEX conversations_inbox_id_status_/),
      ]);
      // Counted once, and not for each row of the view.
      expect(plan.map(({ detail }) => detail)).toContain('MATERIALIZE present');
      expect(plan.map(({ detail }) => detail)).toContain('MATERIALIZE differences');
      for (const read of reads) expect(read).toMatch(/COVERING INDEX .*(from_at>\?|to_at[>=]\?)/);
      // On an inbox's first day, the few intervals that began after its first sweep are read as rows.
      const newer = plan.filter(({ detail }) => / newer\b/.test(detail));
      for (const { detail } of newer) expect(detail).toMatch(/INDEX .*from_at>\?/);
      expect(newer).toHaveLength(view === 'flow_daily' ? 1 : 0);
    }
  },
);

test.runIf(ON_SQLITE)(
  'the state at an instant is counted in the order of one index, which holds all it needs',
  async () => {
    const { database } = await mirrorOf({ path: await freshMirrorFile() });
    await database.execute(`ANALYZE`);
    await database.execute(`DELETE FROM sqlite_stat1`);
    // As PRAGMA optimize writes it for a million conversations.
    for (const [index, stat] of [
      ['status_spans_status_from_at_to_at_idx', '2674264 2001 1 1'],
      ['status_spans_inbox_id_status_from_at_to_at_idx', '2674264 2001 2001 1 1'],
      ['status_spans_inbox_id_status_to_at_idx', '2674264 2001 2001 2001'],
      ['status_spans_inbox_id_conversation_id_idx', '2674264 2001 4'],
      ['assignee_spans_assignee_id_from_at_to_at_idx', '1900323 2001 1 1'],
      ['assignee_spans_inbox_id_assignee_id_from_at_to_at_idx', '1900323 2001 2001 1 1'],
      ['assignee_spans_inbox_id_conversation_id_idx', '1900323 2001 2'],
    ])
      await database.execute(
        `INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (substr($1, 1, instr($1, '_spans') + 5), $1, $2)`,
        index,
        stat,
      );
    await database.execute(`ANALYZE sqlite_schema`);
    const then = `'2026-03-04T12:00:00.000+00:00'`;
    for (const [view, value] of [
      ['status_intervals', 'status'],
      ['assignee_intervals', 'assignee_id'],
    ])
      for (const [scope, first] of [
        ['', `ANY(${value})`],
        [`inbox_id = '51001' AND`, 'inbox_id=?'],
      ]) {
        const plan = await database.query<{ detail: string }>(
          `EXPLAIN QUERY PLAN SELECT ${value}, count(*) FROM ${view}
           WHERE ${scope} from_at <= ${then} AND (to_at IS NULL OR to_at > ${then}) GROUP BY ${value}`,
        );
        expect(plan.map(({ detail }) => detail)).toEqual([
          expect.stringMatching(/^SEARCH \w+ USING COVERING INDEX /),
        ]);
        expect(plan[0]!.detail).toContain(`(${first!}`);
      }
  },
);

test.runIf(ON_SQLITE)(
  'the measured delay, its view and the learned activity read recent changes, not the history',
  async () => {
    const { database, lease, clock } = await mirrorOf({ path: await freshMirrorFile() });
    const statements = new Map<string, unknown[]>([['SELECT * FROM freshness', []]]);
    const writer = openWriter(listeningDatabase(database, statements), lease);
    await writer.delays(clock.now());
    await writer.activity(clock.now());
    expect(statements.size).toBe(3);
    for (const [text, parameters] of statements) {
      const accesses = await accessesOnSqlite(database, text, parameters);
      const details = accesses.filter(({ table }) => table === 'changes').map(({ detail }) => detail);
      expect(details, text).toEqual([expect.stringMatching(/observed_at ?>/)]);
    }
  },
);
