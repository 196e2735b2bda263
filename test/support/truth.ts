import { expect } from 'vitest';
import type { ListName } from '../../src/core/lists.ts';
import type { Sql } from '../../src/database/database.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { SandboxConversation, SandboxInbox, SandboxTag, World } from '../../src/sandbox/world/world.ts';
import { ON_SQLITE } from './provider.ts';

type Row = Record<string, string | boolean | null>;

/** The rows of every mirrored table, sorted by inbox and id. */
interface Tables {
  readonly inboxes: Row[];
  readonly inbox_users: Row[];
  readonly inbox_tags: Row[];
  readonly conversations: Row[];
  readonly conversation_tags: Row[];
}

/** An SQL expression for an instant as text that ends in `Z`. On SQLite it requires the stored form. */
function textOf(column: string): string {
  return ON_SQLITE
    ? `CASE WHEN ${column} LIKE '%.___+00:00' THEN replace(${column}, '+00:00', 'Z')
         WHEN ${column} IS NOT NULL THEN 'stored as ' || ${column} END AS ${column}`
    : `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ${column}`;
}

const QUERIES: Record<keyof Tables, string> = {
  inboxes: `SELECT id, display_name, channel_type, email, inbox_type, is_authorised, source_user_id, source_user_email,
      ${textOf('created_at')}, ${textOf('updated_at')} FROM inboxes WHERE deleted_at IS NULL`,
  inbox_users: `SELECT inbox_id, id, first_name, last_name, email, phone_number, is_joined FROM inbox_users WHERE deleted_at IS NULL`,
  inbox_tags: `SELECT inbox_id, id, name, color_code, type, ${textOf('created_at')} FROM inbox_tags WHERE deleted_at IS NULL`,
  conversations: `SELECT inbox_id, id, status, assignee_type, assignee_id, thread_id, ${textOf('thread_started_at')}, permalink
    FROM conversations WHERE deleted_at IS NULL`,
  conversation_tags: `SELECT links.inbox_id, links.conversation_id, links.tag_id FROM conversation_tags AS links
    JOIN conversations AS c ON c.inbox_id = links.inbox_id AND c.id = links.conversation_id WHERE c.deleted_at IS NULL`,
};

/** The live rows of the mirror. */
async function mirroredTables(sql: Sql): Promise<Tables> {
  const tables: Partial<Record<keyof Tables, Row[]>> = {};
  for (const [table, query] of Object.entries(QUERIES))
    tables[table as keyof Tables] = inOrder(await sql.query<Row>(query));
  return tables as unknown as Tables;
}

/** The rows that the mirror should have, computed from the service without the mirror's own code. */
function serviceTables(world: World): Tables {
  const tables: Tables = {
    inboxes: [],
    inbox_users: [],
    inbox_tags: [],
    conversations: [],
    conversation_tags: [],
  };
  for (const inbox of world.inboxes.values()) {
    const { id: inbox_id } = inbox;
    tables.inboxes.push(inboxColumns(inbox));
    for (const user of inbox.users.values()) tables.inbox_users.push({ inbox_id, ...user });
    for (const tag of inbox.tags.values()) tables.inbox_tags.push({ inbox_id, ...tagColumns(tag) });
    for (const row of inbox.conversations.values()) {
      tables.conversations.push({ inbox_id, ...conversationColumns(row) });
      for (const tag_id of new Set(row.tag_ids))
        tables.conversation_tags.push({ inbox_id, conversation_id: row.id, tag_id });
    }
  }
  for (const name of Object.keys(QUERIES) as (keyof Tables)[])
    tables[name].splice(0, Infinity, ...inOrder(tables[name]));
  return tables;
}

/**
 * Checks that the live rows of all tables equal the sandbox's world:
 * every id digit, column, boolean, instant and tag link.
 */
export async function expectEqualToService({
  database,
  sandbox,
}: {
  database: Sql;
  sandbox: Pick<Sandbox, 'world'>;
}): Promise<void> {
  expect(await mirroredTables(database)).toEqual(serviceTables(sandbox.world));
}

/** Every row that has a tombstone, although the service has it: its list, inbox and id. */
export async function wrongTombstones({
  database,
  sandbox: { world },
}: {
  database: Sql;
  sandbox: Pick<Sandbox, 'world'>;
}): Promise<string[]> {
  const tombstones = await database.query<{ list: ListName; inbox: string; id: string }>(
    `SELECT 'inboxes' AS list, id AS inbox, id FROM inboxes WHERE deleted_at IS NOT NULL
     UNION ALL SELECT 'users', inbox_id, id FROM inbox_users WHERE deleted_at IS NOT NULL
     UNION ALL SELECT 'tags', inbox_id, id FROM inbox_tags WHERE deleted_at IS NOT NULL
     UNION ALL SELECT 'conversations', inbox_id, id FROM conversations WHERE deleted_at IS NOT NULL`,
  );
  return tombstones
    .filter(({ list, inbox, id }) => {
      const own = world.inboxes.get(inbox);
      return list === 'inboxes' ? own !== undefined : own?.[list].has(id);
    })
    .map(({ list, inbox, id }) => `${list} ${inbox} ${id}`);
}

export function inboxColumns(inbox: SandboxInbox): Row {
  return {
    id: inbox.id,
    display_name: inbox.display_name,
    channel_type: inbox.channel_type,
    email: inbox.email,
    inbox_type: inbox.inbox_type,
    is_authorised: inbox.is_authorised,
    source_user_id: inbox.source_user.id,
    source_user_email: inbox.source_user.email,
    created_at: seconds(inbox.created_at),
    updated_at: seconds(inbox.updated_at),
  };
}

export function tagColumns(tag: SandboxTag): Row {
  return { ...tag, created_at: seconds(tag.created_at) };
}

export function conversationColumns({
  id,
  status,
  assignee,
  gmail_thread_id: thread,
  private_permalink: link,
}: SandboxConversation): Row {
  return {
    id,
    status,
    assignee_type: assignee?.assignee_type ?? null,
    assignee_id: assignee?.assignee_id ?? null,
    thread_id: thread,
    // The first 11 hexadecimal digits are Unix milliseconds (docs/service.md, "Ids and timestamps").
    thread_started_at: new Date(Number(`0x${thread.slice(0, 11)}`)).toISOString(),
    permalink: link,
  };
}

function seconds(epoch: number): string {
  return new Date(epoch * 1000).toISOString();
}

function inOrder(rows: Row[]): Row[] {
  const key = (row: Row): string =>
    JSON.stringify([row['inbox_id'], row['conversation_id'], row['id'], row['tag_id']]);
  return rows
    .map((row) => [key(row), row] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, row]) => row);
}
