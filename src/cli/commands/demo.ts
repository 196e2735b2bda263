import { existsSync, rmSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { EXIT, MirrorError } from '../../core/errors.ts';
import { openReadOnly } from '../../query/open.ts';
import { createSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import { withSession } from '../../session/session.ts';
import { type Io, paint, printLine } from '../../session/terminal.ts';
import { printRows } from '../output/rows.ts';
import { runPassCommand } from '../pass/run.ts';

/** As fast as lets a person read along; the real service allows 1 a second. */
const REQUESTS_PER_SECOND = 10;
const CHANGES = 25;
const COMMAND = 'inbox-mirror demo';
const ALL_LISTS = ['inboxes', 'users', 'tags', 'conversations'] as const;

const QUESTIONS = [
  {
    asks: 'How much is open, and where?',
    sql: `SELECT inbox, open, pending, closed, unassigned FROM backlog_now ORDER BY open DESC, inbox`,
  },
  {
    asks: 'Who has the most open work?',
    sql: `SELECT assignee, assignee_id, inbox, open, pending FROM assignee_workload ORDER BY open DESC, assignee LIMIT 5`,
  },
  {
    asks: 'Which tags are used most?',
    sql: `SELECT tag, sum(conversations) AS conversations, sum(not_closed) AS not_closed FROM tag_volume
GROUP BY tag ORDER BY conversations DESC, tag LIMIT 5`,
  },
];

const LATEST_CHANGES = `SELECT i.display_name AS inbox, item_id AS conversation, field, coalesce(old_value, '-') AS before, coalesce(new_value, '-') AS after
FROM changes JOIN inboxes i ON i.id = changes.inbox_id WHERE list = 'conversations' ORDER BY changes.id`;

/** The whole program in a quarter of a minute, on invented data. @returns the exit code */
export async function runDemo(io: Io, file: string): Promise<number> {
  const path = resolve(io.cwd, file);
  await clearEarlierDemo(path);
  const sandbox = createSandbox({ conversations: [420, 260, 90], rate: REQUESTS_PER_SECOND, seed: 7 });
  const server = await sandbox.listen();
  try {
    const demo: Io = { ...io, env: demoEnvironment(path, server.url) };
    heading(io, '1. Mirror the sandbox, a stand-in of the service, into SQLite');
    await sync(demo);
    heading(io, '2. Ask the copy in SQL');
    for (const { asks, sql } of QUESTIONS) await ask(io, path, asks, sql);
    heading(io, `3. Let ${CHANGES} things happen at the service, and sync again`);
    changeSomething(sandbox);
    await sync(demo);
    await ask(io, path, 'What changed?', LATEST_CHANGES);
    heading(io, '4. Go on');
    printLine(io.stdout, nextSteps(relative(io.cwd, path) || path));
    return EXIT.done;
  } finally {
    await server.close();
  }
}

/** Makes room for the demo's file. @throws MirrorError `USAGE` where anything but an earlier demo lies there: a real mirror has a history to lose */
async function clearEarlierDemo(path: string): Promise<void> {
  if (existsSync(path) && !(await isDemo(path))) {
    throw new MirrorError(
      'USAGE',
      `${path} exists and is not the file of an earlier demo, so it is left alone. Name another with --database.`,
    );
  }
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}

async function isDemo(path: string): Promise<boolean> {
  try {
    const mirror = await openReadOnly(`file:${path}`);
    try {
      const { rows } = await mirror.query(
        `SELECT count(*), sum(requested_by = '${COMMAND}') FROM sync_requests`,
      );
      const [[all, ours] = []] = await Array.fromAsync(rows);
      return all === ours && all !== 0;
    } finally {
      await mirror.close();
    }
  } catch {
    return false;
  }
}

/** The account's usual life, and a conversation that goes: to see a tombstone, too. */
function changeSomething({ world, applyEvents }: Sandbox): void {
  applyEvents(CHANGES - 1);
  const [busiest] = world.inboxes.values();
  const [oldest] = busiest?.conversations.keys() ?? [];
  if (busiest !== undefined && oldest !== undefined) world.removeConversation(busiest.id, oldest);
}

function demoEnvironment(path: string, url: string): Io['env'] {
  return {
    INBOX_API_URL: url,
    INBOX_API_KEY: 'sandbox-key',
    DATABASE_URL: `file:${path}`,
    REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND),
    LOG_LEVEL: 'warn',
  };
}

async function sync(io: Io): Promise<void> {
  const scope = { kind: 'sync', lists: ALL_LISTS, inboxId: null, acceptDeletes: false } as const;
  const command = { spec: { ...scope, requestedBy: COMMAND }, json: false, detach: false };
  const exitCode = await withSession(io, (session) => runPassCommand(io, session, command));
  io.signal.throwIfAborted();
  if (exitCode !== EXIT.done)
    throw new MirrorError('SERVICE_DOWN', 'The demo stopped short; the lines above say why. Run it again.');
}

async function ask(io: Io, path: string, question: string, sql: string): Promise<void> {
  printLine(io.stdout, `${paint(io.stdout, 'bold', question)}\n${paint(io.stdout, 'dim', sql)}\n`);
  const mirror = await openReadOnly(`file:${path}`);
  try {
    await printRows(io, await mirror.query(sql), 'table', io.signal);
  } finally {
    await mirror.close();
  }
  printLine(io.stdout, '');
}

function heading(io: Io, text: string): void {
  printLine(io.stdout, `\n${paint(io.stdout, ['bold', 'cyan'], text)}\n`);
}

function nextSteps(file: string): string {
  return [
    `The copy is in ${file}. Ask it more:`,
    `  DATABASE_URL=file:${file} npx inbox-mirror query "SELECT * FROM unassigned_age LIMIT 5"`,
    `  DATABASE_URL=file:${file} npx inbox-mirror tables`,
    `or open it with any SQLite program. For your own inboxes, put INBOX_API_URL and INBOX_API_KEY into .env and run:`,
    '  npx inbox-mirror sync',
  ].join('\n');
}
