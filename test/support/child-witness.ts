// A process that reads a mirror in a loop while another process writes to it, until its stdin ends:
//   node child-witness.ts DATABASE_URL LEAST VIEW…
// It checks the state that each of its transactions sees. There are at least LEAST live conversations.
// The status of each is `ROUND TAG`: the round in which the service last changed all conversations, and the
// only tag of the conversation since then. A half-written page or a row without its tag is a mismatch.
// It uses only the database drivers, so that twenty of these processes fit a small machine.
// It prints a line when it is ready and after each turn.
import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';

type Row = Readonly<Record<string, string | number | null>>;
type Ask = (sql: string) => Promise<Row[]>;

const VIEWS_A_MOMENT = 3;
const [url = '', least = '', ...views] = process.argv.slice(2);

interface Reader {
  /** Runs `work` in one transaction: all its queries see the mirror at one moment. */
  read(work: (ask: Ask) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/**
 * Lowers the process's priority. The test looks for a writer that waits for a lock;
 * twenty readers on two cores would also make it wait for the processor.
 */
function giveWay(pid?: number): void {
  try {
    setPriority(pid ?? process.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A server of another user or host keeps its priority: the test then takes longer.
  }
}

async function sqliteReader(): Promise<Reader> {
  const { default: Sqlite } = await import('better-sqlite3');
  const database = new Sqlite(url.slice('file:'.length), { readonly: true });
  const ask: Ask = (sql) => Promise.resolve(database.prepare(sql).all() as Row[]);
  return {
    async read(work) {
      database.exec('BEGIN');
      await work(ask);
      database.exec('COMMIT');
    },
    close: () => Promise.resolve(void database.close()),
  };
}

async function postgresReader(): Promise<Reader> {
  const { Client } = await import('pg');
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  giveWay(rows[0]?.pid);
  return {
    async read(work) {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      await work(async (sql) => (await client.query<Row>(sql)).rows);
      await client.query('COMMIT');
    },
    close: () => client.end(),
  };
}

function same(what: string, seen: unknown, expected: unknown): void {
  if (JSON.stringify(seen) !== JSON.stringify(expected))
    throw new Error(`${what}: ${JSON.stringify(seen)}, and not ${JSON.stringify(expected)}`);
}

async function number(ask: Ask, what: string, from: string): Promise<number> {
  const [row] = await ask(`SELECT CAST(${what} AS INTEGER) AS n FROM ${from}`);
  return Number(row?.['n']);
}

/** Checks that every live conversation has its own tag, and that the views count the same number. */
async function checkRows(ask: Ask): Promise<void> {
  const live = await number(
    ask,
    'count(*)',
    'conversations WHERE deleted_at IS NULL AND missing_since IS NULL',
  );
  if (live < Number(least)) throw new Error(`${live} conversations are there, and there were ${least}`);
  const rows = await ask(
    `SELECT c.id, c.status, links.tag_id FROM conversations AS c
     LEFT JOIN conversation_tags AS links ON links.inbox_id = c.inbox_id AND links.conversation_id = c.id`,
  );
  same('rows with their tags', rows.length, live);
  for (const { id, status, tag_id: tag } of rows)
    same(`the tag of conversation ${id}`, tag, String(status).split(' ')[1]);
  same('backlog_now', await number(ask, 'sum(open + pending + closed + other)', 'backlog_now'), live);
  same('tag_volume', await number(ask, 'sum(conversations)', 'tag_volume'), live);
  for (const view of ['status_intervals', 'assignee_intervals'])
    same(view, await number(ask, 'count(*)', `${view} WHERE to_at IS NULL`), live);
}

/**
 * Checks the newest sweep of each conversations list. The rows on its pages are of the newest round and have
 * their changes; all other rows are of the round before.
 */
async function checkPages(ask: Ask): Promise<void> {
  const sweeps = await ask(
    `SELECT id, inbox_id, pages, items FROM sweeps WHERE id IN (SELECT max(id) FROM sweeps WHERE list = 'conversations' GROUP BY inbox_id)`,
  );
  for (const { id, inbox_id: inbox, pages, items } of sweeps) {
    const held = await ask(
      `SELECT CAST(item_ids AS TEXT) AS ids FROM sweep_pages WHERE sweep_id = ${id} AND page_no > 0`,
    );
    const ids = new Set(held.flatMap((page) => JSON.parse(String(page['ids'])) as string[]));
    same(`the pages of sweep ${id}`, [held.length, ids.size], [Number(pages), Number(items)]);
    const rows = await ask(`SELECT id, status FROM conversations WHERE inbox_id = '${inbox}'`);
    const round = ({ status }: Row): number => Number(String(status).split(' ')[0]);
    const newest = Math.max(...rows.map(round));
    for (const row of ids.size === 0 ? [] : rows)
      same(
        `the round of conversation ${row['id']}`,
        round(row),
        ids.has(String(row['id'])) ? newest : newest - 1,
      );
    const changes = await number(
      ask,
      'count(*)',
      `changes WHERE sweep_id = ${id} AND field IN ('status', 'presence')`,
    );
    same(`the changes of sweep ${id}`, changes, newest === 0 ? 0 : ids.size);
  }
}

const stop = new AbortController();
createInterface({ input: process.stdin }).on('close', () => stop.abort());
const reader = await (url.startsWith('file:') ? sqliteReader() : postgresReader());
giveWay();
console.log('ready');
while (!stop.signal.aborted) {
  await reader.read(checkRows);
  // Checks at many moments: a half-written page might be visible only briefly.
  for (let at = 0; at < views.length; at += VIEWS_A_MOMENT) {
    await reader.read(async (ask) => {
      await checkPages(ask);
      for (const view of views.slice(at, at + VIEWS_A_MOMENT)) await ask(`SELECT * FROM ${view}`);
    });
  }
  console.log('read');
  await new Promise(setImmediate);
}
await reader.close();
