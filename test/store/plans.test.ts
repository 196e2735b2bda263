import { expect, test } from 'vitest';
import { LIST_NAMES } from '../../src/core/lists.ts';
import type { Database, Sql } from '../../src/store/sql.ts';
import { openStore } from '../../src/store/store.ts';
import { runPass } from '../../src/sync/pass.ts';
import { mirrorOf } from '../support/mirror.ts';
import { firstIds, firstInbox } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

/** Notes every statement that goes through, with its parameters. */
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

// Tables that grow with the mailbox or with time, and the least that a look into them must name.
const LOOKS: Record<string, RegExp> = {
  conversations: /inbox_id=\? AND id=\?/,
  conversation_tags: /inbox_id=\? AND conversation_id=\?/,
  inbox_users: /inbox_id=\?/,
  inbox_tags: /inbox_id=\?/,
  changes: /list=\? AND inbox_id=\? AND item_id=\?/,
  sweep_pages: /sweep_id=\?/,
  rejects: /list=\? AND inbox_id=\?/,
  requests: /rowid=\?/,
};

/** These look at a whole list, once a sweep: which rows no page held, and how many wait. */
const ONCE_A_SWEEP = /NOT IN \(\s*SELECT seen\.value|count\(\*\) AS n FROM \w+ WHERE .*missing_since IS NOT NULL/;

test('no statement of a page or of a suspect looks through a whole table, however large it has grown', async () => {
  const mirror = await mirrorOf({ path: await freshMirrorFile(), pageSize: 10, sandbox: { conversations: [45] } });
  const { database, sandbox, client, clock } = mirror;
  const statements = new Map<string, unknown[]>();
  const store = openStore(listeningDatabase(database, statements), mirror.lease);
  const sync = async (): Promise<void> => {
    const { stopped } = await runPass(
      { client, store, clock, onEvent: () => undefined, signal: new AbortController().signal },
      { kind: 'sync', lists: LIST_NAMES, inboxId: null, acceptDeletes: false, requestedBy: 'test' },
    );
    expect(stopped).toBeNull();
    clock.advance(1000);
  };
  // A history in which everything happens: changes, tags, suspects of every kind, a return, a reject, a list that fails.
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
  const wide: string[] = [];
  for (const [text, parameters] of statements) {
    if (ONCE_A_SWEEP.test(text)) continue;
    const plan = await database.query<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...parameters);
    for (const { detail } of plan) {
      const [, how, name] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? [];
      // The alias of `sweep_pages` where it is read beside others.
      const look = LOOKS[name === 'pages' ? 'sweep_pages' : (name ?? '')];
      if (look !== undefined && (how === 'SCAN' || !look.test(detail))) wide.push(`${detail} <- ${text.replaceAll(/\s+/g, ' ')}`);
    }
  }
  expect(wide).toEqual([]);
});
